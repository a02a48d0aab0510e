import { describe, expect, it } from 'vitest';
import { readTimeUse, wasProcessorFree, wasThreadQuiet } from '#base/quiet.ts';

const at = (workMs: number, freeMs: number | null) => ({ workMs, freeMs });

/** A machine of processors with these idle times, of which a process may use some. */
const machine = (idleMs: readonly number[], usable: number) => ({
  cpus: () => idleMs.map((idle) => ({ times: { idle } })),
  availableParallelism: () => usable,
});

describe('a thread', () => {
  it.each([
    [50, true],
    [60, false],
  ])('that worked %i ms of a second was quiet: %s', (workMs, isQuiet) => {
    expect(wasThreadQuiet(at(7, null), at(7 + workMs, null), 1_000)).toBe(isQuiet);
  });
});

describe('a processor', () => {
  it.each([
    [1_000, 900, true],
    [1_000, 800, false],
    // A reading that came late says no more than one in time.
    [5_000, 900, false],
  ])('was free for most of %i ms if all together had nothing to do for %i ms: %s', (passedMs, freeMs, is) => {
    expect(wasProcessorFree(at(0, 7), at(0, 7 + freeMs), passedMs)).toBe(is);
  });

  it('may have been free or not if the system does not tell', () => {
    expect(wasProcessorFree(at(0, null), at(0, null), 1_000)).toBeNull();
  });
});

describe('the idle time of the processors', () => {
  it('is the sum of those of a machine that this process may use as a whole', () => {
    expect(readTimeUse(machine([100, 250], 2)).freeMs).toBe(350);
  });

  it.each([
    ['this process may use only some of them', machine([100, 250], 1)],
    ['the system does not name them', machine([], 2)],
  ])('says nothing if %s', (_, system) => {
    expect(readTimeUse(system).freeMs).toBeNull();
  });
});
