/** Bands that are learned from an agent's own calls: what they promise, and that they are used. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AlertRule } from '#config/scorecard.ts';
import {
  ERROR,
  isLearningDue,
  LEARNING_CALLS,
  learnBand,
  learnedLimit,
} from '#control-plane/operations/scorecard/learn-band.ts';
import { NO_CALLS, withScore } from '#control-plane/operations/scorecard/score-call.ts';
import { CALLS_PER_FALSE_ALARM } from '#control-plane/operations/scorecard/watch-rate.ts';
import { watchRates, withBand } from '#control-plane/operations/scorecard/watch-rates.ts';
import { createRandom } from '../../../simulation/random.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { ScoredAgent } from './scored-agent.ts';

const AT = new Date('2026-11-29T10:00:00.000Z');
const DAY_MS = 24 * 60 * 60_000;
const RULE: AlertRule = { rate: 'dead_air', above: 'learned' };

/** Probability of at most so many hits in so many calls, exactly. */
function binomialTail(hits: number, calls: number, rate: number): number {
  let term = calls * Math.log1p(-rate);
  let sum = Math.exp(term);
  for (let hit = 1; hit <= hits; hit++) {
    term += Math.log((calls - hit + 1) / hit) + Math.log(rate / (1 - rate));
    sum += Math.exp(term);
  }
  return sum;
}

const sumsOf = (calls: number, hits: number) =>
  Array.from({ length: calls }, (_, index) => index < hits).reduce(
    (sums, isHit) => withScore(sums, { tags: isHit ? ['dead_air'] : [], criteria: [] }),
    NO_CALLS,
  );

/** Which calls open alerts of a simulated agent, after calls that are learned from. */
function alertsOf(
  seed: number,
  learning: { rate: number; calls: number },
  after: { rate: number; calls: number },
) {
  const random = createRandom(seed);
  const hitsOf = (rate: number, calls: number) =>
    Array.from({ length: calls }, () => random.chance(rate)).filter(Boolean).length;
  const sums = sumsOf(learning.calls, hitsOf(learning.rate, learning.calls));
  const watching = { rules: [RULE], at: AT, newId: () => 'a' };
  const first = watchRates({ rates: [], closed: [] }, [], watching);
  let watched = {
    closed: [] as typeof first.closed,
    rates: first.rates.map((rate) => withBand(rate, learnBand(RULE, sums, AT))),
  };
  const opened: number[] = [];
  for (let call = 1; call <= after.calls; call++) {
    const score = { tags: random.chance(after.rate) ? (['dead_air'] as const) : [], criteria: [] };
    const next = watchRates(watched, [{ score, beganAt: AT }], watching);
    if (next.changed.some(({ closed_at }) => closed_at === null)) opened.push(call);
    watched = next;
  }
  return opened;
}

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('a learned limit', () => {
  it.each([
    [0, 200],
    [10, 200],
    [50, 1_000],
    [3, 5_000],
    [199, 200],
  ])('is one at which so few hits would be improbable: %i of %i', (hits, calls) => {
    const limit = learnedLimit('above', { hits, calls }) ?? 0;
    expect(limit).toBeGreaterThan(hits / calls);
    // For no hits the bound is the probability itself, but for rounding.
    expect(binomialTail(hits, calls, limit)).toBeLessThanOrEqual(ERROR * (1 + 1e-9));
    // The other side is its mirror image.
    const mirrored = learnedLimit('below', { hits: calls - hits, calls }) ?? 1;
    expect(mirrored).toBeCloseTo(1 - limit, 10);
  });

  it('is none where no rate is beyond what was seen', () => {
    expect(learnedLimit('above', { hits: 200, calls: 200 })).toBeNull();
    expect(learnedLimit('below', { hits: 0, calls: 200 })).toBeNull();
  });

  it('needs enough calls, which are counted again after an hour, and else after four weeks', () => {
    const [rate] = watchRates({ rates: [], closed: [] }, [], { rules: [RULE], at: AT, newId: String }).rates;
    const few = withBand(rate!, learnBand(RULE, sumsOf(LEARNING_CALLS - 1, 9), AT));
    expect(few.learned).toMatchObject({ calls: LEARNING_CALLS - 1, hits: 9, above: null });
    const enough = withBand(rate!, learnBand(RULE, sumsOf(LEARNING_CALLS, 9), AT));
    const isDue = (of: typeof few, afterMs: number) => isLearningDue(of, new Date(AT.getTime() + afterMs));
    expect([isDue(rate!, 0), isDue(few, 3_599_999), isDue(few, 3_600_000)]).toEqual([true, false, true]);
    expect([isDue(enough, 28 * DAY_MS - 1), isDue(enough, 28 * DAY_MS)]).toEqual([false, true]);
  });
});

