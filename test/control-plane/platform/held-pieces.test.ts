import { describe, expect, it } from 'vitest';
import { HeldPieces } from '#control-plane/platform/held-pieces.ts';
import type { Upload } from '#protocol/uploads.ts';

const MEBIBYTE = 1024 * 1024;

const piece = (number: number, bytes: Uint8Array = new Uint8Array(10), session = 's'): Upload => ({
  head: {
    type: 'log',
    session_id: session,
    epoch: 1,
    object: 0,
    piece: number,
    pieces: 1,
    is_part: true,
  },
  bytes,
});

const numbers = (held: HeldPieces) => held.of('s').map(({ head }) => head.piece);

describe('held pieces', () => {
  it('stay for any time, until their worker says that those before another one are stored', () => {
    const held = new HeldPieces();
    held.hold(piece(0), 't', 0);
    held.hold(piece(1), 't', 3_600_000);
    expect(numbers(held)).toEqual([0, 1]);
    const { head, bytes } = piece(2);
    held.hold({ head: { ...head, stored_before: 1 }, bytes }, 't', 3_600_000);
    expect(numbers(held)).toEqual([1, 2]);
  });

  it('are dropped with an object only if it contains them', () => {
    const held = new HeldPieces();
    for (const number of [0, 1, 2]) held.hold(piece(number), 't', 0);
    held.release({ ...piece(0).head, pieces: 2, is_part: false }, 0);
    expect(numbers(held)).toEqual([2]);
  });

  it('leave half of the memory to other teams', () => {
    const held = new HeldPieces();
    const large = new Uint8Array(127 * MEBIBYTE);
    const second = new Uint8Array(2 * MEBIBYTE);
    expect(held.hold(piece(0, large), 'one', 0)).toBe(true);
    expect(held.hold(piece(1, second), 'one', 0)).toBe(false);
    expect(held.hold(piece(0, second, 'other'), 'another', 0)).toBe(true);
    held.forget('s');
    expect(held.hold(piece(1, second), 'one', 0)).toBe(true);
  });

  it('take memory even if they are empty', () => {
    const held = new HeldPieces();
    held.hold(piece(0, new Uint8Array()), 't', 0);
    expect(held.bytes).toBeGreaterThan(0);
  });

  it('are copies: a view would keep the whole request in memory', () => {
    const held = new HeldPieces();
    held.hold(piece(0, Buffer.alloc(MEBIBYTE).subarray(0, 10)), 't', 0);
    expect(held.of('s')[0]?.bytes.buffer.byteLength).toBe(10);
  });

  it('are returned as silent until they are dropped', () => {
    const held = new HeldPieces();
    held.hold(piece(0), 't', 0);
    expect([held.silent(19_999), held.silent(20_000).length]).toEqual([[], 1]);
    held.drop(held.silent(20_000).flat());
    expect([held.silent(20_000), held.bytes]).toEqual([[], 0]);
  });
});
