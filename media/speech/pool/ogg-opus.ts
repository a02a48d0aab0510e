/** Opus packets of 20 ms as an Ogg file (RFC 3533, RFC 7845), page by page. */
import { randomBytes } from 'node:crypto';

/** Samples of one packet at 48 kHz. */
export const OGG_FRAME_SAMPLES = 960;
/** The encoder's look-ahead at 48 kHz (libopus, general audio). */
const PRE_SKIP = 312;
/**
 * Ten packets per page: the first is audible after 200 ms of audio, and page headers are 1 % of the bytes.
 */
const PACKETS_PER_PAGE = 10;
const FIRST_PAGE = 2;
const LAST_PAGE = 4;
const HEADER_BYTES = 27;

/** Writes one logical stream. */
export class OggOpusWriter {
  readonly preSkip = PRE_SKIP;
  readonly #serial = randomBytes(4).readUInt32LE();
  #sequence = 0;
  #granule = 0;
  #packets: Uint8Array[] = [];

  /** The two header pages. */
  head(): Uint8Array {
    const id = Buffer.alloc(19);
    id.write('OpusHead', 0, 'latin1');
    id.writeUInt8(1, 8);
    id.writeUInt8(1, 9);
    id.writeUInt16LE(PRE_SKIP, 10);
    id.writeUInt32LE(48_000, 12);
    const vendor = Buffer.from('parley');
    const tags = Buffer.alloc(16 + vendor.length);
    tags.write('OpusTags', 0, 'latin1');
    tags.writeUInt32LE(vendor.length, 8);
    vendor.copy(tags, 12);
    return Buffer.concat([
      this.#page([id], { flags: FIRST_PAGE, granule: 0 }),
      this.#page([tags], { flags: 0, granule: 0 }),
    ]);
  }

  /** Samples in the packets so far, including the look-ahead. */
  get samples(): number {
    return this.#granule;
  }

  /** Adds a packet; returns a page once one is full, otherwise nothing. */
  add(packet: Uint8Array): Uint8Array {
    this.#packets.push(packet.slice());
    this.#granule += OGG_FRAME_SAMPLES;
    if (this.#packets.length <= PACKETS_PER_PAGE) return new Uint8Array(0);
    // Keeps one packet back for the page that ends the stream.
    const page = this.#packets.splice(0, PACKETS_PER_PAGE);
    return this.#page(page, { flags: 0, granule: this.#granule - OGG_FRAME_SAMPLES });
  }

  /** The last page. `totalSamples` is the length of the speech; padding after it is not played. */
  end(totalSamples: number): Uint8Array {
    return this.#page(this.#packets.splice(0), { flags: LAST_PAGE, granule: totalSamples + PRE_SKIP });
  }

  #page(packets: readonly Uint8Array[], { flags, granule }: { flags: number; granule: number }): Uint8Array {
    const lacing = packets.flatMap((packet) => [
      ...new Array<number>(Math.floor(packet.length / 255)).fill(255),
      packet.length % 255,
    ]);
    const header = Buffer.alloc(HEADER_BYTES + lacing.length);
    header.write('OggS', 0, 'latin1');
    header.writeUInt8(flags, 5);
    header.writeBigInt64LE(BigInt(granule), 6);
    header.writeUInt32LE(this.#serial, 14);
    header.writeUInt32LE(this.#sequence++, 18);
    header.writeUInt8(lacing.length, 26);
    header.set(lacing, HEADER_BYTES);
    const page = Buffer.concat([header, ...packets]);
    page.writeUInt32LE(checksum(page), 22);
    return page;
  }
}

/** CRC of RFC 3533: polynomial 0x04c11db7, most significant bit first, no inversion. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index << 24;
  for (let bit = 0; bit < 8; bit++) value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value >>> 0;
});

function checksum(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) ^ (CRC_TABLE[((crc >>> 24) ^ byte) & 0xff] ?? 0)) >>> 0;
  return crc;
}
