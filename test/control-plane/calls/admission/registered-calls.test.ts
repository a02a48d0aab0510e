/** Calls of a PBX at which this platform is registered. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import { newRegistration } from '#telephony/registration/registration-state.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber, sipOf } from '../../test-numbers.ts';

const PBX = '198.51.100.7';
let api: TestCalls;
let user: TestUser;
let count = 0;

beforeAll(async () => {
  api = await openTestCalls();
});
beforeEach(async () => {
  api.dispatch.reset();
  user = await api.createUser({ credit: '5.00' });
});
afterAll(() => api.close());

/** The state of a registration that this server of the PBX has accepted. */
function registeredState(address = PBX) {
  const nowMs = api.clock.wallTime();
  const accepted = { status: 'registered', registeredUntilMs: nowMs + 600_000, address } as const;
  return { ...newRegistration(nowMs), ...accepted, addresses: [address] };
}

/** Inserts a registration that is registered at `PBX`; returns the user part of its Contact. */
async function registered(more: Record<string, unknown> = {}): Promise<string> {
  count += 1;
  const at = new Date(api.clock.wallTime());
  const token = count.toString(16).padStart(30, 'a');
  await api.context.models.sipRegistrations.create({
    _id: `r${count}`,
    team_id: user.teamId,
    workspace_id: user.workspaceId,
    label: '',
    registrar: 'pbx.example.com',
    username: `ext${count}`,
    auth_username: null,
    password: api.context.secretBox.seal('secret'),
    outbound_proxy: null,
    transport: 'auto',
    expires_seconds: 600,
    keep_alive_seconds: 0,
    phone_number_id: null,
    token,
    call_id: `c${count}`,
    from_tag: 't',
    cseq: 1,
    state: registeredState(),
    due_at: new Date(at.getTime() + 600_000),
    lease_by: null,
    lease_until: null,
    rev: 0,
    created_at: at,
    updated_at: at,
    ...more,
  });
  return token;
}

async function answerTo(toUser: string, source = PBX) {
  const { answer, planned } = await admitCall(api.context, {
    call_id: `call-${Math.random()}`,
    from_user: '201',
    to_user: toUser,
    source_address: source,
    source_port: 5060,
    transport: 'udp',
    headers: {},
  });
  await planned;
  return answer.action === 'route' ? 'routed' : answer.data.status;
}

async function numberWithAgent(more: Record<string, unknown> = {}) {
  const agent_id = await api.publishAgent(user);
  return insertNumber(api, user, { provider: 'sip', is_proven: false, agent_id, sip: sipOf(more) });
}

