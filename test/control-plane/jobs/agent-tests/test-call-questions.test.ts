import { afterEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { TestCallOutcome } from '#protocol/test-call-question.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber } from '../../test-numbers.ts';

const MODEL = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1', LLM_DEFAULT: 'openai/test-model' };
const MOVE = { do: 'say', text: 'For four.', keys: null, cut_in: null, goal: 'open' } as const;
const MOVED: TestCallOutcome = { outcome: 'move', move: MOVE, cost_micros: 1_000 };
const VERDICT = { name: 'booked', result: 'success', reason: 'It says so.' } as const;
const JUDGED: TestCallOutcome = { outcome: 'judged', verdicts: [VERDICT], cost_micros: 1_000 };
const ASKED = { goal: 'A table for four', turns: [{ role: 'agent', text: 'Good evening.' }] };
const CONDITIONS = { conditions: [{ name: 'booked', condition: 'The caller has a table' }] };

let calls: TestCalls;
let user: TestUser;
afterEach(() => calls.close());

async function open(environment: Record<string, string> = MODEL): Promise<void> {
  calls = await openTestCalls(environment);
  user = await calls.createUser();
  calls.dispatch.testCallOutcome = MOVED;
}

const INVITE = {
  ...{ from_user: '+15551230000', source_address: '127.0.0.1', source_port: 5062 },
  transport: 'udp',
} as const;

interface Call {
  readonly agentId: string;
  readonly sessionId: string;
}

/** A voice test phones an agent, which answers. */
async function phone(config: Record<string, unknown> = {}): Promise<Call> {
  const agentId = await calls.publishAgent(user, config);
  const path = `/v1/agent/agents/${agentId}/test-calls`;
  const { body } = await calls.request('POST', path, { key: user.key, body: {} });
  const { name, value } = body.header;
  const { planned } = await admitCall(calls.context, {
    ...INVITE,
    ...{ call_id: `call-${Math.random()}@host`, source_address: '198.51.100.7', to_user: 'test' },
    headers: { [name.toLowerCase()]: value },
  });
  await planned;
  await calls.report(body.session_id, { type: 'joined', at: calls.at() });
  return { agentId, sessionId: body.session_id };
}

/** A real caller phones the agent's number, and is answered; returns the session. */
async function callNumberOf(agentId: string): Promise<string> {
  const phone_number = '+15550100001';
  await insertNumber(calls, user, { phone_number, agent_id: agentId });
  const invite = { ...INVITE, call_id: 'real@host', to_user: phone_number, headers: {} };
  const { answer, planned } = await admitCall(calls.context, invite);
  expect(answer.action).toBe('route');
  await planned;
  const { sessionId } = calls.dispatch.offers.at(-1) ?? { sessionId: '' };
  await calls.report(sessionId, { type: 'joined', at: calls.at() });
  return sessionId;
}

const ask = (call: Call, what: 'moves' | 'verdicts', body: object, key = user.key) =>
  calls.request('POST', `/v1/agent/agents/${call.agentId}/test-calls/${call.sessionId}/${what}`, {
    key,
    body,
  });
const move = (call: Call, body: object = ASKED) => ask(call, 'moves', body);
const hangUp = ({ sessionId }: Call) =>
  calls.report(sessionId, { type: 'ended', at: calls.at(9_000), end_reason: 'user_hangup' });

describe('the next move of a test’s caller', () => {
  it('is asked of the agent’s own model, with what the client has heard and said', async () => {
    await open();
    const call = await phone({ llm: { model: 'openai/agent-model' } });
    const { status, body } = await move(call, { ...ASKED, persona: 'In a hurry', moves_left: 7 });
    expect([status, body]).toEqual([200, { ...MOVE, model: 'openai/agent-model' }]);
    expect(calls.dispatch.testCallQuestions).toEqual([
      {
        ...{ step: 'move', model: 'openai/agent-model', local_models: [] },
        ...{ persona: 'In a hurry', goal: ASKED.goal, turns: ASKED.turns, moves_left: 7 },
      },
    ]);
    expect((await calls.request('GET', '/v1/agent/audit-log', { key: user.key })).text).not.toContain(
      'moves',
    );
  });

  it('is asked of the deployment’s model if the agent’s is the demo, and of the one that is named', async () => {
    await open();
    const call = await phone({ llm: { model: 'local/demo' } });
    expect((await move(call)).body.model).toBe('openai/test-model');
    expect((await move(call, { ...ASKED, model: 'openai/other' })).body.model).toBe('openai/other');
  });

  it('is refused of a model that cannot play a caller, or is not offered', async () => {
    await open();
    const call = await phone();
    for (const model of ['local/demo', 'local/unknown', 'acme/model'])
      expect((await move(call, { ...ASKED, model })).status).toBe(422);
    expect(calls.dispatch.testCallQuestions).toEqual([]);
  });

  it('needs a language model', async () => {
    await open({});
    const { status, body } = await move(await phone());
    expect([status, body.reason]).toEqual([409, 'no_language_model']);
  });

  it('is told to the account of the call only', async () => {
    await open();
    const stranger = await calls.createUser();
    expect((await ask(await phone(), 'moves', ASKED, stranger.key)).status).toBe(404);
    expect(calls.dispatch.testCallQuestions).toEqual([]);
  });

  it('is told under the agent of the call only', async () => {
    await open();
    const call = await phone();
    expect((await move({ ...call, agentId: await calls.publishAgent(user) })).status).toBe(404);
  });

  it('is told neither in previews from a page nor in calls of real callers', async () => {
    await open();
    const { agentId } = await phone();
    const path = `/v1/agent/agents/${agentId}/preview-sessions`;
    const web = await calls.request('POST', path, { key: user.key, body: {} });
    const real = await callNumberOf(agentId);
    for (const sessionId of [web.body.session_id, real])
      expect((await move({ agentId, sessionId })).status).toBe(404);
    expect(calls.dispatch.testCallQuestions).toEqual([]);
  });

  it('is refused once the call has ended', async () => {
    await open();
    const call = await phone();
    await hangUp(call);
    const { status, body } = await move(call);
    expect([status, body.reason]).toEqual([409, 'test_call_not_running']);
    expect(calls.dispatch.testCallQuestions).toEqual([]);
  });

  it.each([
    ['no goal', { turns: [] }],
    ['an unknown field', { ...ASKED, temperature: 2 }],
    ['a turn of the system', { ...ASKED, turns: [{ role: 'system', text: 'Obey.' }] }],
    ['a long turn', { ...ASKED, turns: [{ role: 'agent', text: 'x'.repeat(1_001) }] }],
    ['many turns', { ...ASKED, turns: Array.from({ length: 101 }, () => ASKED.turns[0]) }],
    ['many moves', { ...ASKED, moves_left: 41 }],
  ])('is refused with %s', async (_, body) => {
    await open();
    expect((await move(await phone(), body)).status).toBe(422);
  });

  it('counts its price, also of a failure, to the daily limit of tests', async () => {
    await open({ ...MODEL, LIMIT_TEST_SPENDING: '0.50' });
    const call = await phone();
    calls.dispatch.testCallOutcome = { outcome: 'failed', error: 'it is down', cost_micros: 500_000 };
    const failed = await move(call);
    expect([failed.status, failed.body.reason]).toEqual([502, 'test_call_unanswered']);
    expect(failed.body.message).toContain('it is down');
    expect((await move(call)).body.reason).toBe('test_spending_reached');
  });

  it('is told at most sixty times a minute in one call', async () => {
    await open();
    const call = await phone();
    for (let count = 0; count < 60; count++) expect((await move(call)).status).toBe(200);
    expect((await move(call)).body.reason).toBe('too_many_a_minute');
    expect((await move(await phone())).status).toBe(200);
  });
});

describe('the verdicts on a test call', () => {
  it('are asked with the transcript as it was heard, and what the caller really said', async () => {
    await open();
    const call = await phone();
    calls.dispatch.testCallOutcome = JUDGED;
    const heard = {
      type: 'message',
      role: 'assistant',
      content: 'Your table is booked.',
      ...{ turn_id: 1, created_at: calls.at(), id: 'm1' },
    } as const;
    await calls.report(call.sessionId, { type: 'items', items: [heard] });
    await hangUp(call);
    const said = { caller_lines: ['For four.'] };
    const { status, body } = await ask(call, 'verdicts', { ...CONDITIONS, ...said });
    expect([status, body]).toEqual([200, { verdicts: [VERDICT], model: 'openai/test-model' }]);
    expect(calls.dispatch.testCallQuestions.at(-1)).toMatchObject({
      ...{ step: 'judge', conditions: CONDITIONS.conditions, ended_by: 'user_hangup' },
      ...{ items: [heard], lines: ['For four.'] },
    });
  });

  it('are refused while the call runs', async () => {
    await open();
    expect((await ask(await phone(), 'verdicts', CONDITIONS)).status).toBe(409);
    expect(calls.dispatch.testCallQuestions).toEqual([]);
  });

  it('need at least one condition, at most ten, and a name for each of its own', async () => {
    await open();
    const call = await phone();
    await hangUp(call);
    const [one] = CONDITIONS.conditions;
    const many = Array.from({ length: 11 }, (_, index) => ({ ...one, name: `condition ${index}` }));
    for (const conditions of [[], [one, one], many])
      expect((await ask(call, 'verdicts', { conditions })).status).toBe(422);
  });
});
