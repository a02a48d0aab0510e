import { describe, expect, it } from 'vitest';
import { type HeardCall, readHeardCall } from '#control-plane/calls/recordings/heard-call.ts';
import { makeVoiceTest } from '#control-plane/calls/recordings/make-voice-test.ts';
import { VOICE_FAULTS, type VoiceFault, voiceTest } from '#protocol/voice-test.ts';
import { storedLog } from '../../../runtime/replay/logged-call.ts';

const WALL = '2026-11-01T09:00:00.000Z';
const START_MS = Date.parse(WALL);

/** A flight log whose clock began at 5,000 ms, with inputs at ms of the call. */
function log(...inputs: Record<string, unknown>[]): string {
  const head = { flight_log_version: 1, started_at_ms: 5_000, wall_time: WALL, machine_version: 20 };
  const shifted = inputs.map((input) =>
    Object.fromEntries(
      Object.entries(input).map(([name, value]) => [name, typeof value === 'number' ? value + 5_000 : value]),
    ),
  );
  return [head, ...shifted].map((line) => `${JSON.stringify(line)}\n`).join('');
}
const said = (startMs: number, endMs: number, text: string) => [
  { type: 'voice.started', speechStartMs: startMs, atMs: startMs + 100 },
  { type: 'voice.stopped', speechEndMs: endMs, atMs: endMs + 100 },
  { type: 'transcript.final', text, atMs: endMs + 200 },
];
const played = (startMs: number, endMs: number, end: 'finished' | 'cleared' = 'finished') => [
  { type: 'playout.started', replyId: 'r', wireMs: startMs, atMs: startMs },
  { type: `playout.${end}`, replyId: 'r', heard: '', atMs: endMs },
];

function heard(...inputs: Record<string, unknown>[]): HeardCall {
  const call = readHeardCall(log(...inputs));
  if (!call) throw new Error('not read');
  return call;
}
function made(call: HeardCall, fault: VoiceFault | null = null, tool: string | null = null) {
  const of = { sessionId: 's1', agentName: 'Ann', isEndedByCaller: true, heard: call };
  return makeVoiceTest(of, { fault, tool });
}

const CUT_OFF = heard(
  ...played(0, 1_000),
  ...said(1_500, 3_000, 'I would like a table'),
  ...played(3_400, 4_100, 'cleared'),
  ...said(3_900, 4_800, 'for two people'),
  ...played(5_500, 7_000),
);

describe('what is heard of a call', () => {
  it('has the words and times of both sides, by the wall clock', () => {
    expect(CUT_OFF.caller).toMatchObject([
      { is: 'speech', startMs: START_MS + 1_500, endMs: START_MS + 3_000, text: 'I would like a table' },
      { startMs: START_MS + 3_900, text: 'for two people' },
    ]);
    expect(CUT_OFF.agent.at(1)).toEqual({ startMs: START_MS + 3_400, endMs: START_MS + 4_100 });
  });

  it('shares words that were recognised together between the utterances, by their lengths', () => {
    const [first, second] = [said(0, 2_000, ''), said(3_000, 4_000, 'one two three four five six')];
    expect(heard(...first, ...second).caller.map(({ text }) => text)).toEqual([
      'one two three four',
      'five six',
    ]);
  });

  it('leaves sounds without words out, and joins keys pressed in one go', () => {
    const keys = [0, 400, 800, 5_000].map((atMs, index) => ({
      type: 'digit.pressed',
      digit: String(index),
      atMs,
    }));
    const cough = said(9_000, 9_200, '');
    expect(heard(...keys, ...cough).caller.map(({ is, text }) => [is, text])).toEqual([
      ['keys', '012'],
      ['keys', '3'],
    ]);
  });

  it('is null for what is no flight log', () => {
    expect(readHeardCall('<html>')).toBe(null);
    expect(readHeardCall('')).toBe(null);
  });
});

