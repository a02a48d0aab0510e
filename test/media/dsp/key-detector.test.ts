import { describe, expect, it } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { KeyDetector } from '#media/dsp/key-detector.ts';
import { fillKeyTone } from '#media/dsp/tones.ts';

const KEYS = '0123456789*#ABCD';

/** One key press with 100 ms of silence before and 200 ms after it, both tones at these gains. */
function press(
  key: string,
  options: { rateHz: number; ms: number; gain?: number; shift?: number },
): Int16Array {
  const { rateHz, ms, gain = 1, shift = 0 } = options;
  const samples = new Int16Array(rateHz * 0.3 + (rateHz * ms) / 1000);
  const tone = new Int16Array((rateHz * ms) / 1000);
  fillKeyTone(key, rateHz, 0, tone);
  samples.set(
    tone.map((sample) => sample * gain),
    rateHz * 0.1 + shift,
  );
  return samples;
}

/** Feeds the detector packet by packet. */
function hear(samples: Int16Array, rateHz: number) {
  const detector = new KeyDetector(rateHz);
  const frame = rateHz / 50;
  return Array.from({ length: Math.ceil(samples.length / frame) }, (_, n) =>
    detector.push(samples.subarray(n * frame, (n + 1) * frame), n * 20),
  ).flat();
}

describe.each([8_000, 16_000])('keys detected as tones at %i Hz', (rateHz) => {
  it('every key is detected within the 40 ms Q.24 requires, at any frame alignment', () => {
    for (const key of KEYS)
      for (let shift = 0; shift < 100; shift += 17) {
        expect(hear(press(key, { rateHz, ms: 40, shift }), rateHz).map(({ digit }) => digit)).toEqual([key]);
      }
  });

  it('a press is reported once, with its time and duration, loud or faint', () => {
    for (const gain of [1, 0.15]) {
      const [key, ...others] = hear(press('7', { rateHz, ms: 200, gain }), rateHz);
      expect(others).toEqual([]);
      expect(Math.abs((key?.atMs ?? 0) - 100)).toBeLessThanOrEqual(13);
      expect(Math.abs((key?.durationMs ?? 0) - 200)).toBeLessThanOrEqual(26);
    }
  });

  it('a tone of 20 ms is not a press', () => {
    expect(KEYS.split('').flatMap((key) => hear(press(key, { rateHz, ms: 20 }), rateHz))).toEqual([]);
  });

  it('the same key pressed twice is two presses', () => {
    const once = press('5', { rateHz, ms: 60 });
    expect(hear(Int16Array.from([...once, ...once]), rateHz).map(({ digit }) => digit)).toEqual(['5', '5']);
  });

  it('speech is not detected as keys', () => {
    const texts = [
      'I would like to know when you are open on Saturday.',
      'You know, who knew? Moon, soon, noon, and you too.',
      'Eee, see me, please, we need these three keys.',
      'A long aaaaah and a low oooooh, mmmmm, yes indeed.',
    ];
    for (const [n, text] of texts.entries())
      expect(hear(speak(text, { rateHz, voice: n % 2 === 0 ? 'slt' : 'rms' }).samples, rateHz)).toEqual([]);
  });
});

it('a press ends even when no more audio arrives', () => {
  const detector = new KeyDetector(8_000);
  expect(detector.push(press('9', { rateHz: 8_000, ms: 100 }).subarray(0, 1_600), 0)).toEqual([]);
  expect(detector.expire(250)).toBeNull();
  expect(detector.expire(400)).toMatchObject({ digit: '9' });
  expect(detector.expire(800)).toBeNull();
});
