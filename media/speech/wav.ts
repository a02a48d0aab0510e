/** Mono 16-bit PCM as a WAV file (RIFF). */

const HEADER_BYTES = 44;

/** Wraps samples into a WAV file. */
export function toWav(samples: Int16Array, sampleRateHz: number): Buffer {
  const file = Buffer.alloc(HEADER_BYTES + samples.length * 2);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(sampleRateHz, 24);
  file.writeUInt32LE(sampleRateHz * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(samples.length * 2, 40);
  for (let index = 0; index < samples.length; index++) file.writeInt16LE(samples[index] ?? 0, HEADER_BYTES + 2 * index);
  return file;
}
