import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const MANAGED = '+15550100001';
const HOUR_MS = 3_600_000;
const INVITE = {
  call_id: 'c@h',
  from_user: '+8190123456',
  to_user: MANAGED,
  source_address: '127.0.0.1',
  source_port: 1,
  transport: 'udp' as const,
  headers: {},
};

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  // An hour before midnight today: the database expires documents by real time.
  const clock = new ManualClock(Math.floor(Date.now() / (24 * HOUR_MS)) * 24 * HOUR_MS + 23 * HOUR_MS);
  api = await openTestCalls({}, { clock });
});
afterAll(() => api.close());
beforeEach(async () => {
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});

const create = (id = agentId) =>
  api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: id } });
const limit = (body: object, key = user.key) =>
  api.request('PUT', `/v1/agent/agents/${agentId}/limits`, { key, body });
const account = (body: object) =>
  api.request('PATCH', `/admin/users/${user.userId}`, { key: api.rootKey, body });
const end = (id: string) => api.request('POST', `/v1/agent/sessions/${id}/end`, { key: user.key });

describe('concurrent calls', () => {
  it('are limited per agent, and a call that ends makes room', async () => {
    expect((await limit({ daily_cap: null, concurrent_calls: 2 })).body).toEqual({
      daily_cap: null,
      concurrent_calls: 2,
    });
    const first = (await create()).body.session_id;
    expect((await create()).status).toBe(201);
    const balance = await api.balance(user.userId);
    const refused = await create();
    expect([refused.status, refused.body.message]).toEqual([
      429,
      expect.stringContaining('All 2 concurrent calls of this agent'),
    ]);
    expect(await api.balance(user.userId)).toBe(balance);
    await end(first);
    expect((await create()).status).toBe(201);
  });

  it('store 3: never exceed a limit of three if eight start at once, per agent and per account', async () => {
    const eight = async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => create()));
      return answers.filter(({ status }) => status === 201).map(({ body }): string => body.session_id);
    };
    await limit({ daily_cap: null, concurrent_calls: 3 });
    const first = await eight();
    expect(first).toHaveLength(3);
    await Promise.all(first.slice(1).map(end));
    expect(await eight()).toHaveLength(2);
    await limit({ daily_cap: null, concurrent_calls: null });
    await account({ concurrent_calls: 5 });
    expect(await eight()).toHaveLength(2);
  });

  it('store 3: do not include a session whose creation failed', async () => {
    await limit({ daily_cap: null, concurrent_calls: 1 });
    api.dispatch.room = 0;
    expect((await create()).status).toBe(503);
    api.dispatch.room = Number.POSITIVE_INFINITY;
    expect((await create()).status).toBe(201);
  });

  it('are limited per account across all its agents', async () => {
    expect((await account({ concurrent_calls: 1 })).body).toMatchObject({
      concurrent_calls: 1,
      daily_cap: null,
      beta_access: true,
    });
    const other = await api.publishAgent(user);
    expect((await create()).status).toBe(201);
    expect((await create(other)).body.message).toContain('this account');
    await account({ concurrent_calls: null });
    expect((await create(other)).status).toBe(201);
  });

  it('are not dialled beyond the limit if they are outbound', async () => {
    const number = await api.request('POST', '/v1/agent/phone-numbers', {
      key: user.key,
      body: { provider: 'managed', phone_number: '+15550100002' },
    });
    await limit({ daily_cap: null, concurrent_calls: 0 });
    const balance = await api.balance(user.userId);
    const body = {
      agent_id: agentId,
      phone_number_id: number.body.phone_number_id,
      to_number: '+12125550123',
    };
    expect((await api.request('POST', '/v1/agent/phone-calls', { key: user.key, body })).status).toBe(429);
    expect(await api.balance(user.userId)).toBe(balance);
  });

  it('of the account are limited from the next inbound call on once the limit is changed', async () => {
    const to_user = '+15550100003';
    const body = { provider: 'managed', phone_number: to_user, agent_id: agentId };
    await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
    const invite = async (call: string) => {
      const { answer, planned } = await admitCall(api.context, { ...INVITE, call_id: call, to_user });
      await planned;
      return answer.action;
    };
    expect(await invite('1@h')).toBe('route');
    await account({ concurrent_calls: 1 });
    expect(await invite('2@h')).toBe('reject');
    await account({ concurrent_calls: null });
    expect(await invite('3@h')).toBe('route');
    await account({ daily_cap: '0.01' });
    expect(await invite('4@h')).toBe('reject');
  });

  it('are answered busy beyond the limit if they are inbound, and the owner can read why', async () => {
    const body = { provider: 'managed', phone_number: MANAGED, agent_id: agentId };
    await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
    await limit({ daily_cap: null, concurrent_calls: 0 });
    const { answer } = await admitCall(api.context, INVITE);
    expect(answer).toMatchObject({ action: 'reject', data: { status: 486 } });
    await vi.waitFor(
      async () => {
        const { body } = await api.request('GET', '/v1/agent/refusals?reason=concurrent_calls_reached', {
          key: user.key,
        });
        expect(body.refusals).toMatchObject([{ kind: 'inbound_call', status: 486, agent_id: agentId }]);
      },
      { timeout: 10_000 },
    );
  });
});

