import { describe, expect, it } from 'vitest';
import { processorWaitMs, Standstill } from '../standstill.ts';

describe('standstill', () => {
  it('counts the time without a sign of life', () => {
    const standstill = new Standstill(0);
    expect(standstill.look(500, 0)).toBe(500);
    expect(standstill.look(2_000, 0)).toBe(2_000);
    standstill.alive(2_100);
    expect(standstill.look(2_500, 0)).toBe(400);
  });

  it('does not count the time in which the machine did not let it run', () => {
    const standstill = new Standstill(0);
    standstill.look(500, 10_000);
    expect(standstill.look(2_500, 11_900)).toBe(600);
    // Waits older than the last sign of life excuse nothing.
    standstill.alive(4_400);
    expect(standstill.look(4_500, 13_800)).toBe(0);
    expect(standstill.look(6_500, 13_800)).toBe(2_000);
  });

  it('counts nothing of a round in which whoever looks was late', () => {
    const standstill = new Standstill(0);
    standstill.look(500, 0);
    standstill.skip(30_000);
    expect(standstill.look(30_500, 0)).toBe(1_000);
  });

  it('counts everything where the system does not tell', () => {
    const standstill = new Standstill(0);
    standstill.look(500, null);
    expect(standstill.look(2_500, null)).toBe(2_500);
  });

  it('the system tells for a process that runs, and nothing for one that is gone', async () => {
    if (process.platform === 'linux') expect(await processorWaitMs(process.pid)).toBeGreaterThanOrEqual(0);
    expect(await processorWaitMs(2 ** 30)).toBeNull();
  });
});
