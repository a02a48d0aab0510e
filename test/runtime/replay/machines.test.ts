import { describe, expect, it } from 'vitest';
import {
  frozenMachine,
  machineOf,
  machineVersions,
  refuseUnknownSettings,
} from '#runtime/replay/machines/machine-of.ts';
import { replay } from '#runtime/replay/replay.ts';
import { tallyLogs } from '#runtime/replay/tuning.ts';
import { firstDivergence } from '#runtime/replay/what-if.ts';
import { readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { TURN_MACHINE_VERSION } from '#runtime/turn/machine/turn-state.ts';
import { ranBy, ranByVersion, simulatedLog, textOf } from './logged-call.ts';

const OLDER = machineVersions().filter((version) => version < TURN_MACHINE_VERSION);
/** Simulated calls that every older machine runs. */
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
/** Simulated calls that the sources and their frozen module run. */
const CALLS = 150;

describe('the frozen machine of this version', () => {
  it('does the same as its sources', async () => {
    const frozen = frozenMachine(TURN_MACHINE_VERSION);
    expect(frozen.version).toBe(TURN_MACHINE_VERSION);
    for (let seed = 1; seed <= CALLS; seed++) {
      const log = await simulatedLog(seed);
      const [sources, module] = [machineOf(TURN_MACHINE_VERSION), frozen].map((machine) =>
        ranBy(machine, log),
      );
      expect(
        module?.steps,
        `the turn machine has changed since version ${TURN_MACHINE_VERSION} was frozen (seed ${seed}). ` +
          'Raise TURN_MACHINE_VERSION and run `npm run freeze:machine`. If no release has this version ' +
          'yet, only run `npm run freeze:machine`',
      ).toEqual(sources?.steps);
    }
  });
});

it('version 22, which meets automated lines, does in a call without them what version 21 did', async () => {
  for (const seed of SEEDS) {
    const log = await simulatedLog(seed);
    const [before, since] = [21, 22].map((version) => ranBy(frozenMachine(version), log));
    expect(since?.steps, `seed ${seed}`).toEqual(before?.steps);
  }
});

describe('a call of an older version', () => {
  it('has a machine for each version since 14', () => {
    const count = TURN_MACHINE_VERSION - 14;
    expect(OLDER).toEqual(Array.from({ length: count }, (_, index) => index + 14));
  });

  it.each(OLDER)('of version %i is replayed in its own machine, which does what it did', async (version) => {
    for (const seed of SEEDS) {
      const { log, steps } = await ranByVersion(version, seed);
      const [read] = readFlightLog([Buffer.from(textOf(log))]);
      expect([...replay(read, machineOf(version))], `seed ${seed}`).toEqual(steps);
    }
  });

  it.each(OLDER)('of version %i is judged under other settings, and tuned', async (version) => {
    const calls = await Promise.all(SEEDS.map((seed) => ranByVersion(version, seed)));
    for (const { log } of calls) expect(firstDivergence(log, {}, machineOf(version))).toBeNull();
    const differing = calls.filter(
      ({ log }) => firstDivergence(log, { responseWaitMs: 3_000 }, machineOf(version)) !== null,
    );
    expect(differing.length).toBeGreaterThan(0);
    const tally = tallyLogs(calls.map(({ log }) => textOf(log)));
    expect(tally.calls).toBe(SEEDS.length);
    expect(tally.judged).toBeGreaterThan(0);
  });

  it('names the settings that its machine does not have yet', () => {
    const [own, ...later] = machineOf(18).settings;
    expect(() => refuseUnknownSettings(machineOf(18), [own ?? '', ...later])).not.toThrow();
    expect(() => refuseUnknownSettings({ ...machineOf(18), settings: [own ?? ''] }, later)).toThrow(
      `version 18 of the turn machine, which ran the call, has no ${later.join(', ')}`,
    );
  });

  it('is refused by the names of the known versions if its machine is not known', () => {
    expect(() => machineOf(3)).toThrow(/no turn machine of version 3; the known versions are 14, 15, /);
    expect(() => machineOf(TURN_MACHINE_VERSION + 1)).toThrow(`${TURN_MACHINE_VERSION}`);
  });
});
