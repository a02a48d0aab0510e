import { describe, expect, it } from 'vitest';
import { durableReport } from '#protocol/worker-link.ts';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { replay } from '#runtime/replay/replay.ts';
import { readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { violations } from './invariants.ts';
import { simulateCall } from './simulate-call.ts';
import { type AnsweredTwice, answeredTwice, FIRST_TOKEN_MS, medianSaving } from './speculation.ts';

/** `SIMULATION_SEED=17` runs only that call; `SIMULATION_CALLS=10000` runs more calls. */
const onlySeed = process.env['SIMULATION_SEED'];
const calls = Number(process.env['SIMULATION_CALLS'] ?? 2_000);
const seeds =
  onlySeed === undefined ? Array.from({ length: calls }, (_, index) => index + 1) : [Number(onlySeed)];

/** Steps after which the worker of a seed's call dies: from the first step to well into the call. */
const deathOf = (seed: number) => 1 + ((seed * 37) % 150);

describe('simulated calls', () => {
  it(`hold every invariant over ${seeds.length} seeds`, async () => {
    const failed: string[] = [];
    const reasons: Record<string, number> = {};
    for (const seed of seeds) {
      const call = await simulateCall(seed);
      const last = call.reports.at(-1);
      if (last?.type === 'ended') reasons[last.end_reason] = (reasons[last.end_reason] ?? 0) + 1;
      failed.push(...violations(call).map((violation) => `npm run simulate -- --seed ${seed}: ${violation}`));
      if (failed.length > 20) break;
    }
    expect(failed).toEqual([]);
    // The random script reaches every way a call can end.
    if (seeds.length >= 1_000)
      expect(Object.keys(reasons).sort()).toEqual(
        expect.arrayContaining([
          'agent_hangup',
          'conversation_timeout',
          'llm_endpoint_failure',
          'user_hangup',
        ]),
      );
  }, 600_000);

  it('survive the death of their worker at any step: invariants hold, and the caller hears of it first', async () => {
    const failed: string[] = [];
    let taken = 0;
    for (const seed of seeds.slice(0, 200)) {
      const call = await simulateCall(seed, { diesAfterSteps: deathOf(seed) });
      if (call.takeover) taken += 1;
      failed.push(
        ...violations(call).map(
          (violation) => `npm run simulate -- --seed ${seed} --dies-after ${deathOf(seed)}: ${violation}`,
        ),
      );
      if (failed.length > 20) break;
    }
    expect(failed).toEqual([]);
    if (seeds.length >= 200) expect(taken).toBeGreaterThan(100);
  }, 600_000);

  it('of agents that press keys hold every invariant, also when their worker dies', async () => {
    const failed: string[] = [];
    const presses: number[] = [];
    for (const seed of seeds.slice(0, 300)) {
      const [given, option] =
        seed % 3 === 0 ? [{ diesAfterSteps: deathOf(seed) }, ` --dies-after ${deathOf(seed)}`] : [{}, ''];
      const call = await simulateCall(seed, { pressesKeys: true, ...given });
      presses.push(call.acts.filter(({ what }) => what === 'keys').length);
      failed.push(
        ...violations(call).map(
          (violation) => `npm run simulate -- --seed ${seed} --presses-keys${option}: ${violation}`,
        ),
      );
      if (failed.length > 20) break;
    }
    expect(failed).toEqual([]);
    if (seeds.length >= 300) expect(presses.filter((count) => count > 0).length).toBeGreaterThan(100);
  }, 600_000);

  it('are reproducible from the same seed', async () => {
    for (const seed of seeds.slice(0, 25)) {
      const [first, second] = [await simulateCall(seed), await simulateCall(seed)];
      expect(second.reports, `SIMULATION_SEED=${seed}`).toEqual(first.reports);
      expect(second.flightLog, `SIMULATION_SEED=${seed}`).toEqual(first.flightLog);
    }
  });

  it('answer sooner with speculative_response and stable words: the median by the time to first token', async () => {
    const turns: AnsweredTwice[] = [];
    for (let seed = 1; seed <= 100; seed++) turns.push(...(await answeredTwice(seed)));
    expect(turns.length).toBeGreaterThan(50);
    expect(medianSaving(turns)).toBeGreaterThanOrEqual(FIRST_TOKEN_MS);
  }, 600_000);

  it('report only data that the worker link carries', async () => {
    for (const seed of seeds.slice(0, 25)) {
      const { reports } = await simulateCall(seed);
      for (const report of reports)
        expect(
          durableReport.safeParse(report),
          `SIMULATION_SEED=${seed} ${JSON.stringify(report)}`,
        ).toMatchObject({ success: true });
    }
  });
});

it('a flight log replays to the same effects', async () => {
  for (const seed of seeds.slice(0, 50)) {
    const { effects, flightLog } = await simulateCall(seed);
    const replayed = [...replay(readFlightLog(flightLog)[0], CURRENT_MACHINE)].flatMap(
      (step) => step.effects,
    );
    expect(replayed, `SIMULATION_SEED=${seed}`).toEqual(effects);
  }
});
