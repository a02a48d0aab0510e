/** Reads bits in their order, most significant first. Beyond the end they are zero. */

/** A position in some bytes. */
export class BitReader {
  readonly #bytes: Uint8Array;
  /** In bits. */
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length * 8;
  }

  get isBeyondEnd(): boolean {
    return this.#at > this.#bytes.length * 8;
  }

  /** The next `bits` bits, at most 16. */
  read(bits: number): number {
    const byte = this.#at >> 3;
    const bytes = this.#bytes;
    const window = ((bytes[byte] ?? 0) << 16) | ((bytes[byte + 1] ?? 0) << 8) | (bytes[byte + 2] ?? 0);
    const value = (window >> (24 - (this.#at & 7) - bits)) & ((1 << bits) - 1);
    this.#at += bits;
    return value;
  }

  /** A Rice code: the zeros before the next one, times 2^parameter, and the rest. */
  readRice(parameter: number): number {
    let zeros = 0;
    for (; !this.isAtEnd; this.#at++) {
      const rest = (this.#bytes[this.#at >> 3] ?? 0) & (0xff >> (this.#at & 7));
      if (rest !== 0) {
        const leading = Math.clz32(rest) - 24 - (this.#at & 7);
        this.#at += leading + 1;
        return (zeros + leading) * 2 ** parameter + this.read(parameter);
      }
      const skipped = 8 - (this.#at & 7);
      zeros += skipped;
      this.#at += skipped - 1;
    }
    return 0;
  }

  /** Skips the rest of a byte that has begun. */
  align(): void {
    this.#at = (this.#at + 7) & ~7;
  }
}
