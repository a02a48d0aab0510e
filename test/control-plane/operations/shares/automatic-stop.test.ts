/**
 * The automatic stop in simulated shares: every caller is split by the product's hash, what happens in a call
 * comes from a seeded generator, and the share is looked at after every call.
 */
import { describe, expect, it } from 'vitest';
import { drawOf } from '#control-plane/catalogue/agents/version-of-call.ts';
import { compareArms, harmIn, summaryOf } from '#control-plane/operations/shares/compare-arms.ts';
import type { ShareArm } from '#control-plane/platform/store/models/session-share.ts';
import { SHARE_MEASURES, type ShareMeasure } from '#control-plane/platform/store/models/share-model.ts';
import { createRandom } from '../../../simulation/random.ts';

type Rates = Readonly<Record<ShareMeasure, number>>;
type Counts = Record<ShareArm, { rates: Record<ShareMeasure, { calls: number; hits: number }> }>;

const USUAL: Rates = { failed: 0.02, unsuccessful: 0.25, slow: 0.15, dead_air: 0.08, transferred: 0.1 };
const RULES = {
  watch: SHARE_MEASURES.map((measure) => ({ measure, margin: 0 })),
  at_least_calls: 30,
};
const CALLS = 1_500;

function noCounts(): Counts {
  const rates = () =>
    Object.fromEntries(SHARE_MEASURES.map((measure) => [measure, { calls: 0, hits: 0 }])) as Record<
      ShareMeasure,
      { calls: number; hits: number }
    >;
  return { share: { rates: rates() }, published: { rates: rates() } };
}

/** Runs a share until it stops; `stoppedAt` is the number of calls by then, null if it never did. */
function run(seed: number, { share, ours, calls = CALLS }: { share: number; ours: Rates; calls?: number }) {
  const random = createRandom(seed);
  const counts = noCounts();
  for (let call = 1; call <= calls; call++) {
    const arm: ShareArm = drawOf('agent', `share-${seed}`, `caller:${call}`) < share ? 'share' : 'published';
    const theirs = arm === 'share' ? ours : USUAL;
    for (const measure of SHARE_MEASURES) {
      const counted = counts[arm].rates[measure];
      counted.calls += 1;
      if (random.chance(theirs[measure])) counted.hits += 1;
    }
    const harm = harmIn(RULES, counts);
    if (harm) return { stoppedAt: call, measure: harm.measure, counts };
  }
  return { stoppedAt: null, measure: null, counts };
}

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

describe('the automatic stop', () => {
  it('stops fewer than 1 % of 1,000 shares without a difference, looked at after each of 1,500 calls', () => {
    const stopped = seeds(1_000).filter((seed) => run(seed, { share: 0.2, ours: USUAL }).stoppedAt !== null);
    console.info(`false stops: ${stopped.length} of 1,000`);
    expect(stopped.length).toBeLessThan(10);
  }, 120_000);

  it.each([
    { harm: 'failing calls', ours: { ...USUAL, failed: 0.2 }, measure: 'failed', share: 0.2 },
    {
      harm: 'half as many successes',
      ours: { ...USUAL, unsuccessful: 0.6 },
      measure: 'unsuccessful',
      share: 0.2,
    },
    { harm: 'twice as many slow calls', ours: { ...USUAL, slow: 0.35 }, measure: 'slow', share: 0.1 },
    { harm: 'dead air', ours: { ...USUAL, dead_air: 0.3 }, measure: 'dead_air', share: 0.5 },
  ] as const)('stops every one of 50 shares with $harm, and names it', ({ harm, ours, measure, share }) => {
    const runs = seeds(50).map((seed) => run(seed, { share, ours, calls: 5_000 }));
    const after = runs.map(({ stoppedAt }) => stoppedAt ?? Number.POSITIVE_INFINITY);
    console.info(
      `${harm}, share ${share}: stopped after ${median(after)} calls (median), ${Math.max(...after)} at most`,
    );
    expect(runs.map((one) => one.measure)).toEqual(runs.map(() => measure));
  });

  it('does not stop a share before each version has enough calls, nor for what is not watched', () => {
    const counts = noCounts();
    counts.share.rates.failed = { calls: 29, hits: 29 };
    counts.published.rates.failed = { calls: 900, hits: 9 };
    expect(harmIn(RULES, counts)).toBeNull();
    counts.share.rates.failed = { calls: 30, hits: 30 };
    expect(harmIn(RULES, counts)).toMatchObject({ measure: 'failed' });
    expect(harmIn({ ...RULES, watch: [] }, counts)).toBeNull();
  });

  it('tolerates a difference up to the margin', () => {
    const counts = noCounts();
    counts.share.rates.transferred = { calls: 2_000, hits: 700 };
    counts.published.rates.transferred = { calls: 8_000, hits: 800 };
    const watch = (margin: number) => ({ ...RULES, watch: [{ measure: 'transferred' as const, margin }] });
    expect(harmIn(watch(0.3), counts)).toBeNull();
    expect(harmIn(watch(0.1), counts)).toMatchObject({ measure: 'transferred' });
  });
});

describe('the line about a share', () => {
  const versions = { version_number: 4, beside_number: 3 };

  it('says that nothing is certain while nothing is', () => {
    const line = summaryOf(versions, compareArms(noCounts()));
    expect(line).toBe('No difference between versions 4 and 3 is certain yet.');
  });

  it('names the differences that are real, the good ones too', () => {
    const counts = noCounts();
    counts.share.rates.slow = { calls: 1_000, hits: 500 };
    counts.published.rates.slow = { calls: 1_000, hits: 100 };
    counts.share.rates.transferred = { calls: 1_000, hits: 50 };
    counts.published.rates.transferred = { calls: 1_000, hits: 300 };
    expect(summaryOf(versions, compareArms(counts))).toMatch(
      /^Real with version 4 beside 3: more slow calls \(\d+\.\d to \d+\.\d points\); fewer transferred calls/,
    );
  });
});
