import { describe, expect, it } from 'vitest';
import { seededRandom } from '#caller/scene.ts';
import { decodeFlac } from '#media/speech/audio/flac-decoder.ts';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import { FLAC_HEAD_BYTES, flacFile } from '#media/speech/audio/flac-format.ts';
import { decodeAudio } from '#media/speech/pool/decode.ts';
import { DECODED_RATE_HZ } from '#media/speech/pool/decoders.ts';

const RATE_HZ = DECODED_RATE_HZ;
const random = seededRandom(11);

const noise = (count: number, peak: number) =>
  Int16Array.from({ length: count }, () => Math.round((random() * 2 - 1) * peak));
/** Tones that swell and fade in noise, as speech does. */
const speech = (count: number) =>
  Int16Array.from({ length: count }, (_, index) => {
    const level = 9_000 * Math.max(0, Math.sin(index / 5_000)) ** 2;
    return level * (Math.sin(index / 11) + Math.sin(index / 4) / 3) + (random() - 0.5) * 20;
  });

const SOUNDS: Readonly<Record<string, Int16Array>> = {
  'one sample': Int16Array.of(-5),
  'four samples': Int16Array.of(1, -2, 3, 32_767),
  silence: new Int16Array(3 * RATE_HZ),
  'the quietest noise': noise(20_001, 1),
  'full-scale noise': noise(RATE_HZ, 32_767),
  'jumps from one extreme to the other': Int16Array.from({ length: 4_800 }, (_, index) =>
    index % 2 === 0 ? -32_768 : 32_767,
  ),
  'a click in silence': new Int16Array(9_000).fill(-32_768, 5_000, 5_001),
  'an offset': new Int16Array(9_000).fill(1_234),
  'the multiples of four that G.711 has': speech(RATE_HZ).map((sample) => (sample >> 2) << 2),
  'its extremes': noise(RATE_HZ, 1).map((sign) => sign * -32_768),
  'speech of 4.8 s': speech(4.8 * RATE_HZ),
};

function decoded(file: Buffer): Int16Array {
  return Int16Array.from([...decodeFlac(file)].flatMap((frame) => [...frame]));
}

describe('a recording in FLAC', () => {
  it.each(Object.entries(SOUNDS))(
    'with %s is decoded to the same samples, here and by libav',
    async (_, sound) => {
      const file = flacFile([encodeFlac(sound, RATE_HZ)], { rateHz: RATE_HZ, samples: sound.length });
      expect(decoded(file)).toEqual(sound);
      expect(await decodeAudio(file, { longestSeconds: 60, onBlock: () => undefined })).toEqual(sound);
    },
  );

  it('is one file of the pieces in which it was encoded', async () => {
    const pieces = [speech(4.8 * RATE_HZ), speech(160), speech(2_000), speech(4.8 * RATE_HZ)];
    let samples = 0;
    const frames = pieces.map((piece) => {
      samples += piece.length;
      return encodeFlac(piece, RATE_HZ, samples - piece.length);
    });
    const whole = Int16Array.from(pieces.flatMap((piece) => [...piece]));
    const file = flacFile(frames, { rateHz: RATE_HZ, samples });
    expect(decoded(file)).toEqual(whole);
    expect(await decodeAudio(file, { longestSeconds: 60, onBlock: () => undefined })).toEqual(whole);
  });

  it('is encoded the same at any position, which is a number of up to 36 bits', () => {
    const sound = speech(100);
    for (const position of [
      0,
      127,
      128,
      2_047,
      2_048,
      65_535,
      65_536,
      2 ** 21,
      2 ** 26,
      2 ** 31,
      2 ** 36 - 1,
    ])
      expect(
        decoded(flacFile([encodeFlac(sound, RATE_HZ, position)], { rateHz: RATE_HZ, samples: 100 })),
      ).toEqual(sound);
  });

  it('takes two bits less for each sample that is a multiple of four', () => {
    const quiet = noise(RATE_HZ, 50);
    const bytes = (sound: Int16Array) => encodeFlac(sound, RATE_HZ).length;
    expect(bytes(quiet.map((sample) => sample * 4)) - bytes(quiet)).toBeLessThan(20);
  });

  it('takes next to nothing in silence, and never much more than its samples', () => {
    const bytes = (sound: Int16Array) => encodeFlac(sound, RATE_HZ).length;
    expect(bytes(SOUNDS['silence'] ?? noise(1, 1))).toBeLessThan(120);
    expect(bytes(SOUNDS['full-scale noise'] ?? noise(1, 1))).toBeLessThan(2 * RATE_HZ * 1.01);
  });

  it('with bits that have changed is refused, or is other samples: nothing else breaks', () => {
    const sound = speech(2_000);
    const file = flacFile([encodeFlac(sound, RATE_HZ)], { rateHz: RATE_HZ, samples: sound.length });
    for (let round = 0; round < 300; round++) {
      const broken = Buffer.from(file);
      const at = FLAC_HEAD_BYTES + Math.floor(random() * (file.length - FLAC_HEAD_BYTES));
      broken[at] = (broken[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      let failure = 'FLAC: ';
      try {
        decoded(broken);
      } catch (error) {
        failure = String(error);
      }
      expect(failure).toContain('FLAC: ');
    }
  });

  it('of any length, level and position is decoded to the same samples', () => {
    for (let round = 0; round < 100; round++) {
      const length = 1 + Math.floor(random() * 6_000);
      const quiet = noise(length, 2 ** (random() * 15)).map((sample) => sample << Math.floor(random() * 2));
      const frames = encodeFlac(quiet, RATE_HZ, Math.floor(random() * 2 ** 30));
      expect(decoded(flacFile([frames], { rateHz: RATE_HZ, samples: length }))).toEqual(quiet);
    }
  });

  it('is refused if it is cut short or something else', () => {
    const file = flacFile([encodeFlac(speech(1_000), RATE_HZ)], { rateHz: RATE_HZ, samples: 1_000 });
    for (const broken of [
      Buffer.alloc(0),
      Buffer.alloc(100),
      file.subarray(0, FLAC_HEAD_BYTES + 3),
      file.subarray(0, -3),
      Buffer.concat([file, Buffer.alloc(20)]),
    ])
      expect(() => decoded(broken)).toThrow('FLAC: ');
  });
});
