import { describe, expect, it } from 'vitest';
import { errorOf } from './rehearsal-error.ts';
import { type RehearsedTwice, rehearseTwice } from './rehearse-twice.ts';

/** `npm run simulate:rehearsal` does the same with ten thousand and closer bounds. */
const CALLS = 240;

describe('rehearsals of simulated calls', () => {
  it('say what the calls do when they really run under the other settings', async () => {
    const calls: RehearsedTwice[] = [];
    for (let seed = 1; seed <= CALLS; seed++) calls.push(await rehearseTwice(seed));
    const error = errorOf(calls);
    expect(Math.abs(error.predictedShare - error.actualShare)).toBeLessThanOrEqual(0.02);
    expect(error.wronglyShare).toBeLessThanOrEqual(0.02);
    expect(error.sameMomentShare).toBeGreaterThanOrEqual(0.97);
    expect(error.sameKindShare).toBeGreaterThanOrEqual(0.95);
    expect(error.sameCutOffs.actual).toBeGreaterThanOrEqual(error.sameCutOffs.predicted - 4);
    expect(error.sameCutOffs.actual).toBeLessThanOrEqual(
      error.sameCutOffs.predicted + error.unknownCutOffs + 4,
    );
    expect(Math.abs(error.savedMs.predicted - error.savedMs.actual)).toBeLessThanOrEqual(60);
  }, 120_000);
});
