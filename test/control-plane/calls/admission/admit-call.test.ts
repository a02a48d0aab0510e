import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { OWN_ADDRESS, type TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const MANAGED = '+15550100001';
const IMPORTED = '+4930123456';

let api: TestCalls;
let user: TestUser;
let receiver: WebhookReceiver;

beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUSTED: '127.0.0.0/8,203.0.113.0/24' });
});
beforeEach(async () => {
  api.dispatch.reset();
  await api.context.models.numbers.deleteMany({ phone_number: MANAGED });
  user = await api.createUser();
  receiver = await openWebhookReceiver();
});
afterEach(() => receiver.close());
afterAll(() => api.close());

async function buy(agentId: string | null, phoneNumber = MANAGED): Promise<string> {
  const body = { provider: 'managed', phone_number: phoneNumber, agent_id: agentId };
  const {
    status,
    body: number,
    text,
  } = await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
  if (status !== 201) throw new Error(text);
  return number.phone_number_id;
}

async function importNumber(agentId: string, factors: Record<string, unknown>): Promise<void> {
  const body = { provider: 'sip', phone_number: IMPORTED, agent_id: agentId, ...factors };
  const { status, text } = await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
  if (status !== 201) throw new Error(text);
}

function invite(over: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    call_id: `call-${Math.random()}@host`,
    from_user: '+8190123456',
    to_user: MANAGED,
    source_address: '203.0.113.9',
    source_port: 5060,
    transport: 'udp',
    headers: {},
    ...over,
  };
}

const statusOf = async (over: Partial<AdmissionRequest> = {}) => {
  const { answer, planned } = await admitCall(api.context, invite(over));
  await planned;
  return answer.action === 'reject' ? answer.data.status : answer.data.tag;
};

