import fc from 'fast-check';
import { expect, it } from 'vitest';
import { alignWords, type TimedPhone } from '#media/speech/text/word-times.ts';

/** Flite's own phone list for the sentence, `name:endMs`. */
const PRINTED =
  'pau:164 hh:255 ax:304 l:412 ow:523 dh:572 eh:664 r:817 pau:916 ay:1109 w:1210 uh:1252 d:1306 l:1391 ' +
  'ay:1513 k:1593 t:1683 ax:1711 b:1774 uh:1853 k:1941 ax:1990 t:2051 ey:2171 b:2226 ax:2274 l:2354 ' +
  'f:2446 ao:2467 r:2568 t:2662 uw:2703 p:2832 iy:2924 p:3027 ax:3070 l:3104 pau:3200';
const phones: TimedPhone[] = PRINTED.split(' ').map((entry) => {
  const [name = '', end] = entry.split(':');
  return { name, endMs: Number(end) };
});

it('every word gets exactly its own phones, numbers included', () => {
  const text = 'Hello there, I would like to book a table for 2 people.';
  const words = alignWords(text, phones);
  expect(words.map((word) => [text.slice(word.textStart, word.textEnd), word.startMs, word.endMs])).toEqual([
    ['Hello', 164, 523],
    ['there,', 523, 817],
    ['I', 916, 1109],
    ['would', 1109, 1306],
    ['like', 1306, 1593],
    ['to', 1593, 1711],
    ['book', 1711, 1941],
    ['a', 1941, 1990],
    ['table', 1990, 2354],
    ['for', 2354, 2568],
    ['2', 2568, 2703],
    ['people.', 2703, 3104],
  ]);
});

it('words are in order and within the speech, for any text', () => {
  const letter = fc.constantFrom(...'abcdeghiklmnoprstuwxy0129');
  const text = fc
    .array(fc.string({ unit: letter, minLength: 1, maxLength: 8 }), { maxLength: 12 })
    .map((words) => words.join(' '));
  const phone = fc.constantFrom('pau', 'aa', 'b', 'k', 's', 'er', 'ow', 'ng');
  fc.assert(
    fc.property(text, fc.array(phone, { maxLength: 30 }), (written, names) => {
      const timed = names.map((name, index) => ({ name, endMs: 100 * (index + 1) }));
      const words = alignWords(written, timed);
      for (const [index, word] of words.entries()) {
        expect(word.endMs).toBeGreaterThanOrEqual(word.startMs);
        expect(word.endMs).toBeLessThanOrEqual(100 * names.length);
        if (index > 0) expect(word.startMs).toBeGreaterThanOrEqual(words[index - 1]!.endMs);
      }
    }),
  );
});
