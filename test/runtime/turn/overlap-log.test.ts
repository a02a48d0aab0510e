import { describe, expect, it } from 'vitest';
import { OverlapLog } from '#runtime/turn/loop/overlap-log.ts';
import type { Effect } from '#runtime/turn/machine/turn-effects.ts';
import type { TurnInput } from '#runtime/turn/machine/turn-inputs.ts';

type Step = readonly [TurnInput, ...Effect[]];

const voice = (speechStartMs: number): TurnInput => ({
  type: 'voice.started',
  speechStartMs,
  atMs: speechStartMs,
});
const quiet = (speechEndMs: number): TurnInput => ({
  type: 'voice.stopped',
  speechEndMs,
  voicedMs: 100,
  atMs: speechEndMs,
});
const speaks = (wireMs: number): TurnInput => ({
  type: 'playout.started',
  replyId: 'r1',
  wireMs,
  atMs: wireMs,
});
const ends = (atMs: number): TurnInput => ({
  type: 'playout.finished',
  replyId: 'r1',
  heard: 'Hello.',
  atMs,
});

function noted(...steps: (TurnInput | Step)[]) {
  const log = new OverlapLog();
  return steps.flatMap((step) => {
    const [input, ...effects] = Array.isArray(step) ? (step as Step) : [step as TurnInput];
    return log.observe(input, effects) ?? [];
  });
}

describe('a time in which both speak', () => {
  it('begins with the second voice and ends with the first that stops', () => {
    expect(noted(speaks(1_000), voice(3_000), ends(5_000), quiet(6_000))).toEqual([
      { fromMs: 3_000, untilMs: 5_000, begunBy: 'caller' },
    ]);
    expect(noted(voice(1_000), speaks(2_000), quiet(4_500), ends(9_000))).toEqual([
      { fromMs: 2_000, untilMs: 4_500, begunBy: 'agent' },
    ]);
  });

  it('is not noted if it is shorter than half a second', () => {
    expect(noted(speaks(1_000), voice(3_000), quiet(3_499), ends(5_000))).toEqual([]);
  });

  it('ends when the agent is paused, and goes on when it resumes', () => {
    const pausing: Step = [{ type: 'timer.fired', timer: 'idle', atMs: 3_800 } as never, { do: 'pause' }];
    const resuming: Step = [{ type: 'timer.fired', timer: 'idle', atMs: 4_000 } as never, { do: 'resume' }];
    expect(noted(speaks(1_000), voice(3_000), pausing, quiet(9_000))).toEqual([
      { fromMs: 3_000, untilMs: 3_800, begunBy: 'caller' },
    ]);
    expect(noted(speaks(1_000), voice(3_900), pausing, resuming, ends(6_000))).toEqual([
      { fromMs: 4_000, untilMs: 6_000, begunBy: 'agent' },
    ]);
  });

  it('ends when the caller’s leg is lost while they speak: their voice has no other end', () => {
    const lost: TurnInput = { type: 'leg.lost', atMs: 2_000 };
    expect(noted(voice(1_000), lost, speaks(3_000), ends(9_000))).toEqual([]);
    expect(noted(speaks(500), voice(1_000), lost, ends(9_000))).toEqual([
      { fromMs: 1_000, untilMs: 2_000, begunBy: 'caller' },
    ]);
  });

  it('is noted a hundred times in a call at most', () => {
    const many = Array.from({ length: 300 }, (_, index) => [
      voice(index * 1_000),
      quiet(index * 1_000 + 600),
    ]);
    expect(noted(speaks(0), ...many.flat())).toHaveLength(100);
  });
});
