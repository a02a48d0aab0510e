import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Playout, type PlayoutEvent, type PlayoutPiece } from '#media/leg/playout.ts';

const FRAME = 160;

/** A playout at 8 kHz with its events and all frames it sent. */
function open() {
  const events: PlayoutEvent[] = [];
  const playout = new Playout(8000, (event) => events.push(event));
  const sent: number[] = [];
  let slot = 0;
  const frames = (count: number) => {
    for (let n = 0; n < count; n++) {
      const out = new Int16Array(FRAME).fill(99);
      const filled = playout.next(out, slot++ * 20);
      sent.push(...out);
      expect(out.subarray(filled).every((sample) => sample === 0)).toBe(true);
    }
  };
  return {
    playout,
    events,
    sent,
    frames,
    nowMs: () => slot * 20,
    types: () => events.map((event) => event.type.slice('playout.'.length)),
  };
}

/** A piece whose sample n is `from + n`, which makes every sample identifiable. */
function piece(
  pieceId: number,
  length: number,
  options: { replyId?: string; from?: number; marks?: number[]; last?: boolean } = {},
): PlayoutPiece {
  const samples = Int16Array.from({ length }, (_, n) => (options.from ?? 1) + n);
  return {
    replyId: options.replyId ?? 'a',
    pieceId,
    samples,
    marks: Int32Array.from(options.marks ?? []),
    last: options.last ?? false,
  };
}