describe('daily caps', () => {
  it('reject further spending of an account, whatever the money was spent on, until midnight', async () => {
    await account({ daily_cap: '0.12' });
    await end((await create()).body.session_id);
    for (const expected of [201, 201, 429]) expect((await create()).status).toBe(expected);
    await api.request('POST', `/admin/wallet/${user.userId}/top-up`, {
      key: api.rootKey,
      body: { amount: '5.00', idempotency_key: user.userId },
    });
    const refused = await create();
    expect(refused.body).toMatchObject({
      status: 429,
      message: expect.stringContaining('raise daily_cap, or try again after 00:00 UTC'),
    });
    await api.clock.advance(HOUR_MS);
    expect((await create()).status).toBe(201);
  });

  it('apply to one agent only if they are set for an agent, and visitors do not see them', async () => {
    await limit({ daily_cap: '0.06', concurrent_calls: null });
    const other = await api.publishAgent(user);
    expect((await create()).status).toBe(201);
    expect((await create()).body.message).toContain('daily cap of this agent');
    expect((await create(other)).status).toBe(201);
    const profile = { public_enabled: true, allowed_origins: ['https://a.example.com'] };
    await api.request('PATCH', `/v1/agent/agents/${agentId}`, { key: user.key, body: profile });
    const visit = await api.request('POST', '/v1/agent/sessions', {
      headers: { origin: 'https://a.example.com' },
      body: { agent_id: agentId },
    });
    expect([visit.status, visit.body.message]).toEqual([403, 'Agent is unavailable']);
  });
});

describe('the limits of an agent', () => {
  it('can be read and set by the team, and do not change the agent’s record', async () => {
    const before = (await api.request('GET', `/v1/agent/agents/${agentId}`, { key: user.key })).body;
    await limit({ daily_cap: '1.50', concurrent_calls: 3 });
    const read = (key: string) => api.request('GET', `/v1/agent/agents/${agentId}/limits`, { key });
    expect((await read(user.key)).body).toEqual({ daily_cap: '1.50', concurrent_calls: 3 });
    expect((await api.request('GET', `/v1/agent/agents/${agentId}`, { key: user.key })).body).toEqual(before);
    const otherUser = await api.createUser();
    expect((await read(otherUser.key)).status).toBe(404);
    expect((await limit({ daily_cap: null, concurrent_calls: null }, otherUser.key)).status).toBe(404);
    for (const body of [
      { daily_cap: '-1', concurrent_calls: null },
      { daily_cap: 5, concurrent_calls: null },
      { daily_cap: null },
      {},
    ]) {
      expect((await limit(body)).status).toBe(422);
    }
  });

  it('find what was spent before today in an index', async () => {
    await create();
    const { collection } = api.context.models.ledger;
    const before = { user_id: user.userId, at: { $lt: new Date(0) } };
    const plan = await collection.find(before, { sort: { at: -1, seq: -1 } }).explain();
    expect(plan['executionStats'].totalDocsExamined).toBe(0);
  });
});
