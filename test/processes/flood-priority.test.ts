import { beforeEach, describe, expect, it } from 'vitest';
import { giveWayDuringFloods } from '#processes/flood-priority.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

describe('the priority of signalling', () => {
  let clock: ManualClock;
  let unwanted: number;
  let priority: number | null;
  let mayChange: boolean;
  let stop: () => void;

  beforeEach(() => {
    clock = new ManualClock();
    unwanted = 0;
    priority = -2;
    mayChange = true;
    stop = giveWayDuringFloods(clock, () => unwanted, {
      usual: -2,
      read: async () => priority,
      set: async (value) => {
        if (mayChange) priority = value;
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

  it('is below that of other programs during a flood, and returns ten seconds after it', async () => {
    await seconds(2, 1_600);
    expect(priority).toBe(5);
    await seconds(9, 0);
    expect(priority).toBe(5);
    await seconds(1, 0);
    expect(priority).toBe(-2);
  });

  it('stays low while a flood only pauses', async () => {
    await seconds(1, 1_600);
    await seconds(5, 0);
    await seconds(1, 1_600);
    await seconds(9, 0);
    expect(priority).toBe(5);
  });

  it.each([
    [99, -2],
    [100, 5],
  ])('with %i unwanted messages a second is %i', async (messages, expected) => {
    await seconds(60, messages);
    expect(priority).toBe(expected);
  });

  it('returns later if the system refuses the first attempt', async () => {
    await seconds(1, 1_600);
    mayChange = false;
    await seconds(10, 0);
    expect(priority).toBe(5);
    mayChange = true;
    await seconds(1, 0);
    expect(priority).toBe(-2);
  });

  it.each([null, 0, -20])('is left alone if it is not that of signalling but %s', async (other) => {
    priority = other;
    await seconds(1, 1_600);
    await seconds(20, 0);
    expect(priority).toBe(other);
  });

  it('is not looked at after a stop', () => {
    stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
