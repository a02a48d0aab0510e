/** The settings that a learner may choose from: waits between two bounds, with each permitted eagerness. */
import type { TriedSettings } from '#protocol/tuning.ts';

/** From the most patient on: the order in which settings are tested. */
export const EAGERNESS = ['relaxed', 'balanced', 'eager'] as const;
export type Eagerness = (typeof EAGERNESS)[number];

/** The settings of an agent that a learner may change. */
export interface Setting {
  readonly eagerness: Eagerness;
  readonly response_wait_ms: number;
}

/** The bounds of a learner. */
export interface LearningRules {
  readonly wait_min_ms: number;
  readonly wait_max_ms: number;
  readonly eagerness: readonly Eagerness[];
  /** Callers cut off in a hundred turns, at most. */
  readonly cut_off_bound: number;
  /** Share of callers who get a setting before it is published. */
  readonly share: number;
}

/** Two neighbouring waits differ by this factor: a step is less than a tenth of the wait. */
const STEP = 1.08;
const ROUND_MS = 10;
/** An answer is heard at most this long after its turn is taken; until then the caller is not disturbed. */
const LONGEST_ANSWER_MS = 1_200;
/** As `CUT_OFF_WITHIN_MS` of the runtime: a caller who goes on within it is cut off. */
const WINDOW_MS = 1_500;
/** A wait must be longer by this factor to show anything. */
const LEAST_LONGER = 1.3;

/** All candidates, for each eagerness the longest wait first. */
export function candidatesOf({ wait_min_ms: min, wait_max_ms: max, eagerness }: LearningRules): Setting[] {
  const steps = Math.max(0, Math.ceil(Math.log(max / min) / Math.log(STEP) - 1e-9));
  const waits = Array.from({ length: steps + 1 }, (_, index) =>
    Math.max(min, Math.round(max / STEP ** index / ROUND_MS) * ROUND_MS),
  );
  return EAGERNESS.filter((one) => eagerness.includes(one)).flatMap((one) =>
    [...new Set(waits)].map((response_wait_ms) => ({ eagerness: one, response_wait_ms })),
  );
}

/**
 * The candidates whose outcome the calls of a setting can show: their waits are so much shorter that the
 * caller was still seen when they would have answered.
 */
export function shownBy(rules: LearningRules, { response_wait_ms: waitMs }: Setting): TriedSettings[] {
  const longest = waitMs + LONGEST_ANSWER_MS - WINDOW_MS;
  return candidatesOf(rules).filter(({ response_wait_ms: shorter }) => shorter <= longest);
}

/**
 * A more patient setting within the rules, whose calls show the outcome of this one and of less patient ones;
 * null if none is much more patient.
 */
export function morePatient(rules: LearningRules, { eagerness, ...setting }: Setting): Setting | null {
  const waitMs = Math.max(
    rules.wait_min_ms,
    Math.min(rules.wait_max_ms, setting.response_wait_ms + WINDOW_MS),
  );
  const most = EAGERNESS.find((one) => rules.eagerness.includes(one)) ?? eagerness;
  const isLonger = waitMs >= setting.response_wait_ms * LEAST_LONGER;
  const isCalmer = EAGERNESS.indexOf(most) < EAGERNESS.indexOf(eagerness);
  return isLonger || (isCalmer && waitMs >= setting.response_wait_ms)
    ? { eagerness: most, response_wait_ms: waitMs }
    : null;
}

/** True if these rules let callers have a setting. */
export function isPermitted(rules: LearningRules, { eagerness, response_wait_ms: waitMs }: Setting): boolean {
  return rules.eagerness.includes(eagerness) && waitMs >= rules.wait_min_ms && waitMs <= rules.wait_max_ms;
}

/** True if a setting answers no earlier than another, whatever the caller says. */
export function isAsPatient(one: Setting, other: Setting): boolean {
  const isCalm = EAGERNESS.indexOf(one.eagerness) <= EAGERNESS.indexOf(other.eagerness);
  return isCalm && one.response_wait_ms >= other.response_wait_ms;
}

/** True if both are the same. */
export function isSameSetting(one: Setting, other: Setting): boolean {
  return one.eagerness === other.eagerness && one.response_wait_ms === other.response_wait_ms;
}

/** A setting for people. */
export function describe({ eagerness, response_wait_ms: waitMs }: Setting): string {
  return `${waitMs} ms, ${eagerness}`;
}
