/** The recordings of scripted workers' calls: as easy to compress as those of phone calls, and no easier. */
import { seededRandom } from '#caller/scene.ts';

/** As the product's recorder: two sides of 8,000 Hz and 16 bits. */
export const SEGMENT_MS = 4_800;
const RATE_HZ = 8_000;
export const REPLY = 'Of course. A table for two, tomorrow at eight. What is your name?';
/** A segment's share of the flight log of a five-minute call. */
const LOG_BYTES = 12_000;

/**
 * For each side a segment with speech and one without: voiced sounds with pauses. The user's have a line's
 * noise, in the steps of G.711.
 */
export function spokenSegments(): Readonly<Record<'agent' | 'user', readonly [Uint8Array, Uint8Array]>> {
  const random = seededRandom(1);
  const segment = (isSpoken: boolean, noise: number) => {
    const samples = Int16Array.from({ length: (SEGMENT_MS / 1_000) * RATE_HZ }, (_, at) => {
      const syllable = Math.max(0, Math.sin(at / 700)) * Number(at % 24_000 < 16_000) * Number(isSpoken);
      const voice = [1, 2, 3, 5, 8, 13].reduce((sum, n) => sum + Math.sin(at * n * 0.11 + n) / n, 0);
      const sound = syllable * (3_000 * voice + (random() - 0.5) * 400) + (random() - 0.5) * noise;
      return noise > 0 ? 4 * Math.round(sound / 4) : sound;
    });
    return new Uint8Array(samples.buffer);
  };
  return { agent: [segment(true, 0), segment(false, 0)], user: [segment(true, 16), segment(false, 16)] };
}

/** Lines like those of a turn machine's inputs. */
export function loggedInputs(): Uint8Array {
  const random = seededRandom(2);
  const words = REPLY.split(' ');
  let text = '';
  for (let atMs = 0; text.length < LOG_BYTES; atMs += Math.round(20 * random() * 10)) {
    const said = words.slice(0, Math.ceil(words.length * random())).join(' ');
    const input = { type: 'recogniser.partial', at_ms: atMs, text: said, confidence: random() };
    text += `${JSON.stringify(input)}\n`;
  }
  return Buffer.from(text);
}
