import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber, sipOf } from '../../test-numbers.ts';

const CALLED = '+14155550123';
const TRUNK = {
  SIP_TRUNK_URI: 'trunk.example.com:5080',
  SIP_TRUNK_USERNAME: 'parley',
  SIP_TRUNK_PASSWORD: 'a trunk password',
};
const CALLS_PER_MINUTE = 10;
const HOLD = 70_000;
const CREDIT = 10_000_000;

let api: TestCalls;
let user: TestUser;
let agentId: string;
let managed: string;

beforeAll(async () => {
  api = await openTestCalls({ ...TRUNK, OUTBOUND_CALLS_PER_MINUTE: String(CALLS_PER_MINUTE) });
});
beforeEach(async () => {
  api.dispatch.reset();
  user = await api.createUser();
  agentId = await api.publishAgent(user);
  managed = await number();
});
afterAll(() => api.close());

const number = (changes?: Record<string, unknown>) => insertNumber(api, user, changes);
const managedNumber = async () => (await api.context.models.numbers.findById(managed).lean())?.phone_number;
const sip = (changes: Record<string, unknown> = {}) =>
  sipOf({
    termination_uri: 'pbx.example.com',
    termination_auth_username: 'u',
    termination_auth_password: api.context.secretBox.seal('p'),
    termination_headers: { 'X-Plan': 'gold', 'X-Site': 'berlin' },
    ...changes,
  });
const imported = (over: Record<string, unknown> = {}) => number({ provider: 'sip', sip: sip(over) });
const call = (over: Record<string, unknown> = {}, headers: Record<string, string> = {}, key = user.key) =>
  api.request('POST', '/v1/agent/phone-calls', {
    key,
    headers,
    body: { agent_id: agentId, phone_number_id: managed, to_number: CALLED, ...over },
  });
const refusal = async (over: Record<string, unknown> = {}) => {
  const { status, body } = await call(over);
  return [status, body.reason];
};
const read = async (id: string) =>
  (await api.request('GET', `/v1/agent/sessions/${id}`, { key: user.key })).body;
const sessions = () => api.context.models.sessions.countDocuments({ user_id: user.userId });

