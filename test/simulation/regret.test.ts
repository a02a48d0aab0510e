import { describe, expect, it } from 'vitest';
import { highestRate, ratesOf } from './regret/fixed-settings.ts';
import { FIRST, learn, RULES } from './regret/learn.ts';

/** `npm run simulate:regret` does the same with ten thousand calls of every population. */
const CALLS = 900;
/** So few calls need a larger share to show something. */
const SHARE = 0.25;

describe('a learner on simulated calls', () => {
  it('comes to shorter waits within its bound, and gives no stretch of calls more cut-offs', () => {
    const rules = { ...RULES, share: SHARE };
    const learned = learn('hesitating', CALLS, { rules });
    const last = learned.published.at(-1)?.setting ?? FIRST;
    const [before, after] = [ratesOf('hesitating', 400, FIRST), ratesOf('hesitating', 400, last)];
    expect(learned.published.length).toBeGreaterThan(1);
    expect(after.waitMs).toBeLessThan(before.waitMs / 2);
    expect(after.cutOffs).toBeLessThanOrEqual(RULES.cut_off_bound);
    expect(highestRate(learned, 400)).toBeLessThanOrEqual(RULES.cut_off_bound);
  }, 120_000);
});