describe('a test made from a call', () => {
  it('has the caller’s hesitation where it was, and expects that the agent waits', () => {
    expect(made(CUT_OFF).test).toEqual({
      parley_voice_test: 1,
      name: 'Ann: does not cut the caller off',
      steps: [
        { do: 'listen', quiet_ms: 600, timeout_ms: 10_000 },
        { do: 'say', text: 'I would like a table', is_unfinished: true },
        { do: 'pause', ms: 900 },
        { do: 'say', text: 'for two people' },
        { do: 'listen', timeout_ms: 10_000 },
      ],
      expect: { cut_offs: 0 },
      made_from: {
        session_id: 's1',
        fault: 'cut_off',
        replaced: { numbers: 0, email_addresses: 0, names: 0 },
      },
    });
  });

  it('interrupts where the caller did, and expects that the agent stops', () => {
    const call = heard(
      ...said(0, 1_000, 'when are you open'),
      ...played(1_500, 9_000),
      ...said(3_200, 4_500, 'wait stop I have another question'),
    );
    const { test } = made(call);
    expect(test?.expect).toEqual({ missed_interruptions: 0 });
    expect(test?.steps).toContainEqual({
      do: 'interrupt',
      text: 'wait stop I have another question',
      after_ms: 1_700,
    });
  });

  it('takes a short word over an agent that spoke on for a backchannel', () => {
    const call = heard(
      ...said(0, 1_000, 'when are you open'),
      ...played(1_500, 9_000),
      ...said(3_200, 3_500, 'mhm'),
    );
    expect(made(call, 'tool_not_called', 'book').test?.steps).toContainEqual(
      expect.objectContaining({ do: 'interrupt', is_backchannel: true }),
    );
  });

  it('presses keys over the agent as long after the last of the caller as they were', () => {
    const keys = { type: 'digit.pressed', digit: '2', atMs: 4_000 };
    const call = heard(...said(0, 1_000, 'a table please'), ...played(1_500, 9_000), keys);
    expect(made(call, 'tool_not_called', 'book').test?.steps.slice(1, 3)).toEqual([
      { do: 'pause', ms: 3_000 },
      { do: 'press', digits: '2' },
    ]);
  });

  it('is impatient where the caller was, and expects a shorter silence', () => {
    const call = heard(
      ...said(0, 1_000, 'when are you open'),
      ...said(7_000, 8_000, 'hello'),
      ...played(8_500, 9_500),
    );
    const { test } = made(call);
    expect(test?.expect).toEqual({ silence_ms: 3_600, unanswered: 0 });
    expect(test?.steps).toContainEqual({
      do: 'listen',
      timeout_ms: 10_000,
      impatient: { after_ms: 6_000, text: 'hello' },
    });
  });

  it('expects the call of a tool that the user names', () => {
    const call = heard(...said(0, 1_000, 'a table please'), ...played(1_500, 2_000));
    expect(made(call, null, 'book_table').test).toMatchObject({
      expect: { tools: [{ name: 'book_table' }] },
      made_from: { fault: 'tool_not_called' },
    });
    expect(made(call, 'tool_not_called').problem).toMatch(/needs the name/);
  });

  it('is not made for a fault that the call does not have', () => {
    const call = heard(...said(0, 1_000, 'hello'), ...played(1_500, 2_000));
    expect(made(call).problem).toMatch(/name a fault/);
    expect(made(call, 'cut_off').problem).toBe('cut_off did not happen');
    expect(made(heard(...played(0, 1_000))).problem).toMatch(/neither spoke/);
  });

  it('has the fault in one of its steps: a later one of a long call is none', () => {
    const answered = Array.from({ length: 100 }, (_, index) => [
      ...said(index * 10_000, index * 10_000 + 1_000, 'and then'),
      ...played(index * 10_000 + 1_500, index * 10_000 + 3_000),
    ]).flat();
    const at = 1_000_000;
    const late = [...said(at, at + 1_000, 'when are you open'), ...said(at + 8_000, at + 9_000, 'hello')];
    const { test, problem } = made(heard(...answered, ...late, ...played(at + 9_500, at + 10_000)));
    expect([test, problem]).toEqual([null, expect.stringMatching(/name a fault/)]);
    expect(made(heard(...late, ...played(at + 9_500, at + 10_000))).test?.expect).toMatchObject({
      unanswered: 0,
    });
  });

  it('is a valid test of a call with a silence of two hours', () => {
    const later = 7_200_000;
    const call = heard(
      ...said(0, 1_000, 'hello'),
      ...said(later, later + 1_000, 'hello'),
      ...played(later + 1_500, later + 2_000),
      { type: 'digit.pressed', digit: '1', atMs: 3 * later },
    );
    expect(voiceTest.parse(made(call).test)).toMatchObject({ expect: { silence_ms: 600_000 } });
  });

  it.each([
    [
      ['five five five', 'one two three', 'four five six'],
      ['one two three', 'four five six', 'seven eight nine'],
    ],
    [
      ['my name is', 'Anna Schmidt'],
      ['my name is', 'Alex Miller'],
    ],
    [
      ['two', 'at seven'],
      ['two', 'at seven'],
    ],
  ])('%j, said with pauses between, become %j', (spoken, replaced) => {
    const inputs = spoken.flatMap((text, index) => said(index * 4_000, index * 4_000 + 1_000, text));
    const { test } = made(heard(...inputs), 'tool_not_called', 'book');
    const lines = test?.steps.flatMap((step) =>
      step.do === 'say' ? [step.text] : step.do === 'listen' && step.impatient ? [step.impatient.text] : [],
    );
    expect(lines).toEqual(replaced);
  });

  it('has other keys than the card number that was pressed in groups', () => {
    const keys = [...'987654'].map((digit, index) => ({
      ...{ type: 'digit.pressed', digit },
      atMs: index * 200 + (index < 3 ? 0 : 5_000),
    }));
    const { test } = made(heard(...keys), 'tool_not_called', 'book');
    expect(test?.steps).toMatchObject([
      { digits: '123' },
      { do: 'pause' },
      { digits: '456' },
      { do: 'listen' },
    ]);
    expect(test?.made_from?.replaced).toMatchObject({ numbers: 1 });
  });

  it('is a valid test for every simulated call that has a fault', async () => {
    let tests = 0;
    for (let seed = 1; seed <= 30; seed++) {
      const call = readHeardCall(await storedLog(seed));
      if (!call) throw new Error('not read');
      for (const fault of VOICE_FAULTS) {
        const { test } = made(call, fault, 'book');
        if (!test) continue;
        tests += 1;
        expect(() => voiceTest.parse(test)).not.toThrow();
      }
    }
    expect(tests).toBeGreaterThan(20);
  });
});
