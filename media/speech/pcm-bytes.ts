/** 16-bit samples, little endian, from bytes as vendors stream them. */

/** Reads samples from bytes that may be cut in the middle of one. */
export class SampleReader {
  #odd: Uint8Array = new Uint8Array(0);

  read(bytes: Uint8Array): Int16Array {
    const length = this.#odd.length + bytes.length;
    // As they travel so they lie in memory: every machine Node is built for that this program runs on is
    // little-endian.
    const all = new Uint8Array(length + (length % 2));
    all.set(this.#odd);
    all.set(bytes, this.#odd.length);
    this.#odd = all.slice(length - (length % 2), length);
    return new Int16Array(all.buffer, 0, length >> 1);
  }
}

/**
 * The rate to ask a vendor for: the lowest on offer that loses nothing of the wanted one, or its highest.
 * `rates` rise.
 */
export function offeredRate(rates: readonly number[], wantedHz: number): number {
  return rates.find((rate) => rate >= wantedHz) ?? rates.at(-1) ?? wantedHz;
}