describe('an outbound call', () => {
  it('is pending while ringing: charged with the surcharge, on a worker, planned for the trunk', async () => {
    const { status, body } = await call({ metadata: { order: 7 }, dynamic_variables: { name: 'Bo' } });
    expect([status, body]).toEqual([
      201,
      { session_id: expect.stringMatching(/^[0-9a-f]{32}$/), status: 'queued' },
    ]);
    const id: string = body.session_id;
    expect(await api.balance(user.userId)).toBe(CREDIT - HOLD);
    expect(api.dispatch.offers).toEqual([{ sessionId: id, epoch: 1, kind: 'phone', sipCallId: null }]);
    const { phone_number: from } = (await api.context.models.numbers.findById(managed).lean()) as {
      phone_number: string;
    };
    expect(api.dispatch.plans[0]?.plan).toMatchObject({
      channel: 'phone_outbound',
      variables: { name: 'Bo' },
      system_variables: { caller_number: CALLED, dialed_number: from },
      transport: {
        type: 'sip_outbound',
        to_uri: `sip:${CALLED}@trunk.example.com:5080`,
        from_number: from,
        to_number: CALLED,
        username: 'parley',
        password: 'a trunk password',
        headers: { 'X-Service-Session-Id': id },
        ring_seconds: 30,
      },
    });
    expect(await read(id)).toMatchObject({
      status: 'pending',
      direction: 'outbound',
      source: 'phone',
      dial_status: null,
      answered_by: null,
      caller_number: CALLED,
      dialed_number: from,
      sip_call_id: null,
      metadata: { order: 7 },
    });
  });

  it('uses the trunk and headers of an imported number; the call’s own headers take precedence', async () => {
    const id = await imported();
    const sip_headers = { 'x-site': 'paris', 'User-to-User': 'abc' };
    expect((await call({ phone_number_id: id, to_number: '+870123456789', sip_headers })).status).toBe(201);
    expect(api.dispatch.plans[0]?.plan.transport).toMatchObject({
      to_uri: 'sip:+870123456789@pbx.example.com;transport=tcp',
      username: 'u',
      password: 'p',
      headers: { 'X-Plan': 'gold', 'x-site': 'paris', 'User-to-User': 'abc' },
    });
  });

  it('drops the trunk zero of a Japanese number', async () => {
    await call({ to_number: '+810312345678' });
    expect(api.dispatch.plans[0]?.plan.transport).toMatchObject({ to_number: '+81312345678' });
  });

  it.each([
    ['an unknown field', { nonsense: 1 }],
    ['a mistyped one', { to_number: 4 }],
    ['a header that is neither X- nor User-to-User', { sip_headers: { Route: 'x' } }],
    ['a header of the service', { sip_headers: { 'X-Service-Session-Id': 'x' } }],
    ['a header twice', { sip_headers: { 'X-a': 'x', 'x-A': 'y' } }],
    ['a header with a line break', { sip_headers: { 'X-A': 'x\r\nVia: y' } }],
    ['a long User-to-User', { sip_headers: { 'User-to-User': 'x'.repeat(129) } }],
    ['a large llm_extra_body', { llm_extra_body: { a: 'x'.repeat(17_000) } }],
  ])('answers 422 with a list for %s', async (_name, over) => {
    const { status, body } = await call(over);
    expect([status, Array.isArray(body)]).toEqual([422, true]);
    expect(JSON.stringify(body)).not.toContain('Via');
  });

  it('is rejected with a reason, in the documented order', async () => {
    const wrong = { agent_id: 'nobody', phone_number_id: 'none', to_number: 'x' };
    expect(await refusal(wrong)).toEqual([404, 'agent_not_found']);
    const draft = (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'Draft' } }))
      .body.agent_id;
    expect(await refusal({ ...wrong, agent_id: draft })).toEqual([409, 'agent_not_published']);
    await api.request('PATCH', `/admin/users/${user.userId}`, {
      key: api.rootKey,
      body: { outbound_enabled: false },
    });
    expect(await refusal({ ...wrong, agent_id: agentId })).toEqual([403, 'outbound_disabled']);
    await api.request('PATCH', `/admin/users/${user.userId}`, {
      key: api.rootKey,
      body: { outbound_enabled: true },
    });
    expect(await refusal({ ...wrong, agent_id: agentId })).toEqual([404, 'number_not_found']);
    const bad = { to_number: 'x' };
    expect(await refusal({ ...bad, phone_number_id: await number({ status: 'error' }) })).toEqual([
      422,
      'number_inactive',
    ]);
    expect(await refusal({ ...bad, phone_number_id: await number({ status: 'released' }) })).toEqual([
      404,
      'number_not_found',
    ]);
    expect(await refusal({ ...bad, phone_number_id: await number({ provider: 'legacy' }) })).toEqual([
      422,
      'number_provider_unsupported',
    ]);
    expect(await refusal({ ...bad, phone_number_id: await imported({ termination_uri: null }) })).toEqual([
      422,
      'number_termination_missing',
    ]);
    expect(await refusal({ ...bad, sip_headers: { 'X-A': 'b' } })).toEqual([422, 'sip_headers_unsupported']);
    for (const to_number of ['x', '', '4155550123', '+0155', '+1234567890123456'])
      expect(await refusal({ to_number })).toEqual([422, 'destination_invalid']);
    expect(await refusal({ to_number: await managedNumber() })).toEqual([422, 'self_call_blocked']);
    expect(await refusal({ to_number: '+4930123456' })).toEqual([422, 'destination_not_allowed']);
    expect(await refusal({ to_number: '+19005550123' })).toEqual([422, 'premium_destination_blocked']);
    await api.context.ledger.post({
      userId: user.userId,
      key: 'spent',
      kind: 'adjust',
      amountMicros: HOLD - 1 - CREDIT,
    });
    expect(await refusal()).toEqual([402, 'insufficient_credit']);
    expect([await sessions(), await api.balance(user.userId)]).toEqual([0, HOLD - 1]);
    const { body } = await api.request('GET', '/v1/agent/refusals', { key: user.key });
    const refused = { kind: 'outbound_call', reason: 'insufficient_credit', dialed_number: CALLED };
    expect(body.refusals).toContainEqual(expect.objectContaining(refused));
  });

  it('is limited per minute and account from managed numbers, but not from imported ones', async () => {
    const numbers = [managed, await number({})];
    for (let placed = 0; placed < CALLS_PER_MINUTE; placed++)
      expect((await call({ phone_number_id: numbers[placed % 2] })).status).toBe(201);
    const { status, body } = await call();
    expect([status, body.message]).toEqual([
      429,
      expect.stringMatching(/^Too many requests; try again in \d+ s$/),
    ]);
    expect([await sessions(), await api.balance(user.userId)]).toEqual([
      CALLS_PER_MINUTE,
      CREDIT - CALLS_PER_MINUTE * HOLD,
    ]);
    const { refusals } = (await api.request('GET', '/v1/agent/refusals', { key: user.key })).body;
    expect(refusals).toContainEqual(
      expect.objectContaining({ kind: 'outbound_call', reason: 'rate_limited', dialed_number: CALLED }),
    );
    expect((await call({ phone_number_id: await imported() })).status).toBe(201);
    user = await api.createUser();
    expect(
      (await call({ agent_id: await api.publishAgent(user), phone_number_id: await number({}) })).status,
    ).toBe(201);
  });

  it('treats another team’s agent or number as missing', async () => {
    const mine = { agent_id: agentId, phone_number_id: managed };
    user = await api.createUser();
    expect(await refusal(mine)).toEqual([404, 'agent_not_found']);
    expect(await refusal({ ...mine, agent_id: await api.publishAgent(user) })).toEqual([
      404,
      'number_not_found',
    ]);
  });

  it('cannot be placed from an imported number to a number hosted here either', async () => {
    expect(await refusal({ phone_number_id: await imported(), to_number: await managedNumber() })).toEqual([
      422,
      'self_call_blocked',
    ]);
  });

  it('may override only what the agent allows, and must supply what it requires', async () => {
    expect((await call({ overrides: { first_message: 'Hi' } })).status).toBe(400);
    agentId = await api.publishAgent(user, {
      prompt: { system_prompt: 'Hi {{name}}' },
      variables: { on_missing: 'reject' },
    });
    expect((await call()).status).toBe(422);
    expect((await call({ dynamic_variables: { name: 'Bo' } })).status).toBe(201);
  });

  it('answers 503 without a free worker and 502 without a reachable one, and returns the charge', async () => {
    api.dispatch.room = 0;
    expect((await call()).status).toBe(503);
    api.dispatch.reset();
    api.dispatch.unreachable = 'gateway_unreachable';
    expect((await call()).status).toBe(502);
    expect(await api.balance(user.userId)).toBe(CREDIT);
    expect(
      (await api.request('GET', '/v1/agent/sessions?status=pending,failed', { key: user.key })).body.sessions,
    ).toEqual([]);
  });

  it('is cancelled and free when ended while ringing, and its worker is notified', async () => {
    const id = (await call()).body.session_id;
    expect((await api.request('POST', `/v1/agent/sessions/${id}/end`, { key: user.key })).status).toBe(204);
    expect(await read(id)).toMatchObject({
      status: 'failed',
      end_reason: 'cancelled',
      dial_status: 'no_answer',
      answered_by: null,
    });
    expect(api.dispatch.ended).toMatchObject([{ key: { sessionId: id }, reason: 'cancelled' }]);
    expect(await api.balance(user.userId)).toBe(CREDIT);
  });

  it('is free and unanalysed when unanswered; charging starts with the answer', async () => {
    const busy = (await call()).body.session_id;
    await api.report(busy, { type: 'dial', dial_status: 'busy', at: api.at(), sip_call_id: null });
    await api.report(busy, { type: 'ended', at: api.at(), end_reason: 'dial_failed' });
    expect(await read(busy)).toMatchObject({
      status: 'failed',
      end_reason: 'dial_failed',
      dial_status: 'busy',
      sip_call_id: null,
      analysis: null,
    });
    expect(await api.balance(user.userId)).toBe(CREDIT);
    const answered = (await call()).body.session_id;
    await api.report(answered, {
      type: 'dial',
      dial_status: 'answered',
      at: api.at(20_000),
      sip_call_id: 'c@us',
    });
    expect(await read(answered)).toMatchObject({
      status: 'active',
      dial_status: 'answered',
      answered_by: 'unknown',
      sip_call_id: 'c@us',
    });
    await api.report(answered, { type: 'joined', at: api.at(20_010) });
    await api.report(answered, { type: 'ended', at: api.at(50_000), end_reason: 'user_hangup' });
    expect(await read(answered)).toMatchObject({
      status: 'completed',
      duration_seconds: 30,
      started_at: api.at(20_000),
    });
    expect(await api.balance(user.userId)).toBe(CREDIT - HOLD / 2);
  });
});

