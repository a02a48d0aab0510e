import { describe, expect, it } from 'vitest';
import { simulateFleet } from './simulate-fleet.ts';

/** `FLEET_SEED=17` runs only that fleet; `FLEET_RUNS=2000` runs more of them, as CI does by the command. */
const onlySeed = process.env['FLEET_SEED'];
const runs = Number(process.env['FLEET_RUNS'] ?? 60);
const seeds =
  onlySeed === undefined ? Array.from({ length: runs }, (_, index) => index + 1) : [Number(onlySeed)];

describe('simulated fleets', () => {
  it(`hold every invariant over ${seeds.length} seeds`, async () => {
    const failed: string[] = [];
    let connected = 0;
    for (const seed of seeds) {
      const run = await simulateFleet(seed);
      connected += run.figures.connected;
      failed.push(
        ...run.violations.map((violation) => `npm run simulate:fleet -- --seed ${seed}: ${violation}`),
      );
      if (failed.length > 20) break;
    }
    expect(failed).toEqual([]);
    // Not without calls.
    if (seeds.length >= 50) expect(connected).toBeGreaterThan(2 * seeds.length);
  }, 600_000);

  it('are reproducible from the same seed', async () => {
    for (const seed of seeds.slice(0, 3)) {
      const [first, second] = [await simulateFleet(seed), await simulateFleet(seed)];
      expect(second, `FLEET_SEED=${seed}`).toEqual(first);
    }
  });
});