describe('an inbound phone call', () => {
  it('is charged with the phone surcharge, placed on a worker and planned', async () => {
    const agentId = await api.publishAgent(user, {
      prompt: { system_prompt: 'Hi {{system.caller_number_spoken}}' },
    });
    await buy(agentId);
    const before = await api.balance(user.userId);
    const request = invite({ to_user: MANAGED.slice(1) });
    const { answer, planned } = await admitCall(api.context, request);
    await planned;
    expect(answer).toEqual({ action: 'route', data: { tag: 'tag-1' } });
    expect(before - (await api.balance(user.userId))).toBe(70_000);
    expect(api.dispatch.offers).toMatchObject([{ kind: 'phone', epoch: 1, sipCallId: request.call_id }]);
    expect(api.dispatch.plans[0]?.plan).toMatchObject({
      channel: 'phone_inbound',
      transport: {
        type: 'sip_inbound',
        sip_call_id: request.call_id,
        from_number: '+8190123456',
        to_number: MANAGED,
      },
      system_variables: {
        channel: 'phone_inbound',
        timezone: 'Asia/Tokyo',
        caller_number: '+8190123456',
        dialed_number: MANAGED,
        caller_number_spoken: '+81; 9 0 1; 2 3 4; 5 6',
      },
      tool_events: false,
    });
    const { body } = await api.request('GET', '/v1/agent/sessions?status=pending', { key: user.key });
    expect(body.sessions).toMatchObject([
      {
        source: 'phone',
        direction: 'inbound',
        dial_status: null,
        caller_number: '+8190123456',
        dialed_number: MANAGED,
        sip_call_id: request.call_id,
      },
    ]);
  });

  it('costs nothing and occupies no worker when signalling has already rejected it', async () => {
    await buy(await api.publishAgent(user));
    const before = await api.balance(user.userId);
    const busy = { action: 'reject', data: { status: 503 } };
    expect((await admitCall(api.context, invite(), () => false)).answer).toMatchObject(busy);
    expect(api.dispatch.offers).toEqual([]);
    // Signalling may also refuse it while a worker is being found.
    expect(
      (await admitCall(api.context, invite(), () => api.dispatch.offers.length === 0)).answer,
    ).toMatchObject(busy);
    expect(api.dispatch.withdrawn).toHaveLength(1);
    expect(await api.balance(user.userId)).toBe(before);
    expect(api.dispatch.plans).toEqual([]);
  });

  it('keeps a withheld or odd caller number in history; the agent gets an empty one', async () => {
    await buy(await api.publishAgent(user));
    await statusOf({ from_user: 'anonymous' });
    expect(api.dispatch.plans[0]?.plan.system_variables).toMatchObject({
      caller_number: '',
      caller_number_spoken: '',
      timezone: 'UTC',
    });
    expect(
      (await api.request('GET', '/v1/agent/sessions?status=pending', { key: user.key })).body.sessions[0]
        .caller_number,
    ).toBe('anonymous');
  });

  it('keeps the carrier’s caller headers with the session, sealed, but never digest credentials', async () => {
    await buy(await api.publishAgent(user));
    const said = {
      'p-asserted-identity': '"Jo" <sip:+14155550123@carrier.example>',
      privacy: 'id',
      diversion: '<sip:+14155550199@carrier.example>;reason=unconditional',
      'x-campaign': 'autumn',
    };
    await statusOf({
      from_user: 'anonymous',
      headers: { ...said, authorization: 'Digest secret', 'proxy-authorization': 'Digest secret' },
    });
    const sessionId = api.dispatch.offers[0]?.sessionId ?? '';
    const detail = async () =>
      (await api.request('GET', `/v1/agent/sessions/${sessionId}`, { key: user.key })).body;
    expect(await detail()).toMatchObject({ caller_number: 'anonymous', sip_headers: said });
    expect((await detail()).sip_headers).toEqual(said);
    expect(JSON.stringify(await api.context.models.sessions.findById(sessionId).lean())).not.toMatch(
      /4155550123|autumn|secret/,
    );
    const { body } = await api.request('GET', '/v1/agent/sessions?status=pending', { key: user.key });
    expect(body.sessions[0]).not.toHaveProperty('sip_headers');
  });

  it('is rejected in this order: unknown number, source, agent, credit', async () => {
    const agentId = await api.publishAgent(user);
    expect(await statusOf()).toBe(404);
    expect(await statusOf({ to_user: 'alice' })).toBe(404);
    const numberId = await buy(null);
    expect(await statusOf({ source_address: '198.51.100.1' })).toBe(403);
    expect(await statusOf()).toBe(486);
    const draft = await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'Draft' } });
    const bind = (id: string) =>
      api.request('PATCH', `/v1/agent/phone-numbers/${numberId}`, { key: user.key, body: { agent_id: id } });
    await bind(draft.body.agent_id);
    expect(await statusOf()).toBe(486);
    await bind(agentId);
    await api.request('PATCH', `/v1/agent/agents/${agentId}`, {
      key: user.key,
      body: { status: 'archived' },
    });
    expect(await statusOf()).toBe(486);
    await api.request('PATCH', `/v1/agent/agents/${agentId}`, { key: user.key, body: { status: 'active' } });
    api.dispatch.room = 0;
    const balance = await api.balance(user.userId);
    const { answer } = await admitCall(api.context, invite());
    expect(answer).toEqual({
      action: 'reject',
      data: { status: 503, reason: 'Service Unavailable', headers: { 'Retry-After': '10' } },
    });
    expect(await api.balance(user.userId)).toBe(balance);
    api.dispatch.room = 1;
    await api.context.ledger.post({
      userId: user.userId,
      key: 'spent',
      kind: 'adjust',
      amountMicros: -balance,
    });
    expect(await statusOf()).toBe(503);
    await api.context.ledger.post({ userId: user.userId, key: 'paid', kind: 'top_up', amountMicros: 70_000 });
    expect(await statusOf()).toBe('tag-1');
  });

  it('is rejected last for lack of a common codec: 488, no init webhook, no plan, the charge returned', async () => {
    const hook = { url: 'https://init.example/hook', timeout_seconds: 5 };
    await buy(await api.publishAgent(user, { webhooks: { conversation_init: hook } }));
    const balance = await api.balance(user.userId);
    expect(await statusOf({ is_answerable: false })).toBe(488);
    expect(await api.balance(user.userId)).toBe(balance);
    expect(api.dispatch.plans).toEqual([]);
    expect(await statusOf({ is_answerable: false, source_address: '198.51.100.1' })).toBe(403);
    api.dispatch.room = 0;
    expect(await statusOf({ is_answerable: false })).toBe(503);
  });

  it('is accepted from every address if it came in on the loopback and that is trusted', async () => {
    await buy(await api.publishAgent(user));
    expect(await statusOf({ source_address: OWN_ADDRESS })).toBe(403);
    expect(await statusOf({ source_address: OWN_ADDRESS, is_local: true })).toBe('tag-1');
  });

  it('an imported number is checked against its own list and not SIP_TRUSTED', async () => {
    await importNumber(await api.publishAgent(user), { inbound_allowed_addresses: ['198.51.100.0/28'] });
    expect(await statusOf({ to_user: IMPORTED })).toBe(403);
    expect(await statusOf({ to_user: IMPORTED, source_address: '198.51.100.7' })).toBe('tag-1');
  });
});

