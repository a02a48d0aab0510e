/** Calls to menus, queues and screening phones, whose far ends know what they are. */
import { expect, it } from 'vitest';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { replay } from '#runtime/replay/replay.ts';
import { readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { lineViolations } from './line-invariants.ts';
import { simulateCall } from './simulate-call.ts';

/** `SIMULATION_SEED=17` runs only that call. */
const onlySeed = process.env['SIMULATION_SEED'];
const CALLS = 300;
const seeds =
  onlySeed === undefined ? Array.from({ length: CALLS }, (_, index) => index + 1) : [Number(onlySeed)];

it(`hold their invariants over ${seeds.length} seeds, and meet every class`, async () => {
  const failed: string[] = [];
  const met: Record<string, number> = {};
  for (const seed of seeds) {
    const call = await simulateCall(seed, { hasFarEnd: true });
    failed.push(...lineViolations(call).map((violation) => `SIMULATION_SEED=${seed}: ${violation}`));
    for (const report of call.reports)
      if (report.type === 'line') {
        const { ended_by: endedBy, line } = report.line;
        met[`${line}, ${endedBy}`] = (met[`${line}, ${endedBy}`] ?? 0) + 1;
      }
  }
  expect(failed).toEqual([]);
  if (seeds.length >= CALLS)
    expect(Object.keys(met)).toEqual(
      expect.arrayContaining([
        'menu, person',
        'hold, person',
        'screening, person',
        'menu, hold',
        'menu, gave_up',
      ]),
    );
}, 600_000);

it('their flight logs replay to the same effects', async () => {
  for (const seed of seeds.slice(0, 20)) {
    const { effects, flightLog } = await simulateCall(seed, { hasFarEnd: true });
    const replayed = [...replay(readFlightLog(flightLog)[0], CURRENT_MACHINE)].flatMap(
      (step) => step.effects,
    );
    expect(replayed, `SIMULATION_SEED=${seed}`).toEqual(effects);
  }
});
