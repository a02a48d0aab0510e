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
import { createRandom } from '../random.ts';
import { callOf, type Population } from './regret-callers.ts';

/** Rules of every simulated learner. */
export const RULES: LearningRules = {
  wait_min_ms: 250,
  wait_max_ms: 2_000,
  eagerness: ['balanced', 'eager'],
  cut_off_bound: 6,
  share: 0.05,
};
/** A patient setting, as an operator would begin with. */
export const FIRST: Setting = { eagerness: 'balanced', response_wait_ms: 1_500 };
/** The learner looks at the calls after so many. */
const LOOK_EVERY = 50;
const CALLS_A_DAY = 250;
const DAYS = 28;

/** What one call really did. */
interface Done {
  readonly turns: number;
  readonly cutOffs: number;
  readonly waitMs: number;
}

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

/** Runs a learner over the calls of the seeds from 1 on. */
export function learn(population: Population, calls: number, rules = RULES, first = FIRST): Learned {
  const draw = createRandom(calls);
  const days: Map<string, Evidence>[] = [];
  const published = [{ setting: first, fromCall: 0 }];
  const [history, done, refused]: [string[], Done[], Setting[]] = [[], [], []];
  let share: Share | null = null;
  for (let call = 0; call < calls; call += 1) {
    const current = published.at(-1)?.setting ?? first;
    const isShared: boolean = draw.chance(rules.share) && share !== null;
    const setting: Setting = isShared && share ? share.setting : current;
    const { log, ...truth } = callOf(population, call + 1, setting);
    done.push(truth);
    const candidates = shownBy(rules, setting);
    const measured = { ...regretOfPart(log, candidates), outcome: 'measured', session_id: '' } as const;
    addTo(days, Math.floor(call / CALLS_A_DAY), setting, (sums) => addMeasured(sums, measured, candidates));
    if (isShared && share) share.sums = addMeasured(share.sums, measured);
    if ((call + 1) % LOOK_EVERY !== 0) continue;
    const trial = share && { ...share, isHarmful: false };
    const step = nextStep({ rules, published: current, evidence: summed(days), trial, refused });
    if (step.do === 'wait') continue;
    history.push(`${call + 1}: ${step.do}: ${step.why}`);
    if (step.do === 'share') share = { purpose: step.purpose, setting: step.setting, sums: NO_REGRET };
    else {
      if (step.do === 'promote' && share) published.push({ setting: share.setting, fromCall: call + 1 });
      else if (step.do === 'stop' && step.isRefused && share) refused.push(share.setting);
      share = null;
    }
  }
  return { published, history, calls: done };
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

function summed(days: readonly Map<string, Evidence>[]): Evidence[] {
  const all: Evidence[] = [];
  for (const day of days.slice(-DAYS))
    for (const { setting, sums } of day.values()) {
      const at = all.findIndex((one) => isSameSetting(one.setting, setting));
      const before = all[at];
      if (before) all[at] = { setting, sums: addRegret(before.sums, sums) };
      else all.push({ setting, sums });
    }
  return all;
}
