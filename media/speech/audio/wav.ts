/** 16-bit PCM as a WAV file (RIFF). */

/** Length of the header that `wavHeader` returns, bytes. */
export const HEADER_BYTES = 44;
const FORMAT_PCM = 1;
const SAMPLE_BYTES = 2;
/** Means "until the end": the length of a stream is unknown when its header is sent. */
const UNKNOWN_LENGTH = 0xffff_ffff;

/** Wraps samples into a WAV file; several `channels` are interleaved. */
export function toWav(samples: Int16Array, sampleRateHz: number, channels = 1): Buffer {
  const bytes = samples.length * SAMPLE_BYTES;
  const file = Buffer.concat([wavHeader(sampleRateHz, bytes, channels), Buffer.alloc(bytes)]);
  for (let index = 0; index < samples.length; index++)
    file.writeInt16LE(samples[index] ?? 0, HEADER_BYTES + SAMPLE_BYTES * index);
  return file;
}

/** The header of a WAV file with this many bytes of audio, or of a stream of unknown length. */
export function wavHeader(sampleRateHz: number, dataBytes: number = UNKNOWN_LENGTH, channels = 1): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(Math.min(dataBytes + HEADER_BYTES - 8, UNKNOWN_LENGTH), 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(FORMAT_PCM, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRateHz, 24);
  header.writeUInt32LE(sampleRateHz * channels * SAMPLE_BYTES, 28);
  header.writeUInt16LE(channels * SAMPLE_BYTES, 32);
  header.writeUInt16LE(8 * SAMPLE_BYTES, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  return header;
}
