import { describe, expect, it } from 'vitest';
import {
  candidatesOf,
  type LearningRules,
  type Setting,
  shownBy,
} from '#control-plane/operations/learning/candidates.ts';
import { type LearningFacts, nextStep, type Trial } from '#control-plane/operations/learning/next-step.ts';
import type { TurnsUnder } from '#protocol/regret.ts';
import { addMeasured, NO_REGRET, type RegretSums } from '#protocol/regret-tally.ts';

const RULES: LearningRules = {
  ...{ wait_min_ms: 300, wait_max_ms: 2_000, cut_off_bound: 5, share: 0.05 },
  eagerness: ['balanced'],
};
const PATIENT: Setting = { eagerness: 'balanced', response_wait_ms: 2_000 };
const DEFAULT: Setting = { eagerness: 'balanced', response_wait_ms: 550 };

/** Turns of a call: so many cut off, unknown, and a wait in the others. */
function turns(cutOffs: number, unknown: number, waitMs: number): TurnsUnder {
  const ended = 10 - cutOffs - unknown;
  return {
    ...{ turns: 10, cut_offs: cutOffs, unknown },
    ...{ wait_ms: (ended + unknown) * waitMs, known_wait_ms: ended * waitMs },
  };
}

/**
 * Calls of ten turns that ran a setting; every so many calls a candidate cuts off a caller in one of them.
 */
function calls(
  count: number,
  setting: Setting,
  {
    everyCalls = () => 1_000,
    ownEvery = 1_000,
    unknown = 0,
    unknownEvery = 1,
  }: {
    readonly everyCalls?: (waitMs: number) => number;
    readonly ownEvery?: number;
    readonly unknown?: number;
    readonly unknownEvery?: number;
  } = {},
): RegretSums {
  const candidates = shownBy(RULES, setting);
  let sums = NO_REGRET;
  for (let call = 1; call <= count; call += 1) {
    const cutOff = (every: number) => (call % every === 0 ? 1 : 0);
    sums = addMeasured(
      sums,
      {
        ...{ outcome: 'measured', session_id: '', pauses: 10, judged: 10 },
        own: turns(cutOff(ownEvery), 0, setting.response_wait_ms),
        candidates: candidates.map(({ response_wait_ms: waitMs = 0 }) =>
          turns(cutOff(everyCalls(waitMs)), unknown * cutOff(unknownEvery), waitMs),
        ),
      },
      candidates,
    );
  }
  return sums;
}

const facts = (over: Partial<LearningFacts>): LearningFacts => ({
  ...{ rules: RULES, published: PATIENT, evidence: [], recent: [], trial: null, refused: [] },
  ...over,
});
const trial = (over: Partial<Trial>): Trial => ({
  ...{ purpose: 'try', setting: DEFAULT, isHarmful: false, sums: NO_REGRET },
  ...over,
});

