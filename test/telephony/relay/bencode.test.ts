import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Bencodable, type Bencoded, decodeBencode, encodeBencode } from '#telephony/relay/bencode.ts';

const { value } = fc.letrec<{ value: Bencodable }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.string({ unit: 'grapheme' }), tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
}));

/** The parsed form: dictionaries are maps. */
function asRead(written: Bencodable): Bencoded {
  if (typeof written !== 'object') return written;
  if (Array.isArray(written)) return written.map(asRead);
  return new Map(Object.entries(written).map(([key, entry]) => [key, asRead(entry)]));
}

it('written values are read back unchanged', () => {
  fc.assert(
    fc.property(value, (written) => {
      expect(decodeBencode(encodeBencode(written))).toEqual(asRead(written));
    }),
  );
});

it('the format follows BEP 3: lengths in bytes, keys in order', () => {
  expect(encodeBencode({ b: ['ä', -7], a: '' }).toString()).toBe('d1:a0:1:bl2:äi-7eee');
});

it.each([
  '',
  'i7',
  'i-e',
  'i07x',
  'l',
  'l-3:',
  '5:four',
  '-1:x',
  '99999999999:x',
  'd1:a',
  'di1e1:ae',
  '1:a1:b',
  'x',
  'l'.repeat(100),
])('%j is rejected', (text) => {
  expect(() => decodeBencode(Buffer.from(text))).toThrow(SyntaxError);
});

it('arbitrary bytes are parsed or rejected', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }),
        fc.string({ unit: fc.constantFrom(...'dlie:-0123456789a'), maxLength: 60 }),
      ),
      (bytes) => {
        try {
          decodeBencode(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      },
    ),
  );
});
