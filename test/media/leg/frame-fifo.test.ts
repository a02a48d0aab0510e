import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FrameKind } from '#media/dsp/frame.ts';
import { FrameFifo } from '#media/leg/frame-fifo.ts';

const FRAME = 320;
const BLOCK = 160;
const LOUD = 1000;

/** Period in which the thread did not run, ms. */
interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Slot {
  readonly dueMs: number;
  readonly kind: FrameKind;
  /** Blocks of the signal played in this slot. */
  readonly blocks: readonly number[];
  /** Time since the last of these blocks was complete. */
  readonly delayMs: number | null;
}

/**
 * A source completes a block every 10 ms and a slot is due every 20 ms; the thread stalls now and then, and
 * reads all pending blocks before it serves slots. `isLoud` marks the blocks with speech; each block is
 * identified by its level.
 */
function run(
  lengthMs: number,
  stalls: readonly Stall[],
  isLoud: (block: number) => boolean = () => true,
): Slot[] {
  const fifo = new FrameFifo(FRAME);
  const servedMs = (dueMs: number) =>
    stalls.find(({ fromMs, toMs }) => dueMs >= fromMs && dueMs < toMs)?.toMs ?? dueMs;
  const work = [
    ...Array.from({ length: lengthMs / 10 }, (_, block) => ({ block, dueMs: block * 10 + 10, order: 0 })),
    ...Array.from({ length: lengthMs / 20 }, (_, slot) => ({ block: null, dueMs: slot * 20 + 7, order: 1 })),
  ].sort((a, b) => servedMs(a.dueMs) - servedMs(b.dueMs) || a.order - b.order || a.dueMs - b.dueMs);
  const out = new Int16Array(FRAME);
  const slots: Slot[] = [];
  for (const { block, dueMs } of work) {
    if (block !== null) {
      fifo.push(new Int16Array(BLOCK).fill(isLoud(block) ? LOUD + block : 1));
      continue;
    }
    const nowMs = servedMs(dueMs);
    const kind = fifo.pull(out, nowMs - dueMs);
    const blocks = [0, BLOCK].map((at) => (out[at] ?? 0) - LOUD).filter((played) => played >= 0);
    const last = blocks.at(-1);
    slots.push({ dueMs, kind, blocks, delayMs: last === undefined ? null : nowMs - (last * 10 + 10) });
  }
  return slots;
}

