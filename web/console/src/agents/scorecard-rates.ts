/** The rates of a scorecard by one name each: a tag, or `criterion:` and its name, as alerts name them. */
import type { Scorecard } from '../api/types.ts';
import { words } from '../parts/format.ts';

/** Prefix of the rate of a criterion. */
export const CRITERION = 'criterion:';

type Sums = Pick<Scorecard['totals'], 'calls' | 'tags' | 'criteria'>;

/** A share of calls with its 95 % interval; null without a call. */
export interface Rate {
  readonly rate: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** Every rate that the calls have, with a label for people. */
export function rateNames({ tags, criteria }: Sums): { readonly name: string; readonly label: string }[] {
  const names = [...tags.map(({ tag }) => tag), ...criteria.map(({ name }) => CRITERION + name)];
  return names.map((name) => ({ name, label: labelOf(name) }));
}

/** The criterion that a rate counts the failures of; null if it is that of a tag. */
export function criterionOf(rate: string): string | null {
  return rate.startsWith(CRITERION) ? rate.slice(CRITERION.length) : null;
}

/** A rate for people. */
export function labelOf(rate: string): string {
  const criterion = criterionOf(rate);
  return criterion === null ? words(rate) : `${words(criterion)} failed`;
}

/** A rate of these calls; null if none of them tells. */
export function rateOf({ tags, criteria }: Sums, rate: string): Rate | null {
  const criterion = criterionOf(rate);
  const found =
    criterion === null
      ? tags.find(({ tag }) => tag === rate)
      : criteria.find(({ name }) => name === criterion);
  return found ?? null;
}
