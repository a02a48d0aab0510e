import { describe, expect, it } from 'vitest';
import {
  addAudio,
  addWordTime,
  completePiece,
  createPiece,
  heardText,
  type VoicedPiece,
  VoicePace,
} from '#runtime/turn/loop/heard.ts';
import { speakable } from '#runtime/turn/text/speakable-text.ts';

const RATE_HZ = 1_000;
const READING = { language: 'en', needsWords: true };

/** A piece voiced at `msPerWord`, one leg piece per word, numbered from `firstId`. */
function voiced(text: string, firstId: number, options: { timed: boolean; msPerWord?: number }): VoicedPiece {
  const speech = speakable(text, READING);
  const piece = createPiece(text, speech, new VoicePace());
  const msPerWord = options.msPerWord ?? 200;
  speech.words.forEach(({ spokenEnd }, index) => {
    if (options.timed) addWordTime(piece, spokenEnd, (index + 1) * msPerWord);
    addAudio(piece, firstId + index, new Int16Array(msPerWord).fill(1_000), RATE_HZ);
  });
  completePiece(piece);
  return piece;
}

describe('heard text', () => {
  const pieces = [voiced('The table is', 1, { timed: true }), voiced('booked for two.', 4, { timed: true })];

  it.each([
    [null, ''],
    [{ legPieceId: 1, offsetMs: 0 }, ''],
    [{ legPieceId: 1, offsetMs: 199 }, ''],
    [{ legPieceId: 1, offsetMs: 200 }, 'The'],
    [{ legPieceId: 3, offsetMs: 100 }, 'The table'],
    [{ legPieceId: 4, offsetMs: 0 }, 'The table is'],
    [{ legPieceId: 5, offsetMs: 200 }, 'The table is booked for'],
    [{ legPieceId: 6, offsetMs: 200 }, 'The table is booked for two.'],
  ])('is exactly right at %j: %j', (position, text) => {
    expect(heardText(pieces, position)).toEqual({ text, isExact: true });
  });

  it('never shrinks as the position grows', () => {
    let before = '';
    for (let legPieceId = 1; legPieceId <= 6; legPieceId++)
      for (let offsetMs = 0; offsetMs <= 200; offsetMs += 10) {
        const { text } = heardText(pieces, { legPieceId, offsetMs });
        expect(text.startsWith(before)).toBe(true);
        before = text;
      }
  });

  it('is estimated by letters in whole words without word times, and marked as an estimate', () => {
    const estimated = [voiced('one extraordinary two', 1, { timed: false, msPerWord: 300 })];
    // 3 + 13 + 3 letters plus one for each word over 900 ms: the first ends at about 160 ms, the second at
    // about 740.
    expect(heardText(estimated, { legPieceId: 1, offsetMs: 250 })).toEqual({ text: 'one', isExact: false });
    expect(heardText(estimated, { legPieceId: 3, offsetMs: 120 })).toEqual({ text: 'one', isExact: false });
    expect(heardText(estimated, { legPieceId: 3, offsetMs: 160 })).toEqual({
      text: 'one extraordinary',
      isExact: false,
    });
  });

  it('includes a word once it has ended, estimated or not', () => {
    // Words of similar sounds, and therefore of equal length.
    const words = 'man nun mum non nan mom min'.split(' ');
    for (const timed of [true, false]) {
      const piece = voiced(words.join(' '), 1, { timed, msPerWord: 300 });
      const counts = Array.from({ length: 140 }, (_, at) => {
        const { text } = heardText([piece], {
          legPieceId: 1 + Math.floor(at / 20),
          offsetMs: 5 + (at % 20) * 15,
        });
        return text.split(' ').filter((word) => word !== '').length;
      });
      expect(counts).toEqual(counts.map((_, at) => Math.floor(at / 20)));
    }
  });

  it('attributes silence inside a piece to no word', () => {
    const text = 'one two';
    const piece = createPiece(text, speakable(text, READING), new VoicePace());
    const samples = new Int16Array(800);
    samples.fill(1_000, 0, 200).fill(1_000, 600, 800);
    addAudio(piece, 1, samples, RATE_HZ);
    completePiece(piece);
    expect(heardText([piece], { legPieceId: 1, offsetMs: 90 }).text).toBe('');
    expect(heardText([piece], { legPieceId: 1, offsetMs: 500 }).text).toBe('one');
  });

  it('includes an address once its last spoken word was heard', () => {
    const text = 'Mail a@b.co now';
    const piece = createPiece(text, speakable(text, READING), new VoicePace());
    // "Mail a at b dot co now": the voice reports times for seven words.
    let endMs = 0;
    for (const match of 'Mail a at b dot co now'.matchAll(/\S+/g)) {
      endMs += 100;
      addWordTime(piece, match.index + match[0].length, endMs);
    }
    addAudio(piece, 1, new Int16Array(700).fill(9), RATE_HZ);
    completePiece(piece);
    expect(heardText([piece], { legPieceId: 1, offsetMs: 500 }).text).toBe('Mail');
    expect(heardText([piece], { legPieceId: 1, offsetMs: 600 }).text).toBe('Mail a@b.co');
  });

  it('includes an amount once all its words were heard, recorded as it was written', () => {
    const text = 'It costs €12.50 today';
    const speech = speakable(text, READING);
    expect(speech.spoken).toBe('It costs 12 euros 50 today');
    const piece = createPiece(text, speech, new VoicePace());
    let endMs = 0;
    for (const match of speech.spoken.matchAll(/\S+/g)) {
      endMs += 100;
      addWordTime(piece, match.index + match[0].length, endMs);
    }
    addAudio(piece, 1, new Int16Array(600).fill(9), RATE_HZ);
    completePiece(piece);
    expect([400, 500, 600].map((offsetMs) => heardText([piece], { legPieceId: 1, offsetMs }).text)).toEqual([
      'It costs',
      'It costs €12.50',
      text,
    ]);
  });

  it('is exact to the word in a script without spaces, too', () => {
    const text = '予約は明日の七時です。';
    const piece = createPiece(text, speakable(text, { language: 'ja', needsWords: false }), new VoicePace());
    addAudio(piece, 1, new Int16Array(1_100).fill(1_000), RATE_HZ);
    completePiece(piece);
    const heard = [0, 550, 1_100].map((offsetMs) => heardText([piece], { legPieceId: 1, offsetMs }).text);
    expect([heard[0], heard[2]]).toEqual(['', text]);
    expect(heard[1]?.length).toBeGreaterThan(2);
    expect(text.startsWith(heard[1] ?? 'x')).toBe(true);
  });
});
