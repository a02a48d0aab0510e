import { describe, expect, it } from 'vitest';
import type { ReplaySettings } from '#protocol/replay.ts';
import { type AgentVersion, findCulprits, type WalkedStep } from '#runtime/replay/bisect/find-culprit.ts';
import { type Case, judge } from '#runtime/replay/bisect/judge.ts';
import { parseMeasure } from '#runtime/replay/bisect/measure.ts';
import { caseOf } from '#runtime/replay/bisect/moments.ts';
import { machineOf } from '#runtime/replay/machines/machine-of.ts';
import type { TurnMachine } from '#runtime/replay/machines/turn-machine.ts';
import { TURN_MACHINE_VERSION } from '#runtime/turn/machine/turn-state.ts';
import { createRandom } from '../../../simulation/random.ts';
import { ranBy, simulatedLog } from '../logged-call.ts';
import { seededCulprit, VERSIONS } from './seeded-history.ts';

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

function versionsOf(history: readonly ReplaySettings[]): AgentVersion[] {
  return history.map((settings, index) => ({ number: index + 1, settings: async () => settings }));
}

describe('bisect', () => {
  it.each(SEEDS)(
    'finds the version of 30 that made a call bad, and the setting: culprit %i of 20',
    { timeout: 60_000 },
    async (seed) => {
      const { inCase, history, setting, version } = await seededCulprit(seed);
      expect(history).toHaveLength(VERSIONS);
      const walked: WalkedStep[] = [];
      const culprits = await findCulprits(
        inCase,
        { versions: versionsOf(history), machines: [inCase.machine] },
        (step) => walked.push(step),
      );
      expect(culprits).toMatchObject([
        { of: 'agent', good: version - 1, bad: version, settings: [{ name: setting }] },
      ]);
      expect(walked.length).toBeLessThan(VERSIONS / 2);
    },
  );

  it.each(SEEDS)(
    'finds the version of 30 turn machines that has a defect: culprit %i of 20',
    async (seed) => {
      const version = 2 + Math.floor(createRandom(seed).next() * (VERSIONS - 1));
      const machines = Array.from({ length: VERSIONS }, (_, index) => machineLike(index + 1, version));
      const inCase = await firstLateTurn(machines, seed * 1_000);
      const culprits = await findCulprits(inCase, { versions: [], machines });
      expect(culprits).toMatchObject([{ of: 'machine', good: version - 1, bad: version, settings: [] }]);
    },
  );
});

/** The first turn of a simulated call that the last machine takes late, and the first one does not. */
async function firstLateTurn(machines: readonly TurnMachine[], seed: number): Promise<Case> {
  const [first, last] = [machines[0], machines.at(-1)] as [TurnMachine, TurnMachine];
  for (let call = seed; call < seed + 500; call += 1) {
    const { log } = ranBy(last, await simulatedLog(call));
    const inCase = caseOf([log], parseMeasure('wait_ms > 1900 at 0s'), () => last);
    const verdictOf = (machine: TurnMachine) => inCase && judge(inCase, { machine, changes: {} }).is;
    if (inCase && verdictOf(last) === 'bad' && verdictOf(first) === 'good') return inCase;
  }
  throw new Error('no simulated call has such a turn');
}

/** A machine of an invented version; from `defectiveFrom` on it takes every turn two seconds late. */
function machineLike(version: number, defectiveFrom: number): TurnMachine {
  const { initialState, settings, step } = machineOf(TURN_MACHINE_VERSION);
  return {
    version,
    settings,
    initialState,
    step(state, input) {
      const next = step(state, input);
      if (version < defectiveFrom) return next;
      return {
        state: next.state,
        effects: next.effects.map((effect) =>
          effect.do === 'startTimer' && effect.name === 'commit'
            ? { ...effect, atMs: effect.atMs + 2_000 }
            : effect,
        ),
      };
    },
  };
}
