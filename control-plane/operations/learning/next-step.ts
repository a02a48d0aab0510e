/**
 * Chooses the next step of a learner (docs/regret.md#the-learner). Pure: rules, published setting and sums of
 * measured calls in, one step with its reason out. A setting is published only after logged calls have shown
 * that it keeps the bound, and a share of callers has had it.
 */
import { clusteredShare, ratio } from '#base/intervals.ts';
import type { RegretSums } from '#protocol/regret-tally.ts';
import {
  candidatesOf,
  describe,
  isAsPatient,
  isPermitted,
  isSameSetting,
  type LearningRules,
  morePatient,
  type Setting,
} from './candidates.ts';
import {
  type Certified,
  type Evidence,
  judgeCandidates,
  type Logged,
  Z_ONE_SIDED,
} from './judge-candidates.ts';

/**
 * `try`: to be published if it does what the logs have shown. `look`: to be seen only, because its longer
 * waits show what shorter ones would do.
 */
export type Purpose = 'try' | 'look';

/** A setting that a share of callers has. */
export interface Trial {
  readonly purpose: Purpose;
  readonly setting: Setting;
  /** The share was stopped, because its version does harm. */
  readonly isHarmful: boolean;
  /** Its measured calls. */
  readonly sums: RegretSums;
}

/** Everything that a step depends on. */
export interface LearningFacts extends Logged {
  readonly rules: LearningRules;
  readonly published: Setting;
  /** Null while no share is running. */
  readonly trial: Trial | null;
  /** Settings that were rolled back. */
  readonly refused: readonly Setting[];
}

/** One step; `why` is for people. */
export type Step =
  | { readonly do: 'wait'; readonly why: string }
  | { readonly do: 'share'; readonly purpose: Purpose; readonly setting: Setting; readonly why: string }
  | { readonly do: 'promote'; readonly why: string }
  /** Ends the share; `isRefused`: the setting is not tried again. */
  | { readonly do: 'stop'; readonly isRefused: boolean; readonly why: string };

/** A step must save this share of the wait. */
const LEAST_GAIN = 0.03;
/** Calls that a setting needs in its share: to be published, and to be given up if it is not convincing. */
const TRIAL_CALLS = 60;
const MOST_TRIAL_CALLS = 300;
/** With so many calls a share is stopped as soon as it certainly breaks the bound. */
const EARLIEST_CALLS = 30;
/** With so many turns, more of them would change little. */
const ENOUGH_TURNS = 8_000;

/** Chooses the next step. */
export function nextStep(facts: LearningFacts): Step {
  return facts.trial ? duringTrial(facts, facts.trial) : withoutTrial(facts);
}

function withoutTrial(facts: LearningFacts): Step {
  const { rules, published, refused } = facts;
  if (isBroken(facts)) return mend(facts);
  const { best, turns } = judgeCandidates(rules, facts, refused);
  const better = betterThanPublished(facts, best);
  if (better) return better;
  const look = morePatient(rules, published);
  const isOpen = look !== null && turnsOf(facts, look) < ENOUGH_TURNS;
  if (isOpen && !refused.some((one) => isSameSetting(one, look)))
    return {
      do: 'share',
      purpose: 'look',
      setting: look,
      why:
        `Calls with ${describe(published)} do not show what callers would have done under other waits: ` +
        `${describe(look)} does, for ${percent(rules.share)} of callers.`,
    };
  return { do: 'wait', why: settledWhy(turns) };
}

/** A step away from a published setting that breaks the bound; older calls are those of other callers. */
function mend(facts: LearningFacts): Step {
  const { rules, published, recent } = facts;
  const better = betterThanPublished(
    facts,
    judgeCandidates(rules, { evidence: recent, recent }, facts.refused).best,
  );
  if (better) return better;
  const longest = longestOf(rules);
  if (isSameSetting(longest, published) || !isAsPatient(longest, published))
    return { do: 'wait', why: 'The bound is broken, and the rules permit no more patient setting.' };
  return {
    do: 'share',
    purpose: 'try',
    setting: longest,
    why:
      `${describe(published)} cuts off more callers than the bound, and no setting is shown to keep it: ` +
      'the most patient one is next.',
  };
}

function settledWhy(turns: number): string {
  return turns >= ENOUGH_TURNS
    ? `${turns} turns show no setting that waits less within the bound.`
    : `More calls are needed: ${turns} turns show what other waits would have done.`;
}

function duringTrial(facts: LearningFacts, trial: Trial): Step {
  if (!isPermitted(facts.rules, trial.setting))
    return { do: 'stop', isRefused: false, why: `${describe(trial.setting)} is not within the bounds.` };
  if (trial.isHarmful)
    return {
      do: 'stop',
      isRefused: true,
      why: `The share of ${describe(trial.setting)} was stopped, because it does harm.`,
    };
  return trial.purpose === 'look' ? duringLook(facts, trial) : duringTry(facts, trial);
}

