import { describe, expect, it } from 'vitest';
import { replayableSettings, turnSettings } from '#protocol/conversation-settings.ts';
import type { ReplaySettings } from '#protocol/replay.ts';
import { findCulprits, type WalkedStep } from '#runtime/replay/bisect/find-culprit.ts';
import type { Case } from '#runtime/replay/bisect/judge.ts';
import { parseMeasure } from '#runtime/replay/bisect/measure.ts';
import { caseOf } from '#runtime/replay/bisect/moments.ts';
import { machineOf, machineVersions } from '#runtime/replay/machines/machine-of.ts';
import type { TurnMachine } from '#runtime/replay/machines/turn-machine.ts';
import type { TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import { TURN_MACHINE_VERSION } from '#runtime/turn/machine/turn-state.ts';
import { TurnScript } from '../../turn/turn-script.ts';
import { logFrom } from '../logged-call.ts';

const BALANCED = { response_wait_ms: 550, response_max_wait_ms: null, eagerness: 'balanced' } as const;
const PATIENT = { response_wait_ms: 900, response_max_wait_ms: null, eagerness: 'relaxed' } as const;

/** A call in which the agent asks something first, and the caller says this in one breath. */
function answered(question: string, text: string, settings: ReplaySettings, measure: string): Case {
  const inputs: TurnInput[] = [];
  const greeting = { mode: 'say', text: question } as const;
  const script = new TurnScript({ ...turnSettings(settings), greeting }, (input) => inputs.push(input));
  script.take({ type: 'call.started' }, { type: 'call.connected' });
  const replyId = script.last('play')?.replyId ?? '';
  script.take({ type: 'reply.audible', replyId }, { type: 'playout.started', replyId, wireMs: script.nowMs });
  script.after(1_500).take({ type: 'playout.finished', replyId, heard: question });
  script.after(1_000).voice(900).take({ type: 'transcript.final', text });
  script.after(9_000).take({ type: 'leg.closed', reason: 'remote' });
  const found = caseOf([logFrom(script.state.config, inputs)], parseMeasure(`${measure} at turn 1`));
  if (!found) throw new Error('the caller took a turn');
  return found;
}

/** The caller says a date without its year, which versions before 18 took for the whole answer. */
function halfDate(measure: string): Case {
  return answered('What is your date of birth?', 'the third of May', BALANCED, measure);
}

function versionsOf(...history: readonly ReplaySettings[]) {
  return history.map((settings, index) => ({ number: index + 1, settings: async () => settings }));
}

describe('bisect', () => {
  it.each([
    ['wait_ms > 1500', 17, 18],
    ['wait_ms > 2200', 18, 19],
  ])(
    'names the release whose machine waits longer for the rest of a date: %s',
    async (measure, good, bad) => {
      const suspects = { versions: [], machines: machineVersions().map(machineOf) };
      expect(await findCulprits(halfDate(measure), suspects)).toMatchObject([{ of: 'machine', good, bad }]);
    },
  );

  it('names settings that are bad only together', async () => {
    const inCase = answered('Which day?', 'next week', PATIENT, 'wait_ms > 1000');
    const after = replayableSettings(inCase.log.header.config);
    const before = { ...after, response_wait_ms: 300, eagerness: 'eager', reengage_enabled: true } as const;
    const culprits = await findCulprits(inCase, { versions: versionsOf(before, after), machines: [] });
    expect(culprits).toMatchObject([
      {
        bad: 2,
        isTogether: true,
        settings: [{ name: 'response_wait_ms' }, { name: 'eagerness' }],
        harmless: ['reengage_enabled'],
      },
    ]);
  });

  it('names the settings of the call itself if its versions do not have them', async () => {
    const inCase = halfDate('wait_ms > 1500');
    const published = { ...replayableSettings(inCase.log.header.config), response_max_wait_ms: 500 };
    const culprits = await findCulprits(inCase, { versions: versionsOf(published), machines: [] });
    expect(culprits).toMatchObject([
      { good: 1, bad: null, settings: [{ name: 'response_max_wait_ms', before: 500, after: null }] },
    ]);
  });

  it('passes over a machine that parts from the call before the moment, and says when', async () => {
    const inCase = halfDate('wait_ms > 1500');
    const silent = without('play', machineOf(18));
    const walked: WalkedStep[] = [];
    const machines = [machineOf(16), silent, machineOf(TURN_MACHINE_VERSION)];
    const culprits = await findCulprits(inCase, { versions: [], machines }, (step) => walked.push(step));
    expect(culprits).toMatchObject([{ good: 16, bad: TURN_MACHINE_VERSION, between: [18] }]);
    const skipped = walked.find(({ number }) => number === 18)?.verdict;
    expect(skipped).toEqual({ is: 'unjudged', partsAtMs: expect.any(Number) });
    expect(skipped?.partsAtMs).toBeLessThan(inCase.moment.atMs);
  });

  it('finds nothing if every version is bad', async () => {
    const inCase = halfDate('wait_ms > 100');
    const own = replayableSettings(inCase.log.header.config);
    const suspects = { versions: versionsOf(own, own), machines: machineVersions().map(machineOf) };
    expect(await findCulprits(inCase, suspects)).toEqual([]);
  });
});

/** A machine without one of its effects. */
function without(name: string, machine: TurnMachine): TurnMachine {
  return {
    version: machine.version,
    settings: machine.settings,
    initialState: machine.initialState,
    step(state, input) {
      const next = machine.step(state, input);
      return { state: next.state, effects: next.effects.filter((effect) => effect.do !== name) };
    },
  };
}
