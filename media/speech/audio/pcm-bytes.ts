/** 16-bit little-endian samples from bytes as vendors stream them. */

/** Reads samples from chunks that may be cut within one. */
export class SampleReader {
  #odd: Uint8Array = new Uint8Array(0);

  read(bytes: Uint8Array): Int16Array {
    const length = this.#odd.length + bytes.length;
    // Memory has the same order: every machine we support is little-endian.
    const all = new Uint8Array(length + (length % 2));
    all.set(this.#odd);
    all.set(bytes, this.#odd.length);
    this.#odd = all.slice(length - (length % 2), length);
    return new Int16Array(all.buffer, 0, length >> 1);
  }
}

/**
 * The rate to request from a vendor: the lowest offered that is at least the wanted one, or else the highest.
 * `rates` ascend.
 */
export function offeredRate(rates: readonly number[], wantedHz: number): number {
  return rates.find((rate) => rate >= wantedHz) ?? rates.at(-1) ?? wantedHz;
}
