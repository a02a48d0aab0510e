import { decode, encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runAtOnce } from '#base/run-steps.ts';
import { msgpackParts } from '#control-plane/platform/http/msgpack-shape.ts';
import { readMsgpack } from '#control-plane/platform/http/request-bodies.ts';
import { turnsDuring } from '../../../turns-until.ts';

const isReasonableMsgpack = (bytes: Uint8Array) => runAtOnce(msgpackParts(bytes));

function decodedOr<Other>(other: Other, bytes: Uint8Array): unknown {
  try {
    return decode(bytes);
  } catch {
    return other;
  }
}

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
  value: fc.oneof(
    { maxDepth: 5 },
    leaf,
    fc.array(tie('value'), { maxLength: 40 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 40 }),
  ),
}));

it('complete encodings are accepted, and truncated ones refused', async () => {
  await fc.assert(
    fc.asyncProperty(value, fc.nat(), async (written, cut) => {
      const bytes = encode(written);
      // The decoder refuses a key called `__proto__`.
      expect(await readMsgpack(bytes).catch(() => 'refused')).toEqual(decodedOr('refused', bytes));
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
  [
    'a list of the longest dictionary',
    Array.from({ length: 5_000 }, (_, index) => ({ key: `k${index}`, value: 'v' })),
  ],
  ['big numbers', [2n ** 63n, -(2n ** 40n), 1e300, 70_000, -70_000, 300, -300]],
])('%s', (_, written) => {
  expect(isReasonableMsgpack(encode(written, { useBigInt64: true }))).toBe(true);
});

it.each([
  ['a list that says it is four thousand million long', Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff])],
  ['a map that does', Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff])],
  [
    'more values than any request has',
    encode(Array.from({ length: 60 }, () => Array.from({ length: 2_000 }, () => 1))),
  ],
  ['a text longer than any request has', encode('a'.repeat(1_048_577))],
  ['lists in lists', Buffer.alloc(1_000_000, 0x91)],
  ['a head that does not exist', Buffer.from([0xc1])],
  ['a length that is cut off', Buffer.from([0xdb, 0, 0])],
  ['a text that is cut off', Buffer.from([0xdb, 0, 0, 1, 0, 65])],
  ['nothing', Buffer.alloc(0)],
])('%s is refused', (_, bytes) => {
  expect(isReasonableMsgpack(bytes)).toBe(false);
});

it.each([
  [
    'a map whose key is nil',
    [
      0x83,
      0xc0,
      ...encode('event'),
      ...encode('text'),
      ...encode('text'),
      ...encode('of another'),
      ...encode('x'),
    ],
  ],
  ['a key called __proto__', [0x81, ...encode('__proto__'), 0x01]],
  ['a list that is cut off', [0xdc, 0x27, 0x10, ...Array.from({ length: 999 }, () => 0xc0)]],
])('security: %s is refused, and nothing of it is in the next value', async (_, bytes) => {
  await expect(readMsgpack(Uint8Array.from(bytes))).rejects.toThrow();
  expect(await readMsgpack(encode({ event: 'stop' }))).toEqual({ event: 'stop' });
});

it('a long value is decoded in slices that yield to other work, an ordinary one at once', async () => {
  const items = Array.from({ length: 8_000 }, (_, index) => ({ [`k${index}`]: `värde ${index}`, more: [] }));
  const bytes = encode({ items, reference: new Uint8Array(300_000) });
  let read: unknown;
  const turns = await turnsDuring(async () => {
    read = await readMsgpack(bytes);
  });
  expect(read).toEqual(decode(bytes));
  expect(turns).toBeGreaterThan(30);
  expect(turns).toBeLessThan(60);
  expect(
    await turnsDuring(() => readMsgpack(encode({ text: 'Hello.', audio: new Uint8Array(20_000) }))),
  ).toBeLessThanOrEqual(1);
});
