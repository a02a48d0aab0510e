/** The score of a call, and the sums over scored calls. Pure. */
import { CALL_TAGS, type CallTagName, CRITERION_PREFIX } from '#config/scorecard.ts';
import type {
  CriterionResult,
  CriterionSums,
  HourSums,
} from '../../platform/store/models/scorecard-model.ts';

/** The tags of a call, and how its criteria were judged. */
export interface CallScore {
  readonly tags: readonly CallTagName[];
  readonly criteria: readonly { readonly name: string; readonly result: CriterionResult }[];
}

/** The sums without a call. */
export type Sums = Omit<HourSums, 'hour'>;
export const NO_CALLS: Sums = { calls: 0, tags: [], criteria: [] };

/** The sums with one more call. */
export function withScore(sums: Sums, { tags, criteria }: CallScore): Sums {
  return addSums(sums, {
    calls: 1,
    tags: tags.map((tag) => ({ tag, calls: 1 })),
    criteria: criteria.map(({ name, result }) => ({
      ...{ name, success: 0, failure: 0, unknown: 0 },
      [result]: 1,
    })),
  });
}

/** Adds two sums; tags in their fixed order, criteria by name. */
export function addSums(a: Sums, b: Sums): Sums {
  const tags = new Map<string, number>();
  for (const { tag, calls } of [...a.tags, ...b.tags]) tags.set(tag, (tags.get(tag) ?? 0) + calls);
  const criteria = new Map<string, CriterionSums>();
  for (const one of [...a.criteria, ...b.criteria]) {
    const before = criteria.get(one.name);
    criteria.set(one.name, {
      name: one.name,
      success: (before?.success ?? 0) + one.success,
      failure: (before?.failure ?? 0) + one.failure,
      unknown: (before?.unknown ?? 0) + one.unknown,
    });
  }
  return {
    calls: a.calls + b.calls,
    tags: CALL_TAGS.flatMap((tag) => ({ tag, calls: tags.get(tag) ?? 0 })).filter(({ calls }) => calls > 0),
    criteria: [...criteria.values()].sort((x, y) => (x.name < y.name ? -1 : 1)),
  };
}

/** Of these calls, how many show a rate as alerts name it, and how many of them count for it. */
export function rateIn({ calls, tags, criteria }: Sums, rate: string): { hits: number; calls: number } {
  if (!rate.startsWith(CRITERION_PREFIX))
    return { hits: tags.find(({ tag }) => tag === rate)?.calls ?? 0, calls };
  const found = criteria.find(({ name }) => CRITERION_PREFIX + name === rate);
  return { hits: found?.failure ?? 0, calls: found ? found.success + found.failure : 0 };
}

/** The label by which calls are listed: a tag or a judged criterion, of one version or of any. */
export function labelOf(
  of: { readonly tag: string } | { readonly criterion: string; readonly result: CriterionResult },
  version: number | null,
): string {
  const name = 'tag' in of ? of.tag : `criterion:${of.criterion}:${of.result}`;
  return version === null ? name : `${name}@${version}`;
}

/** Every label of a call. */
export function labelsOf({ tags, criteria }: CallScore, version: number): string[] {
  const found = [
    ...tags.map((tag) => ({ tag })),
    ...criteria.map(({ name, result }) => ({ criterion: name, result })),
  ];
  return found.flatMap((one) => [labelOf(one, null), labelOf(one, version)]);
}