describe('playout', () => {
  it('plays pieces seamlessly and reports start, marks and end at their samples', () => {
    const { playout, events, sent, frames } = open();
    playout.play(piece(1, 200, { from: 1, marks: [0, 80, 200] }));
    playout.play(piece(2, 120, { from: 201, marks: [40], last: true }));
    frames(3);
    expect(sent.slice(0, 320)).toEqual(Array.from({ length: 320 }, (_, n) => n + 1));
    expect(events).toEqual([
      { type: 'playout.started', atMs: 0, replyId: 'a' },
      { type: 'playout.mark', atMs: 0, replyId: 'a', pieceId: 1, mark: 0 },
      { type: 'playout.mark', atMs: 10, replyId: 'a', pieceId: 1, mark: 1 },
      { type: 'playout.mark', atMs: 25, replyId: 'a', pieceId: 1, mark: 2 },
      { type: 'playout.mark', atMs: 30, replyId: 'a', pieceId: 2, mark: 0 },
      { type: 'playout.finished', atMs: 40, replyId: 'a' },
    ]);
  });

  it('reports starvation once, and resumes by itself', () => {
    const { playout, frames, types } = open();
    playout.play(piece(1, 100));
    frames(4);
    playout.play(piece(2, 200, { last: true }));
    frames(3);
    expect(types()).toEqual(['started', 'starved', 'finished']);
  });

  it('ends a reply on an empty last piece, dated at its last sample', () => {
    const { playout, events, frames } = open();
    playout.play(piece(1, 200));
    frames(4);
    playout.play(piece(2, 0, { last: true }));
    frames(1);
    expect(events.at(-1)).toEqual({ type: 'playout.finished', atMs: 25, replyId: 'a' });
  });

  it('stops at a sample, stays silent while paused, and resumes from that sample', () => {
    const { playout, events, sent, frames, nowMs } = open();
    playout.play(piece(7, 800, { last: true }));
    frames(2);
    playout.pause(nowMs());
    playout.pause(nowMs());
    frames(3);
    expect(events.filter((event) => event.type === 'playout.paused')).toEqual([
      { type: 'playout.paused', atMs: 40, position: { replyId: 'a', pieceId: 7, sample: 320 } },
    ]);
    expect(sent.slice(320).every((sample) => sample === 0)).toBe(true);
    playout.resume();
    frames(3);
    expect(sent[800]).toBe(321);
    expect(events.at(-1)).toMatchObject({ type: 'playout.finished', atMs: 160 });
  });

  it('holds audio queued while it is paused', () => {
    const { playout, sent, frames, nowMs } = open();
    playout.pause(nowMs());
    playout.play(piece(1, 160, { last: true }));
    frames(2);
    expect(sent.every((sample) => sample === 0)).toBe(true);
    playout.resume();
    frames(1);
    expect(sent[320]).toBe(1);
  });

  it('drops everything on a clear, reports what was sent, and ends the pause', () => {
    const { playout, events, sent, frames, nowMs } = open();
    playout.play(piece(1, 100));
    playout.play(piece(2, 500, { from: 1000, last: true }));
    frames(1);
    playout.pause(nowMs());
    playout.clear(nowMs());
    frames(2);
    expect(events.at(-1)).toEqual({
      type: 'playout.cleared',
      atMs: 20,
      position: { replyId: 'a', pieceId: 2, sample: 60 },
    });
    expect(sent.slice(160).every((sample) => sample === 0)).toBe(true);
    playout.play(piece(3, 160, { replyId: 'b', last: true }));
    frames(1);
    expect(events.slice(-2)).toMatchObject([
      { type: 'playout.started', replyId: 'b' },
      { type: 'playout.finished', replyId: 'b' },
    ]);
  });

  it('answers a clear with null when there is nothing to drop', () => {
    const { playout, events, frames, nowMs } = open();
    playout.clear(nowMs());
    playout.play(piece(1, 160, { last: true }));
    frames(2);
    playout.clear(nowMs());
    expect(events.filter((event) => event.type === 'playout.cleared').map((event) => event.position)).toEqual(
      [null, null],
    );
  });

  it('plays two replies one after the other, each with its own start and end', () => {
    const { playout, events, frames } = open();
    playout.play(piece(1, 100, { last: true }));
    playout.play(piece(1, 100, { replyId: 'b', last: true }));
    frames(2);
    expect(events.map((event) => [event.type, event.atMs])).toEqual([
      ['playout.started', 0],
      ['playout.finished', 12.5],
      ['playout.started', 12.5],
      ['playout.finished', 25],
    ]);
  });

  it('sends every sample once, in order, and none after a clear, for any sequence of commands', () => {
    const command = fc.oneof(
      fc.record({ do: fc.constant('play' as const), length: fc.nat(700), last: fc.boolean() }),
      fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const, 'clear' as const) }),
      fc.record({ do: fc.constant('frames' as const), count: fc.integer({ min: 1, max: 5 }) }),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        const run = open();
        const model: Model = { owed: [], given: 0, isPaused: false };
        for (const [index, next] of commands.entries()) obey(run, model, { ...next, index });
        expect(run.events.every((event) => Number.isFinite(event.atMs))).toBe(true);
      }),
    );
  });
});

/** Expected output: samples are numbered over the whole run. */
interface Model {
  owed: number[];
  given: number;
  isPaused: boolean;
}

type Command = { readonly index: number } & (
  | { readonly do: 'play'; readonly length: number; readonly last: boolean }
  | { readonly do: 'pause' | 'resume' | 'clear' }
  | { readonly do: 'frames'; readonly count: number }
);

function obey(run: ReturnType<typeof open>, model: Model, command: Command): void {
  if (command.do === 'play') {
    const { index, length, last } = command;
    run.playout.play(piece(index, length, { replyId: 'r', from: model.given + 1, last, marks: [length] }));
    model.owed.push(...Array.from({ length }, (_, n) => model.given + 1 + n));
    model.given += length;
    return;
  }
  if (command.do === 'frames') {
    const before = run.sent.length;
    run.frames(command.count);
    const audible = run.sent.slice(before).filter((sample) => sample !== 0);
    expect(audible).toEqual(model.isPaused ? [] : model.owed.slice(0, command.count * FRAME));
    model.owed = model.owed.slice(audible.length);
    return;
  }
  run.playout[command.do](run.nowMs());
  if (command.do === 'clear') model.owed = [];
  model.isPaused = command.do === 'pause';
}
