/** WAV files as the caller reads and writes them: 16-bit PCM. */

const HEADER_BYTES = 44;
const FORMAT_PCM = 1;

/** A WAV file of 16-bit PCM; `channels` interleaved. */
export function writeWav(samples: Int16Array, rateHz: number, channels = 1): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(HEADER_BYTES - 8 + samples.byteLength, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(FORMAT_PCM, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rateHz, 24);
  header.writeUInt32LE(rateHz * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([header, Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)]);
}

/** Contents of a WAV file. */
export interface Wav {
  readonly rateHz: number;
  readonly channels: number;
  /** Interleaved. */
  readonly samples: Int16Array;
}

/** Parses a WAV file of 16-bit PCM. Throws for anything else. */
export function readWav(file: Buffer): Wav {
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
