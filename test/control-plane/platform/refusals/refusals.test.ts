import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { OWN_ADDRESS, type TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const MANAGED = '+15550100001';
const CALLER = '+8190123456';
/** Refusals are written after the answer, on a machine that may be busy. */
const WAIT = { timeout: 10_000 };

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  // The database expires documents by real time.
  const clock = new ManualClock(Date.now());
  api = await openTestCalls({ SIP_TRUSTED: '203.0.113.0/24', PUBLIC_RATE_PER_AGENT: '1' }, { clock });
});
afterAll(() => api.close());
beforeEach(async () => {
  api.dispatch.reset();
  await api.context.models.refusals.deleteMany({});
  await api.context.models.numbers.deleteMany({ phone_number: MANAGED });
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});

const list = (query = '', key = user.key) => api.request('GET', `/v1/agent/refusals${query}`, { key });

/** Waits until there are `count` refusals, which are written after the answer; returns the newest. */
const logged = (count: number, query = '') =>
  vi.waitFor(async () => {
    const { body } = await list(query);
    expect(body.refusals).toHaveLength(count);
    return body.refusals;
  }, WAIT);

const create = (key: string, over: object = {}) =>
  api.request('POST', '/v1/agent/sessions', { key, body: { agent_id: agentId, ...over } });

async function numberOf(agent: string | null): Promise<void> {
  const body = { provider: 'managed', phone_number: MANAGED, agent_id: agent };
  expect((await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body })).status).toBe(201);
}

async function ring(over: Record<string, unknown> = {}): Promise<number | string> {
  const { answer } = await admitCall(api.context, {
    call_id: 'call-1@host',
    from_user: CALLER,
    to_user: MANAGED,
    source_address: '203.0.113.9',
    source_port: 5060,
    transport: 'udp',
    headers: {},
    ...over,
  });
  return answer.action === 'reject' ? answer.data.status : answer.data.tag;
}

