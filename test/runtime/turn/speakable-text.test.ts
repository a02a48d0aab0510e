import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SPEAKING_LANGUAGES } from '#config/languages.ts';
import { createPieceCutter } from '#runtime/turn/loop/piece-cutter.ts';
import { readable, speakable } from '#runtime/turn/text/speakable-text.ts';

const spoken = (text: string, language: string, needsWords: boolean) =>
  speakable(text, { language, needsWords }).spoken;

describe('text normalised for every voice', () => {
  it.each([
    ['en', 'Mail anna.b@example.com.', 'Mail anna dot b at example dot com.'],
    ['de', 'Mail: anna_b@beispiel.de', 'Mail: anna Unterstrich b ät beispiel Punkt de'],
    ['fr', 'Voir https://exemple.fr/menu/.', 'Voir exemple point fr slash menu.'],
    ['en', 'See www.example.co.uk/a-b!', 'See www dot example dot co dot uk slash a dash b!'],
    ['en', 'It is on example.com (now).', 'It is on example dot com (now).'],
    ['en', 'Your code is 48213.', 'Your code is 4 8 2 1 3.'],
    ['en', 'Order AB12-CD34, please', 'Order A B 1 2, C D 3 4, please'],
    ['en', 'Call +49-30-1234.', 'Call plus 4 9, 3 0, 1 2 3 4.'],
    ['en', 'Call +1 415 555 0123 now', 'Call plus 1, 4 1 5, 5 5 5, 0 1 2 3 now'],
    ['en', 'Call (415) 555-0123 now', 'Call 4 1 5, 5 5 5, 0 1 2 3 now'],
    ['ru', 'Звоните +74951234567', 'Звоните плюс 7 4 9, 5 1 2, 3 4 5, 6 7'],
  ])('%s: %j is said as %j', (language, written, said) => {
    expect(spoken(written, language, false)).toBe(said);
  });

  it.each([
    '20% off in 2026',
    'It costs $12.50 or 1,375.50 EUR',
    'On 2026-11-21 at 10:30 am, in 2025-2026',
    'Dr. Smith, No. 5, e.g. at 5 km',
    'COVID-19, MP3, 100KG, U.S., NASA',
    'the 21st, -5 degrees, 3/4',
  ])('%j is unchanged for voices that read it well', (written) => {
    expect(spoken(written, 'en', false)).toBe(written);
  });
});

describe('text normalised for a voice that needs words', () => {
  it.each([
    ['en', 'It costs 1,375.50 EUR.', 'It costs 1375 euros 50.'],
    ['en', 'Only €1, or $3.5 million.', 'Only 1 euro, or 3.5 million US dollars.'],
    ['en', '¥500 and £20.00', '500 Japanese yen and 20 British pounds'],
    [
      'en',
      '20% off, 5 km, 2.5 kg at -3°C',
      '20 percent off, 5 kilometers, 2.5 kilograms at -3 degrees Celsius',
    ],
    ['en', 'due 2026-11-21 or 1/5/2026', 'due November 21, 2026 or January 5, 2026'],
    ['en', 'at 10:30, e.g. No. 5 on Main Ave.', 'at 10:30, for example number 5 on Main Avenue'],
    ['en', 'No. Really, 12 of 2,000 in 1999', 'No. Really, 12 of 2,000 in 1999'],
    ['de', 'Das kostet 1.375,50 €.', 'Das kostet eintausenddreihundertfünfundsiebzig Euro fünfzig.'],
    [
      'de',
      'um 14:30 Uhr, z.B. 20 % von 3,5 km',
      'um vierzehn dreißig Uhr, zum Beispiel zwanzig Prozent von drei komma fünf Kilometer',
    ],
    [
      'fr',
      'le 03/05/2026, 1 375 euros',
      'le trois mai deux mille vingt-six, mille trois cent soixante-quinze euros',
    ],
    ['es', '21 mesas', 'veintiuno mesas'],
    ['de', 'Code 48213', 'Code vier acht zwei eins drei'],
    ['bg', '21 маси', '21 маси'],
  ])('%s: %j is said as %j', (language, written, said) => {
    expect(spoken(written, language, true).replaceAll('\u00a0', ' ')).toBe(said);
  });

  it('invalid dates and times are not read as such', () => {
    expect(spoken('31.02.2026 and 25:70', 'de', true)).not.toMatch(/Februar|März/);
  });
});

