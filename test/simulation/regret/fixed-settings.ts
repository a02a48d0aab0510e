/** What calls really do under fixed settings, and how a learner compares with the best of them. */
import { candidatesOf, isSameSetting, type Setting } from '#control-plane/operations/learning/candidates.ts';
import { type Learned, RULES } from './learn.ts';
import { callOf, type Population } from './regret-callers.ts';

/** True rates of a setting. */
export interface TrueRates {
  readonly setting: Setting;
  /** Callers cut off in a hundred turns. */
  readonly cutOffs: number;
  /** Needless wait in a turn, ms. */
  readonly waitMs: number;
  readonly turns: number;
}

/** Runs the first so many calls under one setting. */
export function ratesOf(population: Population, calls: number, setting: Setting, seed = 0): TrueRates {
  const sums = { turns: 0, cutOffs: 0, waitMs: 0 };
  for (let number = 1; number <= calls; number += 1) {
    const call = callOf(population, number, setting, seed);
    sums.turns += call.turns;
    sums.cutOffs += call.cutOffs;
    sums.waitMs += call.waitMs;
  }
  const { turns } = sums;
  return { setting, turns, cutOffs: (100 * sums.cutOffs) / turns, waitMs: sums.waitMs / turns };
}

/** The setting of least wait that keeps the bound; null if none does. */
export function bestOf(all: readonly TrueRates[], bound = RULES.cut_off_bound): TrueRates | null {
  const kept = all.filter(({ cutOffs }) => cutOffs <= bound);
  return kept.reduce<TrueRates | null>((best, one) => (!best || one.waitMs < best.waitMs ? one : best), null);
}

/** All settings that the learner may choose from. */
export function fixedSettings(): readonly Setting[] {
  return candidatesOf(RULES);
}

/** The highest rate of cut-offs over any stretch of so many calls, of a hundred turns. */
export function highestRate({ calls }: Learned, stretch: number): number {
  let highest = 0;
  const sums = { turns: 0, cutOffs: 0 };
  calls.forEach(({ turns, cutOffs }, index) => {
    sums.turns += turns;
    sums.cutOffs += cutOffs;
    const left = calls[index - stretch];
    if (left) {
      sums.turns -= left.turns;
      sums.cutOffs -= left.cutOffs;
    }
    if (index >= stretch - 1) highest = Math.max(highest, (100 * sums.cutOffs) / sums.turns);
  });
  return highest;
}

/** Finds the rates of a setting. */
export function ratesFor(all: readonly TrueRates[], setting: Setting): TrueRates | undefined {
  return all.find((one) => isSameSetting(one.setting, setting));
}