describe('the log of refused calls', () => {
  it('records an unanswered inbound call with its numbers, SIP status and Call-ID', async () => {
    await numberOf(null);
    expect(await ring()).toBe(486);
    expect(await logged(1)).toEqual([
      {
        refusal_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        kind: 'inbound_call',
        reason: 'number_unbound',
        message: 'No agent answers this number',
        status: 486,
        agent_id: null,
        caller_number: CALLER,
        dialed_number: MANAGED,
        sip_call_id: 'call-1@host',
        created_at: api.at(),
      },
    ]);
  });

  it('names a refused source and who can admit it, also one of this machine', async () => {
    await numberOf(agentId);
    // SIP_TRUSTED of this deployment does not contain the loopback.
    expect(await ring({ source_address: OWN_ADDRESS, is_local: true })).toBe(403);
    const [{ message }] = await logged(1);
    expect(message).toBe(
      `Calls to this number are not allowed from ${OWN_ADDRESS}: ask the operator to add it to SIP_TRUSTED`,
    );
  });

  it('names the list of an imported number that its owner can extend', async () => {
    const body = {
      provider: 'sip',
      phone_number: '+4930123457',
      agent_id: agentId,
      inbound_allowed_addresses: ['192.0.2.0/28'],
    };
    expect((await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body })).status).toBe(201);
    expect(await ring({ to_user: '+4930123457' })).toBe(403);
    const [{ message }] = await logged(1);
    expect(message).toMatch(/from 203\.0\.113\.9: add it to inbound_allowed_addresses of the number$/);
  });

  it('warns the operator of each untrusted network once per minute, not once per call', async () => {
    await numberOf(agentId);
    const warn = vi.spyOn(api.context.logger, 'warn');
    const [scanner, trunk] = ['198.51.100.1', '198.51.100.2'];
    for (const source of [scanner, scanner, trunk, scanner])
      expect(await ring({ source_address: source })).toBe(403);
    await logged(4);
    expect(warn.mock.calls).toEqual(
      [scanner, trunk].map((address) => [{ address, agentId }, expect.stringContaining('SIP_TRUSTED')]),
    );
    warn.mockRestore();
  });

  it('distinguishes a disallowed source from a lack of capacity', async () => {
    await numberOf(agentId);
    expect(await ring({ source_address: '198.51.100.1' })).toBe(403);
    api.dispatch.room = 0;
    expect(await ring()).toBe(503);
    const reasons = (await logged(2)).map((row: { reason: string; status: number; agent_id: string }) => [
      row.reason,
      row.status,
      row.agent_id,
    ]);
    expect(reasons).toContainEqual(['source_refused', 403, agentId]);
    expect(reasons).toContainEqual(['no_capacity', 503, agentId]);
  });

  it('does not record a digest challenge to a trunk, but does record a wrong answer', async () => {
    const body = {
      provider: 'sip',
      phone_number: '+4930123456',
      agent_id: agentId,
      inbound_auth_username: 'u',
      inbound_auth_password: 'p',
    };
    expect((await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body })).status).toBe(201);
    expect(await ring({ to_user: '+4930123456' })).toBe(407);
    expect(
      await ring({
        to_user: '+4930123456',
        headers: { 'proxy-authorization': 'Digest username="u", response="0"' },
      }),
    ).toBe(407);
    const [row] = await logged(1);
    expect(row).toMatchObject({ reason: 'digest_refused', status: 407 });
  });

  it('shows the owner of a public agent what its visitor does not see', async () => {
    const poor = await api.createUser({ credit: '0.00' });
    user = poor;
    agentId = await api.publishAgent(
      poor,
      {},
      { public_enabled: true, allowed_origins: ['https://shop.example.com'] },
    );
    const visit = (origin: string) =>
      api.request('POST', '/v1/agent/sessions', { body: { agent_id: agentId }, headers: { origin } });
    expect((await visit('https://evil.example.com')).body.message).toBe('Origin not allowed');
    expect((await visit('https://shop.example.com')).body.message).toBe('Agent is unavailable');
    expect((await visit('https://shop.example.com')).status).toBe(429);
    const rows = await logged(3);
    expect(new Set(rows.map((row: { reason: string }) => row.reason))).toEqual(
      new Set(['origin_not_allowed', 'out_of_credit', 'rate_limited']),
    );
    expect(rows.find((row: { reason: string }) => row.reason === 'out_of_credit')).toMatchObject({
      kind: 'public_session',
      status: 403,
    });
  });

  it('can be filtered by reason, agent and number, and is paged', async () => {
    await numberOf(agentId);
    api.dispatch.room = 0;
    await create(user.key);
    await create(user.key, { overrides: { language: 'de' } });
    await ring();
    await logged(3);
    expect(await logged(2, '?reason=no_capacity')).toHaveLength(2);
    expect(await logged(1, `?number=${CALLER.slice(1)}`)).toHaveLength(1);
    expect(
      await logged(1, `?number=${encodeURIComponent(MANAGED)}&reason=no_capacity&agent_id=${agentId}`),
    ).toHaveLength(1);
    expect(await logged(0, `?agent_id=${'f'.repeat(32)}`)).toHaveLength(0);
    const first = (await list('?page_size=2')).body;
    const second = (await list(`?page_size=2&cursor=${first.next_cursor}`)).body;
    expect(second.refusals).toHaveLength(1);
    expect((await list('?page_size=2&page=2')).body).toMatchObject({
      refusals: second.refusals,
      total: 3,
      has_more: false,
    });
    expect((await list('?page=1&cursor=x')).status).toBe(400);
  });

  it('is visible to its team only', async () => {
    api.dispatch.room = 0;
    await create(user.key);
    await logged(1);
    const otherUser = await api.createUser();
    expect((await list('', otherUser.key)).body.refusals).toEqual([]);
  });

  it('stores a bounded number of a flood, and counts them all', async () => {
    await numberOf(null);
    await Promise.all(Array.from({ length: 130 }, () => ring()));
    await vi.waitFor(
      async () =>
        expect(await api.context.models.refusals.countDocuments({ team_id: user.teamId })).toBe(100),
      WAIT,
    );
    expect((await api.context.metrics.meters.scrape()).body).toMatch(
      /kind="inbound_call",reason="number_unbound"\} 13\d/,
    );
  });

  it('does not affect the answer when it cannot be written', async () => {
    const broken = vi.spyOn(api.context.models.refusals, 'create').mockRejectedValue(new Error('disk full'));
    api.dispatch.room = 0;
    expect((await create(user.key)).status).toBe(503);
    expect(broken).toHaveBeenCalled();
    broken.mockRestore();
  });

  it('has an index for every query and expires old entries', async () => {
    api.dispatch.room = 0;
    await numberOf(agentId);
    await create(user.key);
    await ring();
    await logged(2);
    const { collection } = api.context.models.refusals;
    const otherUser = {
      _id: 'other',
      team_id: user.teamId,
      reason: 'other',
      agent_id: 'other',
      numbers: [],
      created_at: new Date(0),
    };
    await collection.insertOne(otherUser as never);
    for (const filter of [{ reason: 'no_capacity' }, { agent_id: agentId }, { numbers: CALLER }]) {
      const found = await collection
        .find({ team_id: user.teamId, ...filter }, { sort: { created_at: -1, _id: -1 } })
        .explain();
      expect(found['executionStats'].totalDocsExamined).toBe(found['executionStats'].nReturned);
    }
    const indexes = await collection.indexes();
    expect(indexes.find((index) => index.expireAfterSeconds !== undefined)).toMatchObject({
      key: { created_at: 1 },
      expireAfterSeconds: 2_592_000,
    });
  });
});