describe('SIP_TRUNK_URI', () => {
  it('is required for managed numbers: without it a call fails, is reported once and costs nothing', async () => {
    const receiver: WebhookReceiver = await openWebhookReceiver();
    const bare = await openTestCalls();
    try {
      const account = await bare.createUser();
      const agent = await bare.publishAgent(account, { webhooks: { post_call: [{ url: receiver.url }] } });
      const bought = await bare.request('POST', '/v1/agent/phone-numbers', {
        key: account.key,
        body: { provider: 'managed', phone_number: '+15550140000' },
      });
      const before = await bare.balance(account.userId);
      const body = { agent_id: agent, phone_number_id: bought.body.phone_number_id, to_number: CALLED };
      const placed = await bare.request('POST', '/v1/agent/phone-calls', { key: account.key, body });
      expect(placed.status).toBe(201);
      const session = await bare.request('GET', `/v1/agent/sessions/${placed.body.session_id}`, {
        key: account.key,
      });
      expect(session.body).toMatchObject({
        status: 'failed',
        end_reason: 'dial_failed',
        dial_status: 'failed',
        dial_error: expect.stringContaining('set SIP_TRUNK_URI'),
      });
      expect(await bare.balance(account.userId)).toBe(before);
      const deliveries = await bare.context.models.deliveries
        .find({ session_id: placed.body.session_id })
        .lean();
      expect(deliveries.map(({ event }) => event)).toEqual(['phone_call.dial_finished']);
    } finally {
      await bare.close();
      await receiver.close();
    }
  });
});
