import { beforeEach, describe, expect, it } from 'vitest';
import { giveWayDuringFloods } from '#processes/flood-priority.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

describe('the priority of signalling', () => {
  let clock: ManualClock;
  let unwanted: number;
  let priority: number | null;
  let stop: () => void;

  beforeEach(() => {
    clock = new ManualClock();
    unwanted = 0;
    priority = -7;
    stop = giveWayDuringFloods(clock, () => unwanted, {
      read: async () => priority,
      set: async (value) => {
        priority = value;
      },
    });
  });

  /** Lets seconds pass, each with as many unwanted messages. */
  async function seconds(count: number, messages: number): Promise<void> {
    for (let second = 0; second < count; second++) {
      unwanted += messages;
      await clock.advance(1_000);
    }
  }

  it('is that of other programs during a flood, and returns ten seconds after it', async () => {
    await seconds(2, 1_600);
    expect(priority).toBe(0);
    await seconds(9, 0);
    expect(priority).toBe(0);
    await seconds(1, 0);
    expect(priority).toBe(-7);
  });

  it('returns only once if the flood pauses', async () => {
    await seconds(1, 1_600);
    await seconds(5, 0);
    await seconds(1, 1_600);
    await seconds(9, 0);
    expect(priority).toBe(0);
    await seconds(1, 0);
    expect(priority).toBe(-7);
  });

  it('is kept while one peer sends some broken messages', async () => {
    await seconds(60, 20);
    expect(priority).toBe(-7);
  });

  it.each([null, 0, 5])('is left alone if it is %s: there is nothing to give up', async (usual) => {
    priority = usual;
    await seconds(1, 1_600);
    expect(priority).toBe(usual);
    await seconds(10, 0);
    expect(priority).toBe(usual);
  });

  it('leaves no timer after a stop', () => {
    stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