describe('a limit that is set beside a learned one', () => {
  const rule: AlertRule = { rate: 'dead_air', above: 0.1, below: 'learned' };
  const score = { tags: ['dead_air'], criteria: [] } as const;
  const learnAgain = ({ rates }: Pick<ReturnType<typeof watchRates>, 'rates'>, sums = sumsOf(50, 5)) => ({
    rates: rates.map((rate) => withBand(rate, learnBand(rule, sums, AT))),
    closed: [],
  });
  const watching = { rules: [rule], at: AT, newId: () => 'a' };

  it('is watched on although the calls are looked at again after each', () => {
    let watched = watchRates({ rates: [], closed: [] }, [], watching);
    const opened = Array.from({ length: 30 }, () => {
      watched = watchRates(learnAgain(watched), [{ score, beganAt: AT }], watching);
      return watched.rates[0]?.open?.side ?? null;
    });
    expect(opened.filter((side) => side === 'above')).toHaveLength(1);
  });

  it('leaves evidence against the learned one as it is until that limit changes', () => {
    const evidence = (seen: { rates: ReturnType<typeof watchRates>['rates'] }) =>
      seen.rates.map(({ below }) => below.calls);
    const miss = { score: { tags: [], criteria: [] }, beganAt: AT };
    const first = learnAgain(watchRates({ rates: [], closed: [] }, [], watching), sumsOf(200, 100));
    const seen = watchRates(first, [miss, miss], watching);
    expect(evidence(seen)).toEqual([2]);
    expect(evidence(learnAgain(seen, sumsOf(200, 100)))).toEqual([2]);
    expect(evidence(learnAgain(seen, sumsOf(400, 100)))).toEqual([0]);
  });
});

describe('a limit whose rate is beyond it', () => {
  it('is not learned again while its alert is open, nor from the calls of the alert later', () => {
    const watching = (afterDays: number) => ({
      rules: [RULE],
      at: new Date(AT.getTime() + afterDays * DAY_MS),
      newId: () => 'a',
    });
    const calls = (tags: ['dead_air'] | []) =>
      Array.from({ length: 100 }, () => ({ score: { tags, criteria: [] }, beganAt: AT }));
    const [rate] = watchRates({ rates: [], closed: [] }, [], watching(0)).rates;
    const learned = { rates: [withBand(rate!, learnBand(RULE, sumsOf(200, 10), AT))], closed: [] };
    const opened = watchRates(learned, calls(['dead_air']), watching(20));
    expect(opened.rates.map((one) => isLearningDue(one, watching(40).at))).toEqual([false]);
    const closed = watchRates(opened, calls([]), watching(40));
    expect(closed.closed).toHaveLength(1);
    const isDue = (days: number) => closed.rates.map((one) => isLearningDue(one, watching(days).at));
    expect([isDue(67.9), isDue(68)]).toEqual([[false], [true]]);
  });
});

