/** Calls of phones that register here: to agents of their own account, by extension. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import { answerChallenge, readChallenges } from '#telephony/digest-challenge.ts';
import { type MadePhone, makePhone } from '../../catalogue/phones/phone-bench.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber } from '../../test-numbers.ts';

const HOME = '203.0.113.9';
let api: TestCalls;
let user: TestUser;
let phone: MadePhone;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());
beforeEach(async () => {
  api.dispatch.reset();
  user = await api.createUser({ credit: '5.00' });
  phone = await makePhone(api, user, '204');
  agentId = await api.publishAgent(user, {}, { extension: '101' });
  await api.clock.advance(60_000);
});

async function invite(to: string, authorization: string | null, from: string, userAgent?: string) {
  const { answer, planned } = await admitCall(api.context, {
    call_id: `call-${Math.random()}`,
    from_user: from,
    to_user: to,
    request_uri: `sip:${to}@parley.example`,
    ...(userAgent === undefined ? {} : { user_agent: userAgent }),
    source_address: HOME,
    source_port: 5060,
    transport: 'udp',
    headers: authorization === null ? {} : { 'proxy-authorization': authorization },
  });
  await planned;
  return answer;
}

/** Calls as a softphone does, with the answer to one challenge. */
async function call(
  to: string,
  over: { readonly account?: Pick<MadePhone, 'username' | 'password'>; readonly from?: string } = {},
) {
  const account = over.account ?? phone;
  const from = over.from ?? account.username;
  const first = await invite(to, null, from);
  if (first.action !== 'reject' || first.data.status !== 407) return first;
  const values = [first.data.headers?.['Proxy-Authenticate'] ?? []].flat();
  const headers = values.map((value) => ({ name: 'Proxy-Authenticate', value }));
  const [challenge] = readChallenges({ status: 407, headers });
  if (!challenge) throw new Error('no challenge');
  const request = { method: 'INVITE', uri: `sip:${to}@parley.example` };
  const proof = { cnonce: randomBytes(8).toString('hex'), uses: 1 };
  return invite(to, answerChallenge(challenge, request, account, proof), from);
}

const outcomeOf = (answer: Awaited<ReturnType<typeof call>>) =>
  answer.action === 'route' ? 'routed' : `${answer.data.status} ${answer.data.reason}`;
const refusals = async () =>
  (await api.request('GET', '/v1/agent/refusals', { key: user.key })).body.refusals;

describe('a call of a phone', () => {
  it('to the extension of an agent is a call like any other, from the extension of the phone', async () => {
    expect(outcomeOf(await call('101'))).toBe('routed');
    const session = await api.context.models.sessions.findOne({ agent_id: agentId }).lean();
    expect(session).toMatchObject({ caller_number: '204', dialed_number: '101', channel: 'phone_inbound' });
    expect(api.dispatch.plans[0]?.plan.transport).toMatchObject({
      type: 'sip_inbound',
      from_number: '204',
      to_number: '101',
      is_tenants: true,
    });
  });

  it('is charged like any other', async () => {
    const before = await api.balance(user.userId);
    await call('101');
    expect(await api.balance(user.userId)).toBeLessThan(before);
  });

  it('may give the extension as its user, with the username in the answer to the challenge only', async () => {
    expect(outcomeOf(await call('101', { from: '204' }))).toBe('routed');
  });

  it('to an extension that no agent has is refused with the reason, and listed', async () => {
    expect(outcomeOf(await call('105'))).toBe('404 No agent of this account has the extension 105');
    expect(outcomeOf(await call('204'))).toMatch(/^404 /);
    const unknown = (dialed_number: string) =>
      expect.objectContaining({ reason: 'extension_unknown', caller_number: '204', dialed_number });
    await expect.poll(refusals).toEqual(expect.arrayContaining([unknown('105'), unknown('204')]));
  });

  it('security 4: reaches no telephone number, not even one of its own account', async () => {
    const number = await api.context.models.numbers
      .findById(await insertNumber(api, user, { agent_id: agentId }))
      .lean();
    expect(outcomeOf(await call(number?.phone_number ?? ''))).toMatch(/^404 /);
    expect(outcomeOf(await call('+4930123456'))).toMatch(/^404 /);
    expect(outcomeOf(await call('0049301234567'))).toMatch(/^404 /);
  });

  it('security 4: reaches no agent of another account', async () => {
    const other = await api.createUser({ credit: '5.00' });
    await api.publishAgent(other, {}, { extension: '150' });
    expect(outcomeOf(await call('150'))).toMatch(/^404 /);
  });

  it('security 4: needs the password, and another nonce than one for a registration elsewhere', async () => {
    const account = { username: phone.username, password: 'wrong' };
    expect(outcomeOf(await call('101', { account }))).toMatch(/^407 /);
    expect(outcomeOf(await invite('101', 'Digest username="204"', '204'))).toMatch(/^407 /);
  });

  it('is refused if the phone may only be rung', async () => {
    const body = { may_call_agents: false };
    await api.request('PATCH', `/v1/agent/sip-phones/${phone.sip_phone_id}`, { key: user.key, body });
    expect(outcomeOf(await call('101'))).toBe('403 This phone may not call agents: set its may_call_agents');
  });

  it('is busy while the agent is not published, and unknown once it is archived', async () => {
    const { body } = await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'New' } });
    const url = `/v1/agent/agents/${body.agent_id}`;
    await api.request('PATCH', url, { key: user.key, body: { extension: '102' } });
    expect(outcomeOf(await call('102'))).toMatch(/^486 /);
    await api.request('PATCH', url, { key: user.key, body: { status: 'archived' } });
    expect(outcomeOf(await call('102'))).toMatch(/^404 /);
  });
});