describe('a call of a PBX', () => {
  it('to the registered Contact reaches the agent of the number', async () => {
    const token = await registered({ phone_number_id: await numberWithAgent() });
    expect(await answerTo(token)).toBe('routed');
    expect(api.dispatch.plans[0]?.plan.transport).toMatchObject({ type: 'sip_inbound', is_tenants: true });
  });

  it('to the extension, as some PBXs call, reaches it too', async () => {
    await registered({ phone_number_id: await numberWithAgent() });
    expect(await answerTo(`ext${count}`)).toBe('routed');
  });

  it('to the number reaches it without the checks of its trunk', async () => {
    const trunk = { inbound_auth_username: 'x', inbound_auth_password: api.context.secretBox.seal('y') };
    const id = await numberWithAgent(trunk);
    await registered({ phone_number_id: id });
    const number = await api.context.models.numbers.findById(id).lean();
    expect(await answerTo(number!.phone_number)).toBe('routed');
    expect(await answerTo(number!.phone_number, '203.0.113.50')).toBe(407);
  });

  it('security 4: from another address is refused, even if it knows the Contact', async () => {
    const token = await registered({ phone_number_id: await numberWithAgent() });
    expect(await answerTo(token, '203.0.113.50')).toBe(403);
    expect(await answerTo(`ext${count}`, '203.0.113.50')).toBe(404);
  });

  it('security 4: is not for an account whose owner only names that address in DNS', async () => {
    const phone_number_id = await numberWithAgent();
    const state = { ...registeredState('203.0.113.66'), addresses: ['203.0.113.66', PBX] };
    await registered({ phone_number_id, username: 'named', state });
    expect(await answerTo('named')).toBe(404);
  });

  it('security 4: to a number is for the team that imported it first, not one that registers at its PBX later', async () => {
    const first = await numberWithAgent({ inbound_allowed_addresses: [PBX] });
    const { phone_number, team_id } = (await api.context.models.numbers.findById(first).lean())!;
    user = await api.createUser({ credit: '5.00' });
    const agent_id = await api.publishAgent(user);
    const created_at = new Date(Date.now() + 1_000);
    const claim = { provider: 'sip', is_proven: false, agent_id, sip: sipOf(), phone_number, created_at };
    const later = await insertNumber(api, user, claim);
    await registered({ phone_number_id: later, username: phone_number, created_at });
    expect(await answerTo(phone_number)).toBe('routed');
    const session = await api.context.models.sessions.findOne({ dialed_number: phone_number }).lean();
    expect(session?.team_id).toBe(team_id);
  });

  it('security 4: to an account named by a number is not for the team that imports it later', async () => {
    const phone_number_id = await numberWithAgent();
    const before = new Date(Date.now() - 60_000);
    await registered({ phone_number_id, username: '+4930777001', created_at: before });
    const { teamId } = user;
    user = await api.createUser({ credit: '5.00' });
    const stolen = { inbound_allowed_addresses: [PBX] };
    const agent_id = await api.publishAgent(user);
    const claim = { provider: 'sip', is_proven: false, agent_id, sip: sipOf(stolen) };
    await insertNumber(api, user, { ...claim, phone_number: '+4930777001' });
    expect(await answerTo('+4930777001')).toBe('routed');
    const id = api.dispatch.plans[0]!.key.sessionId;
    expect((await api.context.models.sessions.findById(id).lean())?.team_id).toBe(teamId);
  });

  it('from another server of its carrier is taken if the number lists that address', async () => {
    const listed = { inbound_allowed_addresses: ['203.0.113.0/24'] };
    const token = await registered({ phone_number_id: await numberWithAgent(listed) });
    expect(await answerTo(token, '203.0.113.50')).toBe('routed');
  });

  it('to an extension that two teams have at one PBX is for neither', async () => {
    await registered({ username: 'shared', phone_number_id: await numberWithAgent() });
    user = await api.createUser({ credit: '5.00' });
    await registered({ username: 'shared', phone_number_id: await numberWithAgent() });
    expect(await answerTo('shared')).toBe(404);
  });

  it('without a number is busy', async () => {
    expect(await answerTo(await registered())).toBe(486);
  });

  it('to a registration that was deleted finds nothing', async () => {
    const token = await registered({ deleting_at: new Date(api.clock.wallTime()) });
    expect(await answerTo(token)).toBe(404);
  });
});

describe('a call out under a registration', () => {
  it('carries the account, its way and its credentials', async () => {
    const phone_number_id = await numberWithAgent();
    const state = {
      ...registeredState(),
      contactPlace: '198.51.100.9:41234',
      serviceRoute: ['<sip:edge.example.com;lr>'],
      server: 'sip-1',
    };
    const account = { phone_number_id, outbound_proxy: 'edge.example.com', transport: 'tcp', state };
    await registered({ ...account, auth_username: 'auth-name' });
    const agent_id = (await api.context.models.numbers.findById(phone_number_id).lean())!.agent_id;
    const body = { agent_id, phone_number_id, to_number: '+12125550123' };
    const { status, text } = await api.request('POST', '/v1/agent/phone-calls', { key: user.key, body });
    expect([status, text]).toEqual([201, expect.anything()]);
    expect(api.dispatch.plans[0]?.plan.transport).toMatchObject({
      to_uri: 'sip:+12125550123@pbx.example.com;transport=tcp',
      username: 'auth-name',
      password: 'secret',
      line: {
        from_user: `ext${count}`,
        from_host: 'pbx.example.com',
        contact_place: '198.51.100.9:41234',
        next_hop: 'sip:edge.example.com;transport=tcp',
        routes: ['<sip:edge.example.com;lr>'],
        server: 'sip-1',
      },
    });
  });
});
