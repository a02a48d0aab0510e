/** Bits in their order, most significant first, as FLAC needs them, with its checksums. */

/** Of RFC 9639 §9.1.8 and §9.3. */
const CRC8 = tableOf(0x07, 8);
const CRC16 = tableOf(0x8005, 16);
/** `#held` must stay below 2^32: so many bits can be added at once. */
const MOST_BITS = 16;

/** A growing sequence of bits. */
export class BitWriter {
  #buffer: Uint8Array;
  #bytes = 0;
  /** Bits that are no whole byte yet, at most seven. */
  #held = 0;
  #heldBits = 0;

  constructor(expectedBytes: number) {
    this.#buffer = new Uint8Array(Math.ceil(expectedBytes));
  }

  /** Whole bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the lowest `bits` bits of a value, at most 16; the bits above them are zero. */
  write(value: number, bits: number): void {
    this.#held = (this.#held << bits) | value;
    this.#heldBits += bits;
    while (this.#heldBits >= 8) {
      this.#heldBits -= 8;
      if (this.#bytes === this.#buffer.length) this.#grow();
      this.#buffer[this.#bytes++] = this.#held >>> this.#heldBits;
      this.#held &= (1 << this.#heldBits) - 1;
    }
  }

  /** Adds a Rice code: as many zeros as the value has multiples of 2^parameter, a one, and the rest. */
  writeRice(value: number, parameter: number): void {
    let zeros = value >>> parameter;
    const low = value & ((1 << parameter) - 1);
    if (zeros + 1 + parameter <= MOST_BITS) {
      this.write((1 << parameter) | low, zeros + 1 + parameter);
      return;
    }
    for (; zeros >= MOST_BITS; zeros -= MOST_BITS) this.write(0, MOST_BITS);
    this.write(1, zeros + 1);
    this.write(low, parameter);
  }

  /** Fills the last byte with zeros. */
  align(): void {
    if (this.#heldBits > 0) this.write(0, 8 - this.#heldBits);
  }

  /** Checksum of the whole bytes from this one on. */
  crc8(from: number): number {
    let crc = 0;
    for (let at = from; at < this.#bytes; at++) crc = CRC8[crc ^ (this.#buffer[at] ?? 0)] ?? 0;
    return crc;
  }

  /** Checksum of the whole bytes from this one on. */
  crc16(from: number): number {
    let crc = 0;
    for (let at = from; at < this.#bytes; at++)
      crc = ((crc << 8) & 0xffff) ^ (CRC16[(crc >> 8) ^ (this.#buffer[at] ?? 0)] ?? 0);
    return crc;
  }

  /** The whole bytes, in a buffer of their own. */
  take(): Uint8Array<ArrayBuffer> {
    return this.#buffer.slice(0, this.#bytes) as Uint8Array<ArrayBuffer>;
  }

  #grow(): void {
    const larger = new Uint8Array(this.#buffer.length * 2);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}

function tableOf(polynomial: number, bits: 8 | 16): Uint16Array {
  const top = 1 << (bits - 1);
  const mask = 2 ** bits - 1;
  return Uint16Array.from({ length: 256 }, (_, index) => {
    let value = index << (bits - 8);
    for (let bit = 0; bit < 8; bit++) value = (value & top ? (value << 1) ^ polynomial : value << 1) & mask;
    return value;
  });
}
