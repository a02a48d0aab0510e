import { describe, expect, it } from 'vitest';
import { speakWithFlite } from '#caller/scene.ts';
import { CommandError, type Json } from '#cli/api.ts';
import { SimulatedCaller } from '#cli/simulated-caller.ts';
import { voiceTest } from '#protocol/voice-test.ts';

const ANSWERED_AT = '2026-03-02T15:04:05.000Z';
const CONVERSATION = { do: 'converse', goal: 'a table', maxLines: 12, quietMs: 1, timeoutMs: 1 } as const;
const SAY = { do: 'say', text: 'For four.', keys: null, cut_in: null, goal: 'open', model: 'm' };
const neverOvertaken = { movesLeft: 3, hasHeard: true, isOvertaken: () => false };

/** What the agent said, ms after the answer. */
function item(content: string, atMs: number): Json {
  const created_at = new Date(Date.parse(ANSWERED_AT) + atMs).toISOString();
  return { type: 'message', role: 'assistant', content, created_at };
}

/** An API whose transcript has these items, one set for each time it is read, and then the last one. */
function callerAt(
  transcripts: Json[][],
  post: (path: string, body: Json) => Promise<Json> = async () => SAY,
) {
  const { caller } = voiceTest.parse({
    ...{ parley_voice_test: 1, name: 'a', expect: {}, steps: [{ do: 'converse', goal: 'a table' }] },
    caller: { persona: 'In a hurry', model: 'openai/other' },
  });
  const asked: Json[] = [];
  const api = {
    get: async () => ({ started_at: ANSWERED_AT, items: transcripts.shift() ?? [] }),
    post: async (path: string, body: Json) => {
      asked.push({ path, body });
      return post(path, body);
    },
  };
  const speak = async (text: string) => speakWithFlite(text, 'slt', 1);
  const paths = { session: '/preview-sessions/s', questions: '/test-calls/s' };
  const mind = new SimulatedCaller({ api, paths, caller, speak });
  mind.begin();
  return { mind, asked };
}

const next = (mind: SimulatedCaller, situation = neverOvertaken) =>
  mind.next({ ...CONVERSATION, impatient: null }, situation);

describe('a caller whose moves a model decides', () => {
  it('asks for the next move with the call in order, each side’s turns in a row as one', async () => {
    const said = [item('Hello.', -900), item('This is Luigi’s.', -500), item('For how many?', 60_000)];
    const { mind, asked } = callerAt([said]);
    mind.note('A table, please.');
    const move = await next(mind);
    expect(move).toMatchObject({ do: 'say', goal: 'open', cutIn: null, line: { text: 'For four.' } });
    expect(asked).toEqual([
      {
        path: '/test-calls/s/moves',
        body: {
          ...{ goal: 'a table', persona: 'In a hurry', model: 'openai/other', moves_left: 3 },
          turns: [
            { role: 'agent', text: 'Hello. This is Luigi’s.' },
            { role: 'caller', text: 'A table, please.' },
            { role: 'agent', text: 'For how many?' },
          ],
        },
      },
    ]);
  });

  it('reads the transcript until it has what the agent has said since the last time', async () => {
    const first = [item('Hello.', 0)];
    const { mind, asked } = callerAt([first, first, first, [...first, item('For how many?', 9_000)]]);
    await next(mind);
    await next(mind);
    expect(asked.at(-1)?.body.turns.at(-1)).toEqual({ role: 'agent', text: 'Hello. For how many?' });
  });

  it('awaits the answer to its last words, if a reply that they interrupted is there first', async () => {
    const earlier = [item('We are open from', -500)];
    const { mind, asked } = callerAt([earlier, [...earlier, item('For how many?', 9_000)]]);
    mind.note('A table, please.');
    await next(mind);
    expect(asked[0]?.body.turns.at(-1)).toEqual({ role: 'agent', text: 'For how many?' });
  });

  it('awaits nothing from an agent that was not heard', async () => {
    const transcripts = [[], [item('Too late.', 9_000)]];
    const { mind, asked } = callerAt(transcripts);
    await next(mind, { ...neverOvertaken, hasHeard: false });
    expect([asked[0]?.body.turns, transcripts.length]).toEqual([[], 1]);
  });

  it('says nothing to an agent that has gone on speaking meanwhile', async () => {
    const { mind } = callerAt([[item('One moment.', 0)]]);
    expect(await next(mind, { ...neverOvertaken, isOvertaken: () => true })).toBe(null);
  });

  it('says nothing once the agent has hung up', async () => {
    const refusal = new CommandError('not running', 2, 'test_call_not_running', 409);
    const { mind } = callerAt([[item('Bye.', 0)]], () => Promise.reject(refusal));
    expect(await next(mind)).toBe(null);
  });

  it('ends one run if the model fails, and all if the account may not ask', async () => {
    for (const [reason, status, isOfAll] of [
      ['test_call_unanswered', 502, false],
      ['too_many_a_minute', 429, false],
      ['test_spending_reached', 429, true],
    ] as const) {
      const { mind } = callerAt([[item('Hi.', 0)]], () =>
        Promise.reject(new CommandError('no', 2, reason, status)),
      );
      const error = await next(mind).catch((caught: unknown) => caught);
      expect(error instanceof CommandError).toBe(isOfAll);
    }
  });

  it('waits instead of words that its voice cannot speak', async () => {
    const { mind } = callerAt([[item('Hi.', 0)]], async () => ({ ...SAY, text: '你好' }));
    expect(await next(mind)).toEqual({ do: 'wait', goal: 'open' });
  });

  it.each([
    [{ ...SAY, goal: 'open' }, 'turn'],
    [{ ...SAY, goal: 'reached' }, 'backchannel'],
    [{ ...SAY, do: 'hang_up', goal: 'open' }, 'backchannel'],
  ])('wants an answer to its lines, but not to the last one', async (answer, means) => {
    const { mind } = callerAt([[item('Hi.', 0)]], async () => answer);
    expect(await next(mind)).toMatchObject({ line: { text: 'For four.', means } });
  });

  it('refuses an answer that is no move', async () => {
    const { mind } = callerAt([[item('Hi.', 0)]], async () => ({ do: 'rob', text: 'a bank' }));
    await expect(next(mind)).rejects.toThrow();
  });
});
