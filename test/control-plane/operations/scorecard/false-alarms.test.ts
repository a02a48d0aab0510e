/**
 * Alerts of simulated agents: what happens in a call comes from a seeded generator, and every call is
 * looked at.
 */
import { describe, expect, it } from 'vitest';
import type { AlertRule } from '#config/scorecard.ts';
import { CALLS_PER_FALSE_ALARM } from '#control-plane/operations/scorecard/watch-rate.ts';
import { watchRates } from '#control-plane/operations/scorecard/watch-rates.ts';
import { createRandom } from '../../../simulation/random.ts';

const AT = new Date('2026-11-29T10:00:00.000Z');
const RULE: AlertRule = { rate: 'dead_air', above: 0.1 };

interface Phase {
  readonly rate: number;
  readonly calls: number;
}

/** Which alerts an agent has had, each with the number of its call. */
function run(seed: number, phases: readonly Phase[], rule: AlertRule = RULE) {
  const random = createRandom(seed);
  const changes: { call: number; state: 'open' | 'closed' }[] = [];
  let watched: Pick<ReturnType<typeof watchRates>, 'rates' | 'closed'> = { rates: [], closed: [] };
  let call = 0;
  for (const { rate, calls } of phases)
    for (let left = calls; left > 0; left--) {
      call += 1;
      const score = { tags: random.chance(rate) ? (['dead_air'] as const) : [], criteria: [] };
      const next = watchRates(watched, [{ score, beganAt: AT }], {
        rules: [rule],
        at: AT,
        newId: () => String(call),
      });
      watched = next;
      for (const { closed_at } of next.changed)
        changes.push({ call, state: closed_at === null ? 'open' : 'closed' });
    }
  return changes;
}

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const opened = (changes: ReturnType<typeof run>) => changes.filter(({ state }) => state === 'open');
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

describe('an alert without a cause', () => {
  it.each([
    { rule: RULE, rate: 0.1 },
    { rule: { rate: 'dead_air', above: 0.02 }, rate: 0.02 },
    { rule: { rate: 'dead_air', below: 0.6 }, rate: 0.6 },
  ])(
    'is rarer than stated, even with a rate at its limit: $rule',
    ({ rule, rate }) => {
      const [agents, calls] = [100, 10_000];
      const alarms = seeds(agents).flatMap((seed) => opened(run(seed, [{ rate, calls }], rule)));
      console.info(`false alarms at the limit ${rate}: ${alarms.length} in ${agents * calls} calls`);
      expect(alarms.length).toBeLessThanOrEqual((agents * calls) / CALLS_PER_FALSE_ALARM);
    },
    120_000,
  );

  it('is not opened in a million calls by a rate that is half of its limit', () => {
    const alarms = seeds(100).flatMap((seed) => opened(run(seed, [{ rate: 0.05, calls: 10_000 }])));
    expect(alarms).toEqual([]);
  }, 120_000);
});

describe('an alert that waits for many calls', () => {
  const rule: AlertRule = { rate: 'dead_air', above: 0.1, at_least_calls: 2_000 };

  it('is not opened by a rate that is back before that, however far it was out', () => {
    for (const seed of seeds(20)) {
      const changes = run(
        seed,
        [
          { rate: 1, calls: 700 },
          { rate: 0.02, calls: 40_000 },
          { rate: 0.1, calls: 10_000 },
        ],
        rule,
      );
      expect(changes).toEqual([]);
    }
  }, 120_000);
});

describe('an alert with a cause', () => {
  it.each([
    { rate: 0.15, within: 2_000 },
    { rate: 0.2, within: 600 },
    { rate: 0.4, within: 120 },
  ])(
    'is opened for each of 100 agents whose rate becomes $rate instead of 0.05',
    ({ rate, within }) => {
      const after = seeds(100).map((seed) => {
        const changes = run(seed, [
          { rate: 0.05, calls: 2_000 },
          { rate, calls: within },
        ]);
        return (changes[0]?.call ?? Number.POSITIVE_INFINITY) - 2_000;
      });
      console.info(`from 5 % to ${rate * 100} %, limit 10 %: alert after ${median(after)} calls (median)`);
      expect(Math.min(...after)).toBeGreaterThan(0);
      expect(Math.max(...after)).toBeLessThanOrEqual(within);
    },
    120_000,
  );

  it('is closed once when the rate is back, and not opened again', () => {
    for (const seed of seeds(50)) {
      const changes = run(seed, [
        { rate: 0.3, calls: 1_000 },
        { rate: 0.03, calls: 5_000 },
      ]);
      expect(changes.map(({ state }) => state)).toEqual(['open', 'closed']);
    }
  }, 120_000);

  it('does not flap while the rate stays beyond its limit', () => {
    for (const seed of seeds(50)) {
      const changes = run(seed, [{ rate: 0.2, calls: 5_000 }]);
      expect(changes.map(({ state }) => state)).toEqual(['open']);
    }
  }, 120_000);
});