const played = (slots: readonly Slot[]) => slots.flatMap(({ blocks }) => blocks);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('the queue between a source of blocks and the slots of a leg', () => {
  it('plays a steady source completely and in order, at most a frame and a half late', () => {
    const slots = run(2_000, []);
    expect(played(slots)).toEqual(upTo(played(slots).length));
    expect(Math.max(...slots.map(({ delayMs }) => delayMs ?? 0))).toBeLessThanOrEqual(30);
    expect(slots.slice(3).every(({ kind }) => kind === 'audio')).toBe(true);
  });

  it('loses nothing that arrives in a burst after a stall, and leaves no gap', () => {
    const slots = run(2_000, [{ fromMs: 500, toMs: 900 }]);
    expect(played(slots)).toEqual(upTo(played(slots).length));
    expect(slots.slice(3).every(({ kind }) => kind === 'audio')).toBe(true);
    expect(slots.findLast(({ delayMs }) => delayMs !== null)?.delayMs).toBeLessThanOrEqual(30);
  });

  it('plays every word once and in order, whenever the thread stalls for up to 800 ms', () => {
    const pauses = fc.array(
      fc.record({ runMs: fc.integer({ min: 1, max: 400 }), standMs: fc.integer({ min: 1, max: 800 }) }),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(pauses, (list) => {
        const stalls: Stall[] = [];
        for (const { runMs, standMs } of list) {
          const fromMs = (stalls.at(-1)?.toMs ?? 0) + runMs;
          stalls.push({ fromMs, toMs: fromMs + standMs });
        }
        const all = played(run(26_000, stalls));
        expect(all).toEqual(upTo(all.length));
        expect(all.length).toBeGreaterThan(2_580);
      }),
    );
  });

  it('buffers more after an underrun, to prevent the same underrun from recurring', () => {
    const fifo = new FrameFifo(FRAME);
    const out = new Int16Array(FRAME);
    const gaps: number[] = [];
    // Four frames arrive together every four slots, one slot later than the queue started with.
    for (let slot = 0; slot < 200; slot++) {
      if (slot % 4 === 3) for (let block = 0; block < 8; block++) fifo.push(new Int16Array(BLOCK).fill(LOUD));
      if (fifo.pull(out) === 'absent') gaps.push(slot);
      if (slot % 50 === 49) fifo.push(new Int16Array(BLOCK).fill(LOUD));
    }
    expect(gaps.filter((slot) => slot >= 20)).toEqual([]);
  });

  it('drops excess audio in a pause', () => {
    const fifo = new FrameFifo(FRAME);
    const out = new Int16Array(FRAME);
    const speak = (frames: number, level: number) => {
      for (let frame = 0; frame < frames; frame++)
        for (let half = 0; half < 2; half++) fifo.push(new Int16Array(BLOCK).fill(level));
    };
    // Half a second of excess audio, then a second of speech: all of the speech is played.
    speak(26, LOUD);
    const levels: (number | undefined)[] = [];
    for (let slot = 0; slot < 100; slot++) {
      speak(1, slot < 50 ? LOUD + slot : 1);
      fifo.pull(out);
      levels.push(out[0]);
    }
    for (let slot = 0; slot < 50; slot++) {
      if (slot === 20) speak(1, 2 * LOUD);
      else speak(1, 1);
      fifo.pull(out);
      if (out[0] === 2 * LOUD) expect(slot - 20).toBeLessThanOrEqual(3);
      levels.push(out[0]);
    }
    expect(levels).toContain(2 * LOUD);
    expect(levels).toContain(LOUD + 49);
  });

  it('reduces the delay even in noise without pauses, by at most one frame per half second', () => {
    const fifo = new FrameFifo(FRAME);
    const out = new Int16Array(FRAME);
    const frame = (n: number) => fifo.push(new Int16Array(FRAME).fill(LOUD + n));
    for (let n = 0; n < 26; n++) frame(n);
    const numbers: number[] = [];
    for (let slot = 0; slot < 1_000; slot++) {
      frame(26 + slot);
      fifo.pull(out);
      numbers.push((out[0] ?? 0) - LOUD);
    }
    const skips = numbers.flatMap((number, slot) =>
      slot > 0 && number !== (numbers[slot - 1] ?? 0) + 1 ? [slot] : [],
    );
    expect(skips.length).toBeGreaterThanOrEqual(15);
    expect(
      Math.min(...skips.slice(1).map((slot, index) => slot - (skips[index] ?? 0))),
    ).toBeGreaterThanOrEqual(25);
    // A tenth of a second remains.
    expect(1_025 - (numbers.at(-1) ?? 0)).toBeLessThanOrEqual(8);
  });

  it('waits for a small reserve, returns every sample in order, and silence when empty', () => {
    const fifo = new FrameFifo(FRAME);
    const out = new Int16Array(FRAME);
    fifo.push(new Int16Array(BLOCK).fill(1));
    fifo.push(new Int16Array(BLOCK).fill(2));
    expect(fifo.pull(out)).toBe('absent');
    fifo.push(new Int16Array(BLOCK).fill(3));
    expect(fifo.pull(out)).toBe('audio');
    expect([out[0], out[BLOCK]]).toEqual([1, 2]);
    expect(fifo.pull(out)).toBe('absent');
    expect(out.every((sample) => sample === 0)).toBe(true);
  });

  it('reports digital silence as silent', () => {
    const fifo = new FrameFifo(FRAME);
    for (let n = 0; n < 4; n++) fifo.push(new Int16Array(BLOCK));
    expect(fifo.pull(new Int16Array(FRAME))).toBe('silent');
  });

  it('holds at most one second', () => {
    const fifo = new FrameFifo(FRAME);
    const out = new Int16Array(FRAME);
    for (let n = 0; n < 80; n++) fifo.push(new Int16Array(FRAME).fill(LOUD + n));
    fifo.pull(out);
    expect((out[0] ?? 0) - LOUD).toBeGreaterThanOrEqual(30);
  });
});
