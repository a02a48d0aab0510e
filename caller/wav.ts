/** WAV files as the caller reads them: 16-bit PCM. */

const HEADER_BYTES = 44;
const FORMAT_PCM = 1;

/** Contents of a WAV file. */
export interface Wav {
  readonly rateHz: number;
  readonly channels: number;
  /** Interleaved. */
  readonly samples: Int16Array;
}

/** Parses a WAV file of 16-bit PCM. Throws for anything else. */
export function parseWav(file: Buffer): Wav {
  if (
    file.length < HEADER_BYTES ||
    file.toString('latin1', 0, 4) !== 'RIFF' ||
    file.toString('latin1', 8, 12) !== 'WAVE'
  )
    throw new Error('not a WAV file');
  let format: { readonly rateHz: number; readonly channels: number } | null = null;
  for (let at = 12; at + 8 <= file.length; ) {
    const name = file.toString('latin1', at, at + 4);
    const bytes = file.readUInt32LE(at + 4);
    const body = file.subarray(at + 8, at + 8 + bytes);
    if (name === 'fmt ') {
      if (body.readUInt16LE(0) !== FORMAT_PCM || body.readUInt16LE(14) !== 16)
        throw new Error('not 16-bit PCM');
      format = { channels: body.readUInt16LE(2), rateHz: body.readUInt32LE(4) };
    }
    if (name === 'data' && format)
      return {
        ...format,
        samples: Int16Array.from({ length: body.length >> 1 }, (_, index) => body.readInt16LE(2 * index)),
      };
    at += 8 + bytes + (bytes % 2);
  }
  throw new Error('the WAV file contains no sound');
}
