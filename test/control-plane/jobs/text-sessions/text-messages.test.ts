import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answer, openTextSessions, type TextSessions } from './open-text-sessions.ts';

const PRICE = 10_000;

let api: TextSessions;
beforeEach(async () => {
  api = await openTextSessions();
});
afterEach(() => api.close());

const turns = (count: number) => api.placed(count);

describe('a message of a text session', () => {
  it('is answered by the agent, and both are in the session', async () => {
    const id = await api.create({ dynamic_variables: { name: 'Ada' }, end_user_id: 'u-1' });
    const sent = api.send(id, 'Hello?');
    await turns(1);
    expect(api.dispatch.textTurns[0]?.job).toMatchObject({
      message: 'Hello?',
      medium: 'chat',
      number: 1,
      items: [],
      is_streamed: false,
      plan: { variables: { name: 'Ada' }, end_user_id: 'u-1', system_variables: { channel: 'chat' } },
    });
    await api.finish(answer('Good day!'));
    const { status, body } = await sent;
    expect(status).toBe(200);
    expect(body).toMatchObject({
      text_session_id: id,
      reply: 'Good day!',
      session_status: 'active',
      usage: [{ model: 'openai/test', input_tokens: 9 }],
      items: [
        { type: 'message', role: 'user', content: 'Hello?' },
        { type: 'message', role: 'assistant', content: 'Good day!' },
      ],
    });
    expect(await api.get(`/v1/agent/text-sessions/${id}`)).toMatchObject({
      status: 'active',
      message_count: 1,
      end_user_id: 'u-1',
      analysis: null,
      items: [{ content: 'Hello?' }, { content: 'Good day!' }],
    });
  });

  it('brings the conversation so far to whichever worker answers it', async () => {
    const id = await api.create();
    const first = api.send(id, 'One');
    await turns(1);
    await api.finish(answer('First'));
    await first;
    const second = api.send(id, 'Two');
    await turns(2);
    expect(api.dispatch.textTurns[1]?.job.items.map((item) => 'content' in item && item.content)).toEqual([
      'One',
      'First',
    ]);
    await api.finish(answer('Second'));
    expect((await second).body.reply).toBe('Second');
  });

  it('that comes while another is being answered waits for its turn', async () => {
    const id = await api.create();
    const [first, second] = [api.send(id, 'One', 'k1'), api.send(id, 'Two', 'k2')];
    await turns(1);
    expect(api.dispatch.textTurns).toHaveLength(1);
    await api.finish(answer('A'));
    await turns(2);
    expect(api.dispatch.textTurns[1]?.job.items).toHaveLength(2);
    await api.finish(answer('B'));
    const replies = [(await first).body.reply, (await second).body.reply];
    expect(replies.sort()).toEqual(['A', 'B']);
  });

  it('with the key of an earlier one gets that one’s answer, and nothing runs or costs twice', async () => {
    const id = await api.create();
    const before = await api.balance(api.user.userId);
    const first = api.send(id, 'Book it', 'key-1');
    await turns(1);
    const during = api.send(id, 'Book it', 'key-1');
    await api.finish(answer('Booked.'));
    const [one, two, three] = [await first, await during, await api.send(id, 'Book it', 'key-1')];
    expect(new Set([one, two, three].map(({ body }) => body.message_id)).size).toBe(1);
    expect(three.body.reply).toBe('Booked.');
    expect(api.dispatch.textTurns).toHaveLength(1);
    expect(before - (await api.balance(api.user.userId))).toBe(PRICE);
  });

  it('with the key of another message is refused', async () => {
    const id = await api.create();
    const first = api.send(id, 'One', 'k');
    await turns(1);
    await api.finish(answer('x'));
    await first;
    expect(await api.send(id, 'Two', 'k')).toMatchObject({
      status: 422,
      body: { reason: 'idempotency_key_reuse' },
    });
  });

  it('without content lets the agent open the conversation, but only at its beginning', async () => {
    const id = await api.create();
    const opening = api.send(id, null);
    await turns(1);
    expect(api.dispatch.textTurns[0]?.job.message).toBeNull();
    await api.finish(answer('Welcome!'));
    expect((await opening).body.reply).toBe('Welcome!');
    expect(await api.send(id, null)).toMatchObject({ status: 400 });
  });

  it('of another team looks like one of a missing session', async () => {
    const id = await api.create();
    const stranger = await api.createUser();
    const answered = await api.request('POST', `/v1/agent/text-sessions/${id}/messages`, {
      key: stranger.key,
      body: { content: 'Hi' },
    });
    expect(answered.status).toBe(404);
  });

  it.each([
    [{ content: '' }, 'content'],
    [{ content: ' \n' }, 'content'],
    [{ content: 'x'.repeat(8_001) }, 'content'],
    [{ content: 'x', other: 1 }, 'other'],
  ])('is refused at the border: %#', async (body, field) => {
    const id = await api.create();
    const refused = await api.request('POST', `/v1/agent/text-sessions/${id}/messages`, {
      key: api.user.key,
      body,
    });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain(field);
  });

  it('beyond the number that may wait in one session is refused', async () => {
    const id = await api.create();
    const waiting = Array.from({ length: 8 }, (_, index) => api.send(id, `${index}`));
    await turns(1);
    while ((await api.context.models.textTurns.countDocuments({})) < 8) await api.loop.idle();
    expect(await api.send(id, 'one more')).toMatchObject({
      status: 409,
      body: { reason: 'text_turns_waiting' },
    });
    for (let count = 1; count <= 8; count++) {
      await turns(count);
      await api.finish(answer('ok'));
    }
    await Promise.all(waiting);
  });
});

