import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPieceCutter, type Piece } from '#runtime/turn/loop/piece-cutter.ts';
import { readable } from '#runtime/turn/text/speakable-text.ts';

/** The pieces of a text received in deltas of `size` characters. */
function pieces(text: string, size = 3): string[] {
  const cutter = createPieceCutter();
  const cut: Piece[] = [];
  for (let start = 0; start < text.length; start += size)
    cut.push(...cutter.push(text.slice(start, start + size)));
  return [...cut, ...cutter.finish()].map((piece) => piece.text);
}

describe('splitting a reply into pieces', () => {
  it.each([
    [
      'a short first clause, then sentences',
      'Thank you for calling, I can help. The table is free. Shall I book it?',
      ['Thank you for calling,', 'I can help.', 'The table is free.', 'Shall I book it?'],
    ],
    [
      'a first clause that is too short stays with the rest',
      'Sure, I can do that for you. Anything else?',
      ['Sure, I can do that for you.', 'Anything else?'],
    ],
    [
      'never inside a number',
      'It costs 3.50 euros or 1,200 yen. Fine.',
      ['It costs 3.50 euros or 1,200 yen.', 'Fine.'],
    ],
    [
      'never inside an abbreviation',
      'Dr. Smith is in at 5 p.m. on Monday. Bye.',
      ['Dr. Smith is in at 5 p.m. on Monday.', 'Bye.'],
    ],
    [
      'never inside an address',
      'Write to anna.b@example.com today. Bye.',
      ['Write to anna.b@example.com today.', 'Bye.'],
    ],
    [
      'never inside brackets',
      'See [our page. It is new](https://x.test/a). Bye.',
      ['See our page. It is new.', 'Bye.'],
    ],
    [
      'a very short sentence is read with the next',
      'I have found three tables. Yes. One is outside.',
      ['I have found three tables.', 'Yes. One is outside.'],
    ],
    ['lines end pieces', '- first point\n- second point\n', ['first point', 'second point']],
    [
      'sentences without spaces',
      '予約しました。ありがとうございます。',
      ['予約しました。', 'ありがとうございます。'],
    ],
  ])('%s', (_, text, expected) => {
    expect(pieces(text)).toEqual(expected);
    expect(pieces(text, 1)).toEqual(expected);
  });

  it('loses and duplicates nothing, however the text arrives', () => {
    const word = fc.constantFrom(
      'one',
      'two,',
      'three.',
      '3.14',
      'Mr.',
      'a@b.co',
      '(four',
      'five)',
      'six?',
      '\n',
      'seven—',
      'eight:',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 80 }), fc.integer({ min: 1, max: 30 }), (words, size) => {
        const text = words.join(' ');
        expect(pieces(text, size).join(' ').replace(/\s+/g, ' ')).toBe(
          /[\p{L}\p{N}]/u.test(text) ? readable(text) : '',
        );
      }),
    );
  });

  it('splits a sentence that never ends', () => {
    const long = 'word '.repeat(200);
    expect(Math.max(...pieces(long).map(({ length }) => length))).toBeLessThanOrEqual(220);
  });
});

describe('text for speech', () => {
  it.each([
    ['**Great!** It is `open` 😀', 'Great! It is open'],
    ['## Hours\n* Monday\n* Tuesday', 'Hours Monday Tuesday'],
    ['see [the menu](https://x.test/m)', 'see the menu'],
    ['snake_case stays, _this_ does not', 'snake_case stays, this does not'],
    ['5 * 3', '5 3'],
  ])('%j is read as %j', (written, read) => {
    expect(readable(written)).toBe(read);
  });
});

describe('voice.expressive', () => {
  it('a cue applies to the voice until the next one, and never appears in the text', () => {
    const text =
      '[Happy] Great news, your table is booked. See you then. [sad] The terrace is closed. [laughs] Bye ' +
      'now!';
    for (const size of [1, 3, text.length]) {
      const cutter = createPieceCutter();
      const cut: Piece[] = [];
      for (let start = 0; start < text.length; start += size)
        cut.push(...cutter.push(text.slice(start, start + size)));
      cut.push(...cutter.finish());
      expect(cut.map((piece) => piece.text).join(' ')).toBe(
        'Great news, your table is booked. See you then. The terrace is closed. Bye now!',
      );
      expect(cut.map((piece) => piece.emotion)).toEqual(
        cut.map(({ text: said }) => (/terrace|Bye/.test(said) ? 'sad' : 'happy')),
      );
    }
  });

  it('other bracketed text is spoken', () => {
    expect(pieces('Press [one] or say [name].')).toEqual(['Press [one] or say [name].']);
  });
});
