/** Lets the learner run on simulated calls, with the product’s measure, sums and decisions. */
import {
  isSameSetting,
  type LearningRules,
  type Setting,
  shownBy,
} from '#control-plane/operations/learning/candidates.ts';
import type { Evidence } from '#control-plane/operations/learning/judge-candidates.ts';
import { nextStep, type Purpose } from '#control-plane/operations/learning/next-step.ts';
import { addMeasured, addRegret, NO_REGRET, type RegretSums } from '#protocol/regret-tally.ts';
import { regretOfPart } from '#runtime/replay/regret/regret-of-call.ts';
import type { ReadFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { createRandom } from '../random.ts';
import { callOf, type Population, type RegretCall } from './regret-callers.ts';

/** Rules of every simulated learner. */
export const RULES: LearningRules = {
  wait_min_ms: 300,
  wait_max_ms: 1_800,
  eagerness: ['relaxed', 'balanced'],
  cut_off_bound: 6,
  share: 0.05,
};
/** A patient setting, as an operator would begin with. */
export const FIRST: Setting = { eagerness: 'balanced', response_wait_ms: 1_500 };
/** The learner looks at the calls after so many. */
const LOOK_EVERY = 50;
const CALLS_A_DAY = 400;
const DAYS = 28;
const RECENT_DAYS = 7;

/** The truth about one call. */
type Done = Omit<RegretCall, 'log'>;

/** The course of a learner. */
export interface Learned {
  readonly published: readonly { readonly setting: Setting; readonly fromCall: number }[];
  readonly history: readonly string[];
  readonly calls: readonly Done[];
}

interface Share {
  readonly purpose: Purpose;
  readonly setting: Setting;
  sums: RegretSums;
}

/** Runs a learner over so many calls, from the first on. */
export function learn(population: Population, calls: number, { rules = RULES, seed = 0 } = {}): Learned {
  const learner = new SimulatedLearner(rules, FIRST);
  const draw = createRandom(calls + seed);
  for (let call = 1; call <= calls; call += 1) {
    const share = draw.chance(rules.share) ? learner.share : null;
    const setting = share?.setting ?? learner.current;
    const { log, ...truth } = callOf(population, call, setting, seed);
    learner.take({ log, setting, share, call });
    learner.calls.push(truth);
    if (call % LOOK_EVERY === 0) learner.look(call);
  }
  const { published, history } = learner;
  return { published, history, calls: learner.calls };
}

/** The state that the product keeps in its store. */
class SimulatedLearner {
  readonly published: { readonly setting: Setting; readonly fromCall: number }[];
  readonly history: string[] = [];
  readonly calls: Done[] = [];
  share: Share | null = null;
  readonly #rules: LearningRules;
  readonly #days: Map<string, Evidence>[] = [];
  readonly #refused: Setting[] = [];

  constructor(rules: LearningRules, first: Setting) {
    this.#rules = rules;
    this.published = [{ setting: first, fromCall: 0 }];
  }

  get current(): Setting {
    return this.published.at(-1)?.setting ?? FIRST;
  }

  take(one: {
    readonly log: ReadFlightLog;
    readonly setting: Setting;
    readonly share: Share | null;
    readonly call: number;
  }): void {
    const candidates = shownBy(this.#rules, one.setting);
    const measured = { ...regretOfPart(one.log, candidates), outcome: 'measured', session_id: '' } as const;
    const day = Math.floor(one.call / CALLS_A_DAY);
    addTo(this.#days, day, one.setting, (sums) => addMeasured(sums, measured, candidates));
    if (one.share) one.share.sums = addMeasured(one.share.sums, measured);
  }

  /** Does the next step. */
  look(call: number): void {
    const trial = this.share && { ...this.share, isHarmful: false };
    const step = nextStep({
      rules: this.#rules,
      published: this.current,
      evidence: summed(this.#days, DAYS),
      recent: summed(this.#days, RECENT_DAYS),
      trial,
      refused: this.#refused,
    });
    if (step.do === 'wait') return;
    this.history.push(`${call}: ${step.do}: ${step.why}`);
    if (step.do === 'share') {
      this.share = { purpose: step.purpose, setting: step.setting, sums: NO_REGRET };
      return;
    }
    if (trial && step.do === 'promote') this.published.push({ setting: trial.setting, fromCall: call });
    if (trial && step.do === 'stop' && step.isRefused) this.#refused.push(trial.setting);
    this.share = null;
  }
}

function addTo(
  days: Map<string, Evidence>[],
  day: number,
  setting: Setting,
  add: (sums: RegretSums) => RegretSums,
): void {
  const today = days[day] ?? new Map<string, Evidence>();
  days[day] = today;
  const key = JSON.stringify(setting);
  today.set(key, { setting, sums: add(today.get(key)?.sums ?? NO_REGRET) });
}

function summed(days: readonly Map<string, Evidence>[], last: number): Evidence[] {
  const all: Evidence[] = [];
  for (const day of days.slice(-last))
    for (const { setting, sums } of day.values()) {
      const at = all.findIndex((one) => isSameSetting(one.setting, setting));
      const before = all[at];
      if (before) all[at] = { setting, sums: addRegret(before.sums, sums) };
      else all.push({ setting, sums });
    }
  return all;
}
