/** The estimate of what was heard against real voices, whose own word times are known and kept from it (design §8). */
import { describe, expect, it } from 'vitest';
import { PROVIDER_VOICES } from '#config/platform-models.ts';
import { addAudio, completePiece, createPiece, heardText, VoicePace } from '#runtime/turn/heard.ts';
import { speakable } from '#runtime/turn/speakable-text.ts';
import { speak } from '#test/fakes/spoken.ts';
import { createRandom, type Random } from '#test/simulation/random.ts';

const RATE_HZ = 16_000;
const SENTENCES = [
  'Hello, this is the agent.',
  'We are open from noon until ten.',
  'Your table for four people is booked for tomorrow evening at seven.',
  'Of course, I can help you with that, but first I need your name, your telephone number and the date of your order.',
  'I am sorry to hear that; the technician was supposed to arrive this morning, and I will find out what happened.',
  'Thank you for waiting.',
  'The delivery leaves our warehouse on Monday, and it usually takes between two and three working days until it arrives.',
  'Would you like me to send you the confirmation by mail or as a message to your phone?',
  'Our doctor sees patients without an appointment on weekday mornings from eight until eleven, but you should expect to wait for about an hour.',
  'The restaurant at the old harbour opens every day at noon and the kitchen serves fresh pasta with grilled vegetables until ten in the evening while the garden stays open for guests who only want a drink.',
  'Good morning, you have reached the city library.',
  'I did not quite catch that, could you say it again?',
  'I understand how frustrating this must be.',
  'To reset your password, open the settings page, choose security, and follow the instructions on the screen.',
  'Please make sure that the device is switched off before you open the cover.',
  'Goodbye, and have a wonderful day!',
];

/** By how many words the estimate is off at random moments: at the edge of audio that streams in no faster than it is played, and with the piece whole. */
function wordsOff(voice: string, sentences: readonly string[], pace: VoicePace, random: Random): { streaming: number[]; whole: number[] } {
  const off = { streaming: [] as number[], whole: [] as number[] };
  for (const text of sentences) {
    const speech = speakable(text, { language: 'en', needsWords: true });
    const { samples, words } = speak(speech.spoken, { rateHz: RATE_HZ, voice });
    const piece = createPiece(text, speech, pace);
    const moments: { readonly legPieceId: number; readonly offsetMs: number; readonly playedMs: number }[] = [];
    const wordsOffAt = ({ playedMs, ...position }: (typeof moments)[number]) => {
      const heard = heardText([piece], position)
        .text.split(' ')
        .filter((word) => word !== '');
      return Math.abs(heard.length - words.filter(({ endMs }) => endMs <= playedMs).length);
    };
    let legPieceId = 0;
    for (let from = 0; from < samples.length; ) {
      const to = Math.min(samples.length, from + Math.round(random.between(0.1, 0.4) * RATE_HZ));
      legPieceId += 1;
      addAudio(piece, legPieceId, samples.subarray(from, to), RATE_HZ);
      const offsetMs = random.between(0, ((to - from) * 1_000) / RATE_HZ);
      moments.push({ legPieceId, offsetMs, playedMs: (from * 1_000) / RATE_HZ + offsetMs });
      off.streaming.push(...moments.slice(-1).map(wordsOffAt));
      from = to;
    }
    completePiece(piece);
    off.whole.push(...moments.map(wordsOffAt));
    pace.learn(piece);
  }
  return off;
}

function p95(samples: readonly number[]): number {
  return samples.toSorted((one, other) => one - other)[Math.floor(samples.length * 0.95)] ?? Number.NaN;
}

describe('a voice without word times', () => {
  const random = createRandom(5);
  const calls = PROVIDER_VOICES.local.map(({ id }) => ({ id, ...wordsOff(id, SENTENCES, new VoicePace(), random) }));

  for (const { id, whole } of calls)
    it(`as ${id}, with the piece whole, is known to have been heard to the word (p95)`, () => {
      expect(p95(whole)).toBeLessThanOrEqual(1);
    });

  it('at the very edge of audio that still streams in, to two words (p95), mostly to one, at the speed of the sentences before', () => {
    const streaming = calls.flatMap((call) => call.streaming);
    expect(p95(streaming)).toBeLessThanOrEqual(2);
    expect(streaming.filter((words) => words <= 1).length / streaming.length).toBeGreaterThan(0.9);
  });
});