describe('a call of a stranger', () => {
  it('to an extension is challenged, whether or not anybody has it', async () => {
    expect(outcomeOf(await invite('101', null, 'anybody'))).toMatch(/^407 /);
    expect(outcomeOf(await invite('199', null, 'anybody'))).toMatch(/^407 /);
  });

  it('of a device that cannot read a challenge by SHA-256 gets one by MD5 only (baresip 1)', async () => {
    const answer = await invite('101', null, phone.username, 'baresip v1.0.0');
    const headers = answer.action === 'reject' ? answer.data.headers : {};
    expect(headers?.['Proxy-Authenticate']).toEqual([expect.stringContaining('algorithm=MD5')]);
  });

  it('to anything else that is not here is unknown as before', async () => {
    expect(outcomeOf(await invite('desk', null, 'anybody'))).toBe('404 Not Found');
  });
});

describe('the transfers of a call to an extension', () => {
  const destinations = [
    { label: 'Desk', type: 'sip_phone', phone_extension: '204' },
    { label: 'Mobile', phone_number: '+14155550123' },
    { label: 'Elsewhere', type: 'sip', sip_uri: 'sip:desk@pbx.example.com' },
  ];

  it('go to phones and SIP addresses, and not out by the operator’s trunk', async () => {
    await api.publishAgent(
      user,
      { conversation: { transfer_destinations: destinations } },
      { extension: '103' },
    );
    expect(outcomeOf(await call('103'))).toBe('routed');
    const plan = api.dispatch.plans[0]?.plan;
    expect(plan?.transfer?.routes).toMatchObject([
      { phone_extension: '204', is_referable: false, error: null },
      { dial_uri: '', error: expect.stringContaining('no_number_to_call_from') },
      { dial_uri: 'sip:desk@pbx.example.com', is_referable: false, error: null },
    ]);
  });

  it('are planned as SIP addresses for workers of an earlier release', async () => {
    await api.publishAgent(
      user,
      { conversation: { transfer_destinations: destinations } },
      { extension: '104' },
    );
    await call('104');
    const [desk] = api.dispatch.plans[0]?.plan.config.conversation.transfer_destinations ?? [];
    expect(desk).toMatchObject({ label: 'Desk', type: 'sip', sip_uri: 'sip:204@phones.invalid' });
    expect(desk).not.toHaveProperty('phone_extension');
  });

  it('need an extension that can be one', async () => {
    const body = {
      name: 'Ada',
      config: { conversation: { transfer_destinations: [{ type: 'sip_phone' }] } },
    };
    const { status, text } = await api.request('POST', '/v1/agent/agents', { key: user.key, body });
    expect([status, text]).toEqual([422, expect.stringContaining('must be the extension of a phone')]);
  });
});