describe('the init webhook', () => {
  const config = () => ({
    prompt: { system_prompt: '{{name}}' },
    variables: { defaults: { name: 'friend', tier: 'basic' } },
    webhooks: { conversation_init: { url: `${receiver.url}/init`, secret: 'shh', timeout_seconds: 2 } },
  });

  it('is requested once, signed, while the call rings; its variables override the defaults', async () => {
    const agentId = await api.publishAgent(user, config());
    const numberId = await buy(agentId);
    receiver.answer = () => ({
      status: 200,
      body: JSON.stringify({
        dynamic_variables: { name: 'Mo', vip: true, 'bad name': 1, nested: {} },
        extra: 1,
      }),
    });
    const { answer, planned } = await admitCall(
      api.context,
      invite({ headers: { 'x-twilio-callsid': 'CA1' } }),
    );
    expect([answer.action, api.dispatch.plans.length]).toEqual(['route', 0]);
    await planned;
    expect(receiver.received.map(({ body }) => body)).toEqual([
      {
        event: 'call.inbound',
        call: {
          caller_number: '+8190123456',
          dialed_number: MANAGED,
          agent_id: agentId,
          phone_number_id: numberId,
          provider_call_sid: 'CA1',
        },
      },
    ]);
    const [, t, v1] =
      /^t=(\d+),v1=(.+)$/.exec(String(receiver.received[0]?.headers['x-service-webhook-signature'])) ?? [];
    expect(v1).toBe(
      createHmac('sha256', 'shh')
        .update(`${t}.`)
        .update(receiver.received[0]?.raw ?? '')
        .digest('hex'),
    );
    expect(api.dispatch.plans[0]?.plan.variables).toEqual({ name: 'Mo', tier: 'basic', vip: true });
  });

  it.each([
    ['an error', { status: 500 }],
    ['a redirect', { status: 302, headers: { location: '/init' } }],
    ['no object', { status: 200, body: '[1]' }],
    ['no JSON', { status: 200, body: 'hello' }],
  ] as const)('%s does not block the call and is not retried', async (_, answer) => {
    await buy(await api.publishAgent(user, config()));
    receiver.answer = () => answer;
    expect(await statusOf()).toBe('tag-1');
    expect(api.dispatch.plans[0]?.plan.variables).toEqual({ name: 'friend', tier: 'basic' });
    expect(receiver.received.length).toBe(1);
  });

  it('times out after the configured time', async () => {
    await buy(await api.publishAgent(user, config()));
    receiver.answer = () => 'hang';
    const { planned } = await admitCall(api.context, invite());
    await receiver.waitFor(1);
    await api.clock.advance(1_999);
    expect(api.dispatch.plans.length).toBe(0);
    await api.clock.advance(1);
    await planned;
    expect(api.dispatch.plans.length).toBe(1);
  });

  it('returns the charge and sends no plan when the caller hangs up meanwhile', async () => {
    await buy(await api.publishAgent(user, config()));
    const balance = await api.balance(user.userId);
    receiver.answer = () => 'hang';
    const { planned } = await admitCall(api.context, invite());
    await receiver.waitFor(1);
    await api.report(api.dispatch.offers[0]?.sessionId ?? '', {
      type: 'ended',
      at: api.at(),
      end_reason: 'user_hangup',
    });
    await api.clock.advance(2_000);
    await planned;
    expect([api.dispatch.plans.length, await api.balance(user.userId)]).toEqual([0, balance]);
    const { body } = await api.request('GET', '/v1/agent/sessions', { key: user.key });
    expect(body.sessions).toMatchObject([{ status: 'failed', end_reason: 'cancelled' }]);
  });
});

describe('the admission route', () => {
  it('accepts only the workers’ token and validates its input', async () => {
    const ask = (token: string, body: unknown) =>
      api.request('POST', '/internal/sip/admit', { headers: { authorization: `Bearer ${token}` }, body });
    expect((await ask('wrong', invite())).status).toBe(401);
    expect((await ask(user.key, invite())).status).toBe(401);
    const { workerToken } = api.context.credentials;
    expect((await ask(workerToken, { ...invite(), source_address: 'nowhere' })).status).toBe(422);
    const refused = await ask(workerToken, invite());
    expect([refused.status, refused.body]).toEqual([
      200,
      { action: 'reject', data: { status: 404, reason: 'Not Found' } },
    ]);
  });
});