describe('the next step of a learner', () => {
  it('tries the shortest wait that logged calls show to keep the bound', () => {
    // From 800 ms down a caller is cut off in every call: one turn of ten.
    const sums = calls(200, PATIENT, { everyCalls: (waitMs) => (waitMs < 800 ? 1 : 1_000) });
    const step = nextStep(facts({ evidence: [{ setting: PATIENT, sums }] }));
    expect(step).toMatchObject({ do: 'share', purpose: 'try' });
    const least = Math.min(
      ...candidatesOf(RULES)
        .map((one) => one.response_wait_ms)
        .filter((ms) => ms >= 800),
    );
    expect(step.do === 'share' && step.setting.response_wait_ms).toBe(least);
  });

  it('takes unknown turns for callers cut off', () => {
    // Of a hundred turns three are cut off, and as many more may be.
    const known = calls(400, PATIENT, { everyCalls: () => 3 });
    expect(nextStep(facts({ evidence: [{ setting: PATIENT, sums: known }] })).do).toBe('share');
    const sums = calls(400, PATIENT, { everyCalls: () => 3, unknown: 1, unknownEvery: 3 });
    expect(nextStep(facts({ evidence: [{ setting: PATIENT, sums }] })).do).toBe('wait');
  });

  it('does not try on little evidence', () => {
    const sums = calls(50, PATIENT);
    expect(nextStep(facts({ evidence: [{ setting: PATIENT, sums }] })).do).toBe('wait');
  });

  it('lets a share of callers have longer waits where the logs do not show shorter ones', () => {
    const evidence = [{ setting: DEFAULT, sums: calls(300, DEFAULT, { unknown: 9 }) }];
    expect(nextStep(facts({ published: DEFAULT, evidence }))).toMatchObject({
      ...{ do: 'share', purpose: 'look', setting: PATIENT },
    });
  });

  it('ends such a look once it has shown a setting that waits less', () => {
    const evidence = [
      { setting: DEFAULT, sums: calls(300, DEFAULT, { unknown: 9 }) },
      { setting: PATIENT, sums: calls(150, PATIENT) },
    ];
    const look = trial({ purpose: 'look', setting: PATIENT });
    expect(nextStep(facts({ published: DEFAULT, evidence, trial: look }))).toMatchObject({
      ...{ do: 'stop', isRefused: false },
    });
  });

  it('promotes a setting once enough calls of its share keep the bound', () => {
    const evidence = [{ setting: PATIENT, sums: calls(300, PATIENT) }];
    const early = trial({ sums: calls(40, DEFAULT) });
    expect(nextStep(facts({ evidence, trial: early })).do).toBe('wait');
    const late = trial({ sums: calls(80, DEFAULT) });
    expect(nextStep(facts({ evidence, trial: late })).do).toBe('promote');
  });

  it('rolls a setting back that certainly breaks the bound, and does not try it again', () => {
    const evidence = [{ setting: PATIENT, sums: calls(300, PATIENT) }];
    const broken = trial({ sums: calls(50, DEFAULT, { ownEvery: 1 }) });
    const step = nextStep(facts({ evidence, trial: broken }));
    expect(step).toMatchObject({ do: 'stop', isRefused: true });
    expect(step.why).toContain('more than the bound of 5');
  });

  it('rolls a setting back whose share was stopped on harm', () => {
    expect(nextStep(facts({ trial: trial({ isHarmful: true }) }))).toMatchObject({
      ...{ do: 'stop', isRefused: true },
    });
  });

  it('passes over a setting that was rolled back', () => {
    const evidence = [{ setting: PATIENT, sums: calls(200, PATIENT) }];
    const first = nextStep(facts({ evidence }));
    if (first.do !== 'share') throw new Error('it shares');
    const second = nextStep(facts({ evidence, refused: [first.setting] }));
    expect(second.do === 'share' && second.setting).not.toEqual(first.setting);
  });

  it('tries the most patient setting if the published one breaks the bound and none is shown to keep it', () => {
    const evidence = [{ setting: DEFAULT, sums: calls(60, DEFAULT, { ownEvery: 1, unknown: 9 }) }];
    const broken = { published: DEFAULT, evidence, recent: evidence };
    expect(nextStep(facts(broken))).toMatchObject({ do: 'share', purpose: 'try', setting: PATIENT });
    const first = trial({ setting: PATIENT });
    expect(nextStep(facts({ ...broken, trial: first })).do).toBe('promote');
  });

  it('does not publish a setting that is less patient than the published one to mend a broken bound', () => {
    const rules: LearningRules = { ...RULES, wait_max_ms: 400 };
    const evidence = [{ setting: DEFAULT, sums: calls(60, DEFAULT, { ownEvery: 1, unknown: 9 }) }];
    const broken = { rules, published: DEFAULT, evidence, recent: evidence };
    expect(nextStep(facts(broken)).do).toBe('wait');
    const less = trial({ setting: { eagerness: 'balanced', response_wait_ms: 400 } });
    expect(nextStep(facts({ ...broken, trial: less })).do).not.toBe('promote');
  });

  it('looks at no wait below the bounds', () => {
    const rules: LearningRules = { ...RULES, wait_min_ms: 1_900 };
    const published: Setting = { eagerness: 'balanced', response_wait_ms: 300 };
    const step = nextStep(facts({ rules, published }));
    expect(step.do === 'share' && step.setting.response_wait_ms).toBe(1_900);
  });

  it('ends a share outside of the bounds, however well it does', () => {
    const rules: LearningRules = { ...RULES, wait_min_ms: 800 };
    const late = trial({ sums: calls(80, DEFAULT) });
    const evidence = [{ setting: PATIENT, sums: calls(300, PATIENT) }];
    expect(nextStep(facts({ rules, evidence, trial: late }))).toMatchObject({ do: 'stop', isRefused: false });
  });
});
