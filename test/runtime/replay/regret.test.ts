import { describe, expect, it } from 'vitest';
import { regretOutcomes } from '#protocol/regret.ts';
import { regretOfCall, regretOfPart } from '#runtime/replay/regret/regret-of-call.ts';
import type { ReadFlightLog } from '#runtime/turn/loop/flight-log.ts';
import type { TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import { TurnScript } from '../turn/turn-script.ts';
import { logFrom, textOf } from './logged-call.ts';

/** A breath of a caller, and what follows it. */
interface Breath {
  /** The caller goes on after this pause, ms; absent: not. */
  readonly goesOnAfterMs?: number;
  /** The agent is heard so long after the end of speech, ms; absent: not. */
  readonly heardAfterMs?: number;
}

/** A call of an agent that waits for 500 ms, in which the caller says finished sentences. */
function callWith(breaths: readonly Breath[], responseWaitMs = 500): ReadFlightLog {
  const inputs: TurnInput[] = [];
  const script = new TurnScript({ responseWaitMs, responseMaxWaitMs: null }, (input) => inputs.push(input));
  script.take({ type: 'call.started' }, { type: 'call.connected' }).after(100);
  for (const { goesOnAfterMs, heardAfterMs } of breaths) {
    script.voice(600);
    const endMs = script.nowMs;
    script.after(50).take({ type: 'transcript.final', text: 'I want to book a table.' });
    if (heardAfterMs !== undefined) script.at(endMs + heardAfterMs).answer('For how many people?');
    if (goesOnAfterMs !== undefined) {
      script.at(endMs + goesOnAfterMs);
      continue;
    }
    script.after(4_000);
    if (heardAfterMs === undefined) continue;
    const replyId = script.last('generate')?.replyId ?? '';
    script.take({ type: 'playout.finished', replyId, heard: 'For how many people?' }).after(500);
  }
  return logFrom(script.state.config, inputs);
}

const own = (breaths: readonly Breath[]) => regretOfPart(callWith(breaths), []).own;

describe('the regret of a call', () => {
  it('counts the wait of a turn as needless if the caller was seen silent until nothing could be cut off', () => {
    expect(own([{ heardAfterMs: 2_100 }])).toEqual({
      ...{ turns: 1, cut_offs: 0, unknown: 0 },
      ...{ wait_ms: 500, known_wait_ms: 500 },
    });
  });

  it('counts a turn as unknown if the answer was heard before that', () => {
    expect(own([{ heardAfterMs: 900 }])).toEqual({
      ...{ turns: 1, cut_offs: 0, unknown: 1 },
      ...{ wait_ms: 500, known_wait_ms: 0 },
    });
  });

  it('counts a caller who goes on after the turn was taken as cut off, with no needless wait but that after it', () => {
    expect(own([{ goesOnAfterMs: 700 }, { heardAfterMs: 2_600 }])).toMatchObject({
      ...{ turns: 2, cut_offs: 1, unknown: 0 },
      ...{ wait_ms: 500, known_wait_ms: 500 },
    });
  });

  it('regrets no pause in which the agent waited until the caller went on', () => {
    expect(own([{ goesOnAfterMs: 300 }, { heardAfterMs: 2_600 }])).toMatchObject({ turns: 1, cut_offs: 0 });
  });

  it('knows of shorter waits what happened, and of longer ones that they are hidden behind the answer', () => {
    const log = callWith([{ goesOnAfterMs: 450 }, { heardAfterMs: 2_100 }]);
    const setting = (response_wait_ms: number) => ({ eagerness: 'balanced', response_wait_ms }) as const;
    const { candidates } = regretOfPart(log, [setting(300), setting(2_000)]);
    expect(candidates[0]).toMatchObject({ turns: 2, cut_offs: 1, unknown: 0 });
    expect(candidates[1]).toMatchObject({ turns: 1, cut_offs: 0, unknown: 1 });
  });

  it('names a log that cannot be read', () => {
    const call = { session_id: 'a', log: 'torn', candidates: [] };
    expect(regretOfCall(call)).toEqual({ outcome: 'unreadable', session_id: 'a' });
  });

  it('answers what can be read whatever stands in a log, so that other calls are not lost with it', () => {
    const { header, inputs } = callWith([
      { heardAfterMs: 2_600 },
      { heardAfterMs: 2_600 },
      { heardAfterMs: 2_600 },
    ]);
    const fields = [...new Set(inputs.flatMap((input) => Object.keys(input)))];
    const damaged = fields.flatMap((field) =>
      [null, 'torn', -1e9, 1e9, -1e308, 1e308].map((value) =>
        inputs.map((input) => (field in input && field !== 'type' ? { ...input, [field]: value } : input)),
      ),
    );
    const calls = damaged.map((lines, index) => {
      const log = textOf({ header, inputs: lines as TurnInput[] });
      return regretOfCall({ session_id: String(index), log, candidates: [] });
    });
    expect(calls.length).toBeGreaterThan(20);
    expect(regretOutcomes.parse(JSON.parse(JSON.stringify({ calls }))).calls).toHaveLength(calls.length);
    expect(new Set(calls.map(({ outcome }) => outcome))).toEqual(new Set(['measured', 'unreadable']));
  });
});
