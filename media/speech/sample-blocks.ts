/**
 * Cuts a stream of samples into blocks of one length, as vendors take them; one block is filled again and
 * again.
 */
export class SampleBlocks {
  readonly #block: Int16Array;
  #filled = 0;

  /** `length` in samples. */
  constructor(length: number) {
    this.#block = new Int16Array(length);
  }

  /** Takes samples; hands over every block that is full. Whoever takes it copies what they keep. */
  write(samples: Int16Array, onBlock: (block: Int16Array) => void): void {
    for (let at = 0; at < samples.length; ) {
      const count = Math.min(samples.length - at, this.#block.length - this.#filled);
      this.#block.set(samples.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
      if (this.#filled < this.#block.length) return;
      this.#filled = 0;
      onBlock(this.#block);
    }
  }

  /** Hands over the beginning of a block that is not full, silence behind it up to `least` samples. */
  flush(onBlock: (block: Int16Array) => void, least = 0): void {
    if (this.#filled === 0) return;
    const length = Math.max(this.#filled, least);
    this.#block.fill(0, this.#filled, length);
    this.#filled = 0;
    onBlock(this.#block.subarray(0, length));
  }
}
