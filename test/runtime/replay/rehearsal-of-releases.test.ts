import { describe, expect, it } from 'vitest';
import { FreeRun } from '#runtime/replay/free-run.ts';
import { machineVersions } from '#runtime/replay/machines/machine-of.ts';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { rehearseCall } from '#runtime/replay/rehearsal/rehearse-call.ts';
import { isSameMoment, noticedIn } from '#runtime/replay/what-if.ts';
import { type LoggedCall, ranByVersion, textOf } from './logged-call.ts';

const OLDER = machineVersions().filter((version) => version < CURRENT_MACHINE.version);
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

/** Whether a caller would notice the release, found without the code under test. */
function differs({ log, steps }: LoggedCall): boolean {
  const run = new FreeRun(CURRENT_MACHINE, CURRENT_MACHINE.initialState(log.header.config));
  const now = log.inputs.flatMap((input) => [...run.take(input)].flatMap(noticedIn));
  const was = steps.flatMap(noticedIn);
  return (
    now.length !== was.length ||
    now.some((moment, at) => !isSameMoment(moment, was[at] as (typeof was)[number]))
  );
}

function rehearse({ log }: LoggedCall, changes: Parameters<typeof rehearseCall>[0]['changes']) {
  const outcome = rehearseCall({ session_id: 's', log: textOf(log), changes });
  if (outcome.outcome !== 'run') throw new Error(outcome.outcome);
  return outcome;
}

describe('a call of an earlier release', () => {
  it('shows what this release would do otherwise, without a change of settings', async () => {
    let differing = 0;
    for (const version of OLDER)
      for (const seed of SEEDS) {
        const call = await ranByVersion(version, seed);
        const found = rehearse(call, {}).difference !== null;
        expect([version, seed, found]).toEqual([version, seed, differs(call)]);
        differing += Number(found);
      }
    expect(differing).toBeGreaterThan(0);
  });

  it('has its pauses judged under the draft’s waits by the turn machine that ran it', async () => {
    for (const version of OLDER) {
      const calls = await Promise.all(SEEDS.map((seed) => ranByVersion(version, seed)));
      const pauses = calls.map((call) => rehearse(call, { response_wait_ms: 2_500 }).pauses);
      const sum = (of: 'judged' | 'saved_ms') => pauses.reduce((total, one) => total + one[of], 0);
      expect(sum('judged'), `version ${version}`).toBeGreaterThan(0);
      expect(sum('saved_ms'), `version ${version}`).toBeLessThan(0);
    }
  });
});