describe('the price of a message', () => {
  it('is charged before the answer, and returned if there is none', async () => {
    const id = await api.create();
    const before = await api.balance(api.user.userId);
    const sent = api.send(id, 'Hello?');
    await turns(1);
    expect(before - (await api.balance(api.user.userId))).toBe(PRICE);
    await api.finish(answer('', { error: 'The model refused', items: [] }));
    expect(await sent).toMatchObject({
      status: 502,
      body: { reason: 'text_turn_failed', message: expect.stringContaining('The model refused') },
    });
    expect(await api.balance(api.user.userId)).toBe(before);
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).cost).toBe('0.00');
    expect(await api.context.ledger.verify(api.user.userId)).toBeNull();
  });

  it('is in the cost of its session', async () => {
    const id = await api.create();
    for (const count of [1, 2]) {
      const sent = api.send(id, 'Hello?');
      await turns(count);
      await api.finish(answer('Hi'));
      await sent;
    }
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).cost).toBe('0.02');
  });

  it('that the wallet does not cover refuses the message with 402, and nothing is stored', async () => {
    const id = await api.create();
    await api.context.ledger.post({
      userId: api.user.userId,
      key: 'spent',
      kind: 'adjust',
      amountMicros: PRICE - 1 - (await api.balance(api.user.userId)),
    });
    expect(await api.send(id, 'Hello?')).toMatchObject({
      status: 402,
      body: { message: 'Out of API credit' },
    });
    expect(await api.context.models.textTurns.countDocuments({})).toBe(0);
    const agentId = await api.publishAgent(api.user);
    const created = await api.request('POST', '/v1/agent/text-sessions', {
      key: api.user.key,
      body: { agent_id: agentId },
    });
    expect(created.status).toBe(402);
  });

  it('counts for the daily cap of the agent', async () => {
    const agentId = await api.publishAgent(api.user);
    await api.request('PUT', `/v1/agent/agents/${agentId}/limits`, {
      key: api.user.key,
      body: { daily_cap: '0.01', concurrent_calls: null },
    });
    const id = await api.create({}, agentId);
    const sent = api.send(id, 'Hello?');
    await turns(1);
    await api.finish(answer('Hi'));
    await sent;
    expect(await api.send(id, 'And now?')).toMatchObject({ status: 429 });
  });
});