const TRICKY = [
  '1,375.50 EUR',
  '$12.50',
  '€3.5 million',
  '5 km',
  '20%',
  '2026-11-21',
  '10:30',
  'Dr. Smith',
  'e.g.',
  'a.b@c.co',
  'https://x.test/a?b=1',
  'example.com/a.',
  '+49 30 1234567',
  '(415) 555-0123',
  '48213',
  'AB12-CD34.',
  '"quoted"',
  '(bracket)',
  '…',
  '„x“',
  '予約は七時です。',
  'สวัสดีครับ',
  'नमस्ते',
  '—',
  '&',
  'word',
  'two,',
];

describe('every written word maps to its spoken words', () => {
  it('an address is one word', () => {
    const { spoken: said, words } = speakable('Mail a@b.co now', { language: 'en', needsWords: false });
    expect(words.map(({ spokenStart, spokenEnd }) => said.slice(spokenStart, spokenEnd))).toEqual([
      'Mail',
      'a at b dot co',
      'now',
    ]);
  });

  it('words follow each other without gap or overlap in both texts, in every language', () => {
    const text = fc
      .array(fc.oneof(fc.constantFrom(...TRICKY), fc.string({ maxLength: 6 })), { maxLength: 12 })
      .map((parts) => readable(parts.join(' ')));
    fc.assert(
      fc.property(
        text,
        fc.constantFrom(...SPEAKING_LANGUAGES),
        fc.boolean(),
        (written, language, needsWords) => {
          const { spoken: said, words } = speakable(written, { language, needsWords });
          let [textEnd, spokenEnd] = [0, 0];
          for (const word of words) {
            expect(word.textEnd).toBeGreaterThan(textEnd);
            expect(said.slice(spokenEnd, word.spokenStart)).toMatch(/^\s*$/);
            expect(word.spokenEnd).toBeGreaterThan(word.spokenStart);
            [textEnd, spokenEnd] = [word.textEnd, word.spokenEnd];
          }
          expect([textEnd, spokenEnd]).toEqual([written.length, said.length]);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('plain words are unchanged', () => {
    const plain = fc
      .array(fc.constantFrom('hello', 'there,', 'who', 'are', 'you?', 'Ann.'), { maxLength: 20 })
      .map((words) => words.join(' '));
    fc.assert(
      fc.property(plain, fc.boolean(), (text, needsWords) => {
        expect(spoken(text, 'en', needsWords)).toBe(text);
      }),
    );
  });
});

describe('streamed', () => {
  const whole = fc.constantFrom(
    '1,375.50 EUR',
    '$12.50',
    'a.b@c.co',
    'https://x.test/a,b',
    '+49 30 1234567',
    '10:30',
    'Dr. Smith',
    'z.B.',
    '48213',
    '2026-11-21',
  );
  const word = fc.constantFrom('and', 'the table', 'is free,', 'but then', 'we go.', 'Well');

  it('a sentence too long for a piece is cut beside a number, not in it', () => {
    const cutter = createPieceCutter();
    const text = `${'call us and '.repeat(18)}+49 30 1234567 at any time of the day`;
    const pieces = [...cutter.push(text), ...cutter.finish()].map((piece) => piece.text);
    expect(pieces.map((piece) => piece.includes('+49 30 1234567'))).toEqual([false, true]);
  });

  it('no piece ends inside a number, an address or an abbreviation, however the text arrives', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, whole, word), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 40 }),
        (parts, size) => {
          const text = parts.flat().join(' ');
          const cutter = createPieceCutter();
          const pieces: string[] = [];
          for (let start = 0; start < text.length; start += size)
            pieces.push(...cutter.push(text.slice(start, start + size)).map((piece) => piece.text));
          pieces.push(...cutter.finish().map((piece) => piece.text));
          expect(pieces.join(' ')).toBe(text);
          for (const [, inseparable] of parts)
            expect(pieces.some((piece) => piece.includes(inseparable))).toBe(true);
          const all = parts.map(([, inseparable]) => inseparable);
          const found = pieces.reduce(
            (count, piece) => count + all.filter((one) => piece.includes(one)).length,
            0,
          );
          expect(found).toBeGreaterThanOrEqual(new Set(all).size);
        },
      ),
      { numRuns: 300 },
    );
  });
});
