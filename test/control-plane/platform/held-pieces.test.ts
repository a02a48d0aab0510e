import { describe, expect, it } from 'vitest';
import { HeldPieces, roomForPieces } from '#control-plane/platform/held-pieces.ts';
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
    const held = new HeldPieces(9 * MEBIBYTE);
    held.hold(piece(0), 't', 0);
    held.hold(piece(1), 't', 3_600_000);
    expect(numbers(held)).toEqual([0, 1]);
    const { head, bytes } = piece(2);
    held.hold({ head: { ...head, stored_before: 1 }, bytes }, 't', 3_600_000);
    expect(numbers(held)).toEqual([1, 2]);
  });

  it('are dropped with an object only if it contains them', () => {
    const held = new HeldPieces(9 * MEBIBYTE);
    for (const number of [0, 1, 2]) held.hold(piece(number), 't', 0);
    held.release({ ...piece(0).head, pieces: 2, is_part: false }, 0);
    expect(numbers(held)).toEqual([2]);
  });

  it('of one team take nearly all of the memory while no other team has any', () => {
    const held = new HeldPieces(9 * MEBIBYTE);
    expect(held.hold(piece(0, new Uint8Array(7.9 * MEBIBYTE)), 'one', 0)).toBe(true);
    expect(held.hold(piece(1, new Uint8Array(0.2 * MEBIBYTE)), 'one', 0)).toBe(false);
  });

  it('of another team find room at once, and as much as those of the first once its objects are stored', () => {
    const held = new HeldPieces(9 * MEBIBYTE);
    const [large, small] = [new Uint8Array(4 * MEBIBYTE), new Uint8Array(0.5 * MEBIBYTE)];
    held.hold(piece(0, large), 'one', 0);
    held.hold(piece(1, new Uint8Array(3.9 * MEBIBYTE)), 'one', 0);
    expect(held.hold(piece(0, small, 'other'), 'another', 0)).toBe(true);
    held.release(piece(1).head, 0);
    expect(held.hold(piece(1, new Uint8Array(3.5 * MEBIBYTE), 'other'), 'another', 0)).toBe(true);
    expect(held.hold(piece(2, small), 'one', 0)).toBe(false);
  });

  it('never take more than the limit of all teams', () => {
    const held = new HeldPieces(9 * MEBIBYTE);
    for (let team = 0; team < 40; team++)
      held.hold(piece(team, new Uint8Array(MEBIBYTE / 2)), `team ${team}`, 0);
    expect(held.bytes).toBeLessThanOrEqual(9 * MEBIBYTE);
  });

  it('take memory even if they are empty', () => {
    const held = new HeldPieces(9 * MEBIBYTE);
    held.hold(piece(0, new Uint8Array()), 't', 0);
    expect(held.bytes).toBeGreaterThan(0);
  });

  it('have a sixteenth of the memory of their machine, within 256 MiB and 1 GiB', () => {
    const room = (mebibytes: number) => roomForPieces(mebibytes * MEBIBYTE) / MEBIBYTE;
    expect([1_024, 8_192, 65_536].map(room)).toEqual([256, 512, 1_024]);
  });

  it('are copies: a view would keep the whole request in memory', () => {
    const held = new HeldPieces(9 * MEBIBYTE);
    held.hold(piece(0, Buffer.alloc(MEBIBYTE).subarray(0, 10)), 't', 0);
    expect(held.of('s')[0]?.bytes.buffer.byteLength).toBe(10);
  });

  it('are returned as silent until they are dropped', () => {
    const held = new HeldPieces(9 * MEBIBYTE);
    held.hold(piece(0), 't', 0);
    expect([held.silent(19_999), held.silent(20_000).length]).toEqual([[], 1]);
    held.drop(held.silent(20_000).flat());
    expect([held.silent(20_000), held.bytes]).toEqual([[], 0]);
  });
});
