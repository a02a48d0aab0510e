import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isReasonableMsgpack } from '#control-plane/msgpack-shape.ts';

const leaf = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array({ maxLength: 300 }),
  fc.date({ noInvalidDate: true }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie('value'), { maxLength: 40 }), fc.dictionary(fc.string(), tie('value'), { maxKeys: 40 })),
}));

it('whatever an encoder writes is taken, and no part of it is', () => {
  fc.assert(
    fc.property(value, fc.nat(), (written, cut) => {
      const bytes = encode(written);
      expect(isReasonableMsgpack(bytes)).toBe(true);
      expect(isReasonableMsgpack(bytes.subarray(0, cut % bytes.length))).toBe(false);
      expect(isReasonableMsgpack(Buffer.concat([bytes, Buffer.from([0])]))).toBe(false);
    }),
    { numRuns: 300 },
  );
});

it.each([
  ['text of every length', 'a'.repeat(70_000)],
  ['bytes of every length', new Uint8Array(70_000)],
  ['a list of the longest dictionary', Array.from({ length: 5_000 }, (_, index) => ({ key: `k${index}`, value: 'v' }))],
  ['big numbers', [2n ** 63n, -(2n ** 40n), 1e300, 70_000, -70_000, 300, -300]],
])('%s', (_, written) => {
  expect(isReasonableMsgpack(encode(written, { useBigInt64: true }))).toBe(true);
});

it.each([
  ['a list that says it is four thousand million long', Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff])],
  ['a map that does', Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff])],
  ['lists in lists', Buffer.alloc(1_000_000, 0x91)],
  ['a head that does not exist', Buffer.from([0xc1])],
  ['a length that is cut off', Buffer.from([0xdb, 0, 0])],
  ['a text that is cut off', Buffer.from([0xdb, 0, 0, 1, 0, 65])],
  ['nothing', Buffer.alloc(0)],
])('%s is refused', (_, bytes) => {
  expect(isReasonableMsgpack(bytes)).toBe(false);
});