function duringLook(facts: LearningFacts, { setting }: Trial): Step {
  const { best } = judgeCandidates(facts.rules, facts, facts.refused);
  const turns = turnsOf(facts, setting);
  const better = betterThanPublished(facts, best);
  if (better || isBroken(facts))
    return {
      do: 'stop',
      isRefused: false,
      why: `Calls with ${describe(setting)} have shown enough for a step.`,
    };
  if (turns >= ENOUGH_TURNS)
    return {
      do: 'stop',
      isRefused: false,
      why: `Calls with ${describe(setting)} have shown enough: ${settledWhy(turns)}`,
    };
  return {
    do: 'wait',
    why: `Calls with ${describe(setting)} show what shorter waits would have done: ${turns} turns so far.`,
  };
}

function duringTry(facts: LearningFacts, { setting, sums }: Trial): Step {
  const { rules } = facts;
  const { calls, own } = sums;
  const { value, low } = clusteredShare(own.cutOffs, Z_ONE_SIDED);
  const rate = 100 * value;
  const isLongest = isSameSetting(setting, longestOf(rules)) && isAsPatient(setting, facts.published);
  if (isBroken(facts) && isLongest)
    return { do: 'promote', why: 'The bound is broken; longer waits cut off no more callers.' };
  const seen = `${rate.toFixed(1)} callers cut off in 100 turns of ${calls} calls with ${describe(setting)}`;
  if (calls >= EARLIEST_CALLS && 100 * (low ?? 0) > rules.cut_off_bound)
    return {
      do: 'stop',
      isRefused: true,
      why: `${seen}: certainly more than the bound of ${rules.cut_off_bound}.`,
    };
  if (calls < TRIAL_CALLS) return { do: 'wait', why: `${seen} so far; ${TRIAL_CALLS} calls are needed.` };
  if (rate <= rules.cut_off_bound) {
    const waits = waitsOf(facts, sums);
    if (!isBroken(facts) && waits && waits.share >= waits.published)
      return {
        do: 'stop',
        isRefused: true,
        why: `${seen}, but ${ms(waits.share)} of needless wait instead of ${ms(waits.published)}.`,
      };
    return { do: 'promote', why: `${seen}; the bound is ${rules.cut_off_bound}.` };
  }
  return calls < MOST_TRIAL_CALLS
    ? {
        do: 'wait',
        why: `${seen} so far, more than the bound of ${rules.cut_off_bound}: more calls must decide.`,
      }
    : { do: 'stop', isRefused: true, why: `${seen}: not within the bound of ${rules.cut_off_bound}.` };
}

/** The step to a certified setting that waits less, or that mends a broken bound. */
function betterThanPublished(facts: LearningFacts, best: Certified | null): Step | null {
  const { published, rules, evidence } = facts;
  if (!best || isSameSetting(best.setting, published)) return null;
  const own = evidenceOf(evidence, published);
  if (!own || own.own.wait.x === 0) return null;
  const waitMs = ratio(own.own.wait).value;
  if (best.waitMs > waitMs * (1 - LEAST_GAIN) && !isBroken(facts)) return null;
  return {
    do: 'share',
    purpose: 'try',
    setting: best.setting,
    why:
      `${best.turns} logged turns show ${best.cutOffs.toFixed(1)} callers cut off in 100 with ` +
      `${describe(best.setting)}, at most ${best.mostCutOffs.toFixed(1)} (bound ${rules.cut_off_bound}), ` +
      `and ${ms(best.waitMs)} of needless wait instead of ${ms(waitMs)}.`,
  };
}

/** Certainly more callers have been cut off of late than is permitted. */
function isBroken({ recent, published, rules }: LearningFacts): boolean {
  const own = evidenceOf(recent, published);
  if (!own || own.calls < EARLIEST_CALLS) return false;
  return 100 * (clusteredShare(own.own.cutOffs, Z_ONE_SIDED).low ?? 0) > rules.cut_off_bound;
}

function waitsOf(
  facts: LearningFacts,
  sums: RegretSums,
): { readonly share: number; readonly published: number } | null {
  const own = evidenceOf(facts.evidence, facts.published);
  if (!own || own.own.wait.x === 0 || sums.own.wait.x === 0) return null;
  return { share: ratio(sums.own.wait).value, published: ratio(own.own.wait).value };
}

/** Turns of the calls that ran a setting. */
function turnsOf({ evidence }: LearningFacts, setting: Setting): number {
  return evidenceOf(evidence, setting)?.own.wait.x ?? 0;
}

function evidenceOf(evidence: readonly Evidence[], setting: Setting): RegretSums | null {
  return evidence.find((one) => isSameSetting(one.setting, setting))?.sums ?? null;
}

function longestOf(rules: LearningRules): Setting {
  return candidatesOf(rules)[0] ?? { eagerness: 'balanced', response_wait_ms: rules.wait_max_ms };
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`;
}
