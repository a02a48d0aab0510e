import { describe, expect, it } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { decodeG711, encodeG711 } from '#media/dsp/g711.ts';
import { type Tone, ToneDetector } from '#media/dsp/tone-detector.ts';
import { fillKeyTone } from '#media/dsp/tones.ts';
import { createRandom } from '../../simulation/random.ts';

const RATE_HZ = 8_000;
const samplesOf = (ms: number) => (RATE_HZ * ms) / 1_000;

/** Sines of these frequencies together, each at −9 dBm0, with half a second of silence before and after. */
function tone(ms: number, ...hz: readonly number[]): Int16Array {
  const out = new Int16Array(samplesOf(ms + 1_000));
  for (let n = 0; n < samplesOf(ms); n++)
    out[samplesOf(500) + n] = hz.reduce(
      (sum, each) => sum + (8_000 / hz.length) * Math.sin((2 * Math.PI * each * n) / RATE_HZ),
      0,
    );
  return out;
}

/**
 * Tones detected in audio from a G.711 line with some noise, in frames that are not a multiple of the
 * detector's.
 */
function heard(audio: Int16Array): Tone[] {
  const random = createRandom(7);
  const noisy = audio.map((sample) => Math.max(-32_000, Math.min(32_000, sample + random.between(-60, 60))));
  const bytes = new Uint8Array(noisy.length);
  encodeG711('PCMU', noisy, bytes, 0);
  const line = new Int16Array(noisy.length);
  decodeG711('PCMU', bytes, line);
  const detector = new ToneDetector(RATE_HZ);
  const tones: Tone[] = [];
  for (let at = 0; at < line.length; at += 123) {
    const found = detector.push(line.subarray(at, at + 123));
    if (found) tones.push(found);
  }
  return tones;
}

function joined(...parts: readonly Int16Array[]): Int16Array {
  return Int16Array.from(parts.flatMap((part) => [...part]));
}

const said = (text: string, voice = 'slt') => speak(text, { rateHz: RATE_HZ, voice }).samples;

describe('tone detection on an outbound call', () => {
  it.each([400, 440, 850, 1_000, 1_400, 2_000])('detects a beep of %i Hz, short or long', (hz) => {
    expect([heard(tone(180, hz)), heard(tone(1_500, hz))]).toEqual([['beep'], ['beep']]);
  });

  it('detects the beep after a spoken greeting, once', () => {
    expect(
      heard(joined(said('You have reached Ann. Please leave a message after the tone.'), tone(400, 1_000))),
    ).toEqual(['beep']);
  });

  it('detects a fax machine that answers, and one that calls', () => {
    expect([heard(tone(3_000, 2_100)), heard(tone(500, 1_100))]).toEqual([['fax'], ['fax']]);
  });

  it.each(['slt', 'rms', 'awb', 'kal'])('detects nothing in speech of the voice %s', (voice) => {
    expect(
      heard(
        said(
          'Hello? Who is this, please? Ooh, no, you do not say so! I was in my room, moving a few blue ' +
            'shoes.',
          voice,
        ),
      ),
    ).toEqual([]);
  });

  it('detects nothing in ringing, busy tones, keys, chords, warbling, hum, noise or silence', () => {
    const key = new Int16Array(samplesOf(400));
    fillKeyTone('5', RATE_HZ, 0, key);
    const warble = Int16Array.from(
      { length: samplesOf(2_000) },
      (_, n) => 8_000 * Math.sin((2 * Math.PI * 700 * n) / RATE_HZ + 8 * Math.sin(n / 300)),
    );
    const random = createRandom(3);
    const noise = Int16Array.from({ length: samplesOf(2_000) }, () => random.between(-6_000, 6_000));
    const others = [
      tone(2_000, 440, 480),
      tone(500, 480, 620),
      key,
      tone(1_000, 440, 554, 659),
      warble,
      tone(2_000, 50),
      noise,
      tone(0),
    ];
    expect(others.map(heard)).toEqual(others.map(() => []));
  });
});
