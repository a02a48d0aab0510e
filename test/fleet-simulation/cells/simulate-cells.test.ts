import { describe, expect, it } from 'vitest';
import { simulateCells } from './simulate-cells.ts';
import { READY_MS, type TierPlan } from './tier.ts';

const CALL_MS = 20_000;
const PLAN: TierPlan = {
  seed: 1,
  cells: 3,
  callsPerCell: 60,
  callMs: CALL_MS,
  accountsPerCell: 10,
  loss: { cell: 2, fromMs: READY_MS + CALL_MS / 2, untilMs: READY_MS + CALL_MS / 2 + 60_000 },
};

describe('cells of which one is lost', () => {
  it('carry the new calls of its numbers, and no money is lost or spent twice', async () => {
    const run = await simulateCells(PLAN);
    const figures = run.cells.map((cell) => cell.figures);
    expect(run.violations).toEqual([]);
    expect(figures.map(({ ofLost }) => ofLost > 0)).toEqual([true, true, false]);
    for (const { calls, connected } of figures.slice(0, 2)) expect(connected).toBe(calls);
    // Credit was moved to cells and back.
    for (const { tierEntries } of figures) expect(tierEntries).toBeGreaterThan(0);
  }, 300_000);
});
