/** Our FLAC (RFC 9639), for its writer and its reader: mono, 16 bits, blocks of any length. */

/** `fLaC`, and the one metadata block: STREAMINFO. */
export const FLAC_HEAD_BYTES = 42;
/** First bytes of each frame: the sync code, and that blocks have different lengths. */
export const FRAME_SYNC = 0xfff9;
/** A frame says its length in 16 bits and leaves the rate to the head. */
export const BLOCK_AND_RATE = 0x70;
/** One channel, 16 bits. */
export const CHANNEL_AND_BITS = 0x08;
export const SAMPLE_BITS = 16;
/** Of the polynomial predictors. */
export const HIGHEST_ORDER = 4;
/** Types of subframes. */
export const SUBFRAME = { constant: 0, verbatim: 1, fixed: 8 } as const;
/** A Rice parameter of 15 has another meaning. */
export const HIGHEST_PARAMETER = 14;

/** The shortest block that the format has; the last one may be shorter. */
const SHORTEST_BLOCK = 16;
const SIGNATURE = 0x664c6143;
const STREAMINFO_BYTES = 34;
const LAST_BLOCK = 0x80;

/** A file of these frames, in their order. */
export function flacFile(
  frames: readonly Uint8Array[],
  format: { readonly rateHz: number; readonly samples: number },
): Buffer {
  return Buffer.concat([flacHead(format), ...frames]);
}

/** The bytes before the frames. */
export function flacHead({ rateHz, samples }: { readonly rateHz: number; readonly samples: number }): Buffer {
  const head = Buffer.alloc(FLAC_HEAD_BYTES);
  head.writeUInt32BE(SIGNATURE, 0);
  head.writeUInt32BE(LAST_BLOCK * 2 ** 24 + STREAMINFO_BYTES, 4);
  // Shortest and longest block. Sizes of frames and the checksum of the samples stay zero: unknown.
  head.writeUInt16BE(SHORTEST_BLOCK, 8);
  head.writeUInt16BE(0xffff, 10);
  // 20 bits of rate, 3 of channels less one, 5 of bits less one, 36 of samples.
  head.writeUInt32BE(rateHz * 2 ** 12 + (SAMPLE_BITS - 1) * 2 ** 4 + Math.floor(samples / 2 ** 32), 18);
  head.writeUInt32BE(samples % 2 ** 32, 22);
  return head;
}

/** The frames of such a file; null if it does not begin as `flacFile` writes it. */
export function flacFrames(file: Buffer): Buffer | null {
  return file.length >= FLAC_HEAD_BYTES && file.readUInt32BE(0) === SIGNATURE
    ? file.subarray(FLAC_HEAD_BYTES)
    : null;
}
