/** The rates of a scorecard by one name each: a tag, or `criterion:` and its name, as alerts name them. */
import type { Scorecard } from '../api/types.ts';
import { words } from '../parts/format.ts';

type Sums = Pick<Scorecard['totals'], 'calls' | 'tags' | 'criteria'>;

/** A share of calls with its 95 % interval; null without a call. */
export interface Rate {
  readonly rate: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** Every rate that the calls have, with a label for people. */
export function rateNames({ tags, criteria }: Sums): { readonly name: string; readonly label: string }[] {
  return [
    ...tags.map(({ tag }) => ({ name: tag, label: words(tag) })),
    ...criteria.map(({ name }) => ({ name: `criterion:${name}`, label: `${words(name)} failed` })),
  ];
}

/** A rate of these calls; null if none of them tells. */
export function rateOf({ tags, criteria }: Sums, rate: string): Rate | null {
  return (
    tags.find(({ tag }) => tag === rate) ?? criteria.find(({ name }) => `criterion:${name}` === rate) ?? null
  );
}
