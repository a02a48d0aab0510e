/** Cuts a stream of samples into blocks of one length for vendors; the block is reused. */
export class SampleBlocks {
  readonly #block: Int16Array;
  #filled = 0;

  /** `length` in samples. */
  constructor(length: number) {
    this.#block = new Int16Array(length);
  }

  /** Takes samples and passes on every full block, which the receiver must copy. */
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

  /** Passes on a partial block, padded with silence to at least `least` samples. */
  flush(onBlock: (block: Int16Array) => void, least = 0): void {
    if (this.#filled === 0) return;
    const length = Math.max(this.#filled, least);
    this.#block.fill(0, this.#filled, length);
    this.#filled = 0;
    onBlock(this.#block.subarray(0, length));
  }
}