describe('an agent whose band is learned', () => {
  it.each([0.005, 0.05, 0.3])(
    'has no more alerts than stated while its rate stays %d',
    (rate) => {
      const [agents, calls] = [100, 5_000];
      const alerts = seeds(agents).flatMap((seed) =>
        alertsOf(seed, { rate, calls: LEARNING_CALLS }, { rate, calls }),
      );
      console.info(
        `learned from ${LEARNING_CALLS} calls at ${rate}: ${alerts.length} alerts in ${agents * calls}`,
      );
      expect(alerts.length).toBeLessThanOrEqual(agents * (ERROR + calls / CALLS_PER_FALSE_ALARM));
    },
    120_000,
  );

  it.each([
    { learned: 200, rate: 0.3, within: 400 },
    { learned: 1_000, rate: 0.15, within: 1_500 },
  ])('is told of a rate that goes from 5 % to $rate: $learned calls', ({ learned, rate, within }) => {
    const after = seeds(50).map(
      (seed) => alertsOf(seed, { rate: 0.05, calls: learned }, { rate, calls: within })[0] ?? Number.NaN,
    );
    console.info(
      `learned from ${learned} calls, then ${rate}: after ${after.sort((a, b) => a - b)[25]} (median)`,
    );
    expect(after.every((call) => call <= within)).toBe(true);
  });
});

describe('a rule whose limit is to be learned', () => {
  let api: TestCalls;
  beforeAll(async () => {
    api = await openTestCalls({ STARTING_CREDIT: '1000.00' });
  });
  afterAll(() => api.close());
  const good = async (agent: ScoredAgent, count: number) => agent.copy(await agent.call(), count - 1);
  const silent = async (agent: ScoredAgent, count: number) =>
    agent.copy(await agent.call({ silentMs: 5_000 }), count - 1);

  it('learns it once there are enough calls, shows from which, and opens an alert beyond it', async () => {
    const agent = await ScoredAgent.open(api, { scorecard: { alerts: [RULE] } });
    await good(agent, 50);
    await agent.count();
    const learning = { sides: ['above'], hits: 0, needed_calls: 200, looked_at: expect.any(String) };
    expect((await agent.alerts()).rules).toEqual([
      {
        ...{ rate: 'dead_air', above: null, below: null, at_least_calls: 30 },
        learned: { ...learning, calls: 50 },
      },
    ]);
    await silent(agent, 10);
    await good(agent, 190);
    await agent.count();
    api.clock.stall(3_600_000);
    await agent.call();
    await agent.count();
    await silent(agent, 40);
    await agent.count();
    const { rules, open } = await agent.alerts();
    const above = learnedLimit('above', { hits: 10, calls: 251 });
    expect(rules).toMatchObject([{ above, learned: { calls: 251, hits: 10 } }]);
    expect(open).toMatchObject([{ rate: 'dead_air', side: 'above', limit: above, hits: 30 }]);
  });

  it('leaves out the hour in which its four weeks begin', async () => {
    const agent = await ScoredAgent.open(api, { scorecard: { alerts: [RULE] } });
    const HOUR_MS = 3_600_000;
    // Ten minutes past the hour, and four weeks later at its half.
    api.clock.stall(HOUR_MS - (api.clock.wallTime() % HOUR_MS) + 600_000);
    await good(agent, 10);
    await agent.count();
    api.clock.stall(28 * DAY_MS + 1_200_000);
    await good(agent, 2);
    await agent.count();
    expect((await agent.alerts()).rules).toMatchObject([{ learned: { calls: 2 } }]);
  });

  it('shows nothing of a limit that was learned for a rule which was changed', async () => {
    const agent = await ScoredAgent.open(api, { scorecard: { alerts: [RULE] } });
    await good(agent, 200);
    await agent.count();
    api.clock.stall(3_600_000);
    await agent.call();
    await agent.count();
    expect((await agent.alerts()).rules).toMatchObject([{ above: expect.any(Number) }]);
    const changed = { alerts: [{ rate: 'dead_air', below: 'learned' }] };
    await agent.request('PATCH', `${agent.path}/config`, { scorecard: changed });
    await agent.request('POST', `${agent.path}/publish`, {});
    expect((await agent.alerts()).rules).toMatchObject([{ below: null, learned: { looked_at: null } }]);
  });
});