describe('the life of a text session', () => {
  it('ends by request, and takes no more messages', async () => {
    const id = await api.create();
    const ended = await api.request('POST', `/v1/agent/text-sessions/${id}/end`, { key: api.user.key });
    expect(ended.status).toBe(204);
    expect(await api.send(id, 'Hello?')).toMatchObject({
      status: 409,
      body: { reason: 'text_session_ended' },
    });
    expect(await api.get(`/v1/agent/text-sessions/${id}`)).toMatchObject({
      status: 'ended',
      end_reason: 'client',
    });
  });

  it('ends when the agent ends the conversation', async () => {
    const id = await api.create();
    const sent = api.send(id, 'Bye');
    await turns(1);
    await api.finish(answer('Goodbye!', { has_ended: true }));
    expect((await sent).body).toMatchObject({ reply: 'Goodbye!', session_status: 'ended' });
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).end_reason).toBe('agent');
  });

  it('ends after an hour without a message, counted from the last one', async () => {
    const id = await api.create();
    await api.clock.advance(59 * 60_000);
    const sent = api.send(id, 'Still here');
    await turns(1);
    await api.finish(answer('Fine'));
    await sent;
    await api.clock.advance(59 * 60_000);
    await api.loop.idle();
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).status).toBe('active');
    await api.clock.advance(2 * 60_000);
    await api.loop.idle();
    expect(await api.get(`/v1/agent/text-sessions/${id}`)).toMatchObject({
      status: 'ended',
      end_reason: 'idle',
    });
  });

  it('appears in the list of its team, by agent and status, and not among the sessions of calls', async () => {
    const agentId = await api.publishAgent(api.user);
    const id = await api.create({ metadata: { ticket: 7 } }, agentId);
    await api.create();
    const list = await api.get(`/v1/agent/text-sessions?agent_id=${agentId}&status=active`);
    expect(list.text_sessions).toMatchObject([{ text_session_id: id, metadata: { ticket: 7 } }]);
    expect((await api.get('/v1/agent/text-sessions?status=ended')).text_sessions).toEqual([]);
    expect((await api.get('/v1/agent/sessions')).sessions).toEqual([]);
  });

  it('of more than 8 MiB shows its newest turns, and tells the model at least the last one', async () => {
    const id = await api.create();
    const large = 'x'.repeat(450_000);
    for (let turn = 1; turn <= 10; turn++) {
      const sent = api.send(id, `${turn}`);
      await turns(turn);
      await api.finish(answer(large));
      await sent;
    }
    const { items } = await api.get(`/v1/agent/text-sessions/${id}`);
    expect(items.length).toBeGreaterThan(14);
    expect(items.length).toBeLessThan(20);
    expect(items.at(-2).content).toBe('10');
    expect(api.dispatch.textTurns.at(-1)?.job.items).toMatchObject([{ content: '9' }, {}]);
  });

  it('goes on with the context of an earlier text session of the same agent', async () => {
    const agentId = await api.publishAgent(api.user);
    const first = await api.create({ end_user_id: 'u-9' }, agentId);
    const sent = api.send(first, 'My name is Ada');
    await turns(1);
    await api.finish(answer('Hello Ada'));
    await sent;
    const next = await api.create({ continue_session_id: first }, agentId);
    expect(await api.get(`/v1/agent/text-sessions/${next}`)).toMatchObject({
      continued_from: first,
      end_user_id: 'u-9',
      items: [{ content: 'My name is Ada' }, { content: 'Hello Ada' }],
    });
    const asked = api.send(next, 'Who am I?');
    await turns(2);
    expect(api.dispatch.textTurns[1]?.job.items).toMatchObject([
      { content: 'My name is Ada' },
      { content: 'Hello Ada' },
    ]);
    await api.finish(answer('Ada'));
    await asked;
    const { text_sessions } = await api.get(`/v1/agent/text-sessions?continued_from=${first}`);
    expect(text_sessions).toMatchObject([{ text_session_id: next }]);
  });

  it('goes on with the transcript of a call, and not with one of another agent', async () => {
    const agentId = await api.publishAgent(api.user);
    const call = await api.request('POST', '/v1/agent/sessions', {
      key: api.user.key,
      body: { agent_id: agentId },
    });
    const callId: string = call.body.session_id;
    await api.report(callId, { type: 'joined', at: api.at() });
    const item = {
      type: 'message' as const,
      role: 'user' as const,
      content: 'I called about the boiler',
      turn_id: 1,
      created_at: api.at(),
      id: 'm1',
    };
    await api.report(callId, { type: 'items', items: [item] });
    const id = await api.create({ continue_session_id: callId }, agentId);
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).items).toMatchObject([
      { content: 'I called about the boiler' },
    ]);
    const other = await api.publishAgent(api.user);
    const refused = await api.request('POST', '/v1/agent/text-sessions', {
      key: api.user.key,
      body: { agent_id: other, continue_session_id: callId },
    });
    expect(refused.status).toBe(404);
  });
});
