/** 16-bit samples, little endian, from bytes as vendors stream them. */

/** Reads samples from bytes that may be cut in the middle of one. */
export class SampleReader {
  #odd: Uint8Array = new Uint8Array(0);

  read(bytes: Uint8Array): Int16Array {
    const all = Buffer.concat([this.#odd, bytes]);
    const samples = new Int16Array(all.length >> 1);
    for (let index = 0; index < samples.length; index++) samples[index] = all.readInt16LE(2 * index);
    this.#odd = all.subarray(samples.length * 2);
    return samples;
  }
}

/** The rate to ask a vendor for: the lowest on offer that loses nothing of the wanted one, or its highest. `rates` rise. */
export function offeredRate(rates: readonly number[], wantedHz: number): number {
  return rates.find((rate) => rate >= wantedHz) ?? rates.at(-1) ?? wantedHz;
}
