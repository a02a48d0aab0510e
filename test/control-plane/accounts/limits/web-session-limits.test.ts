import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse, TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const LIMITS = {
  LIMIT_PREVIEWS: '3',
  LIMIT_UNJOINED_SESSIONS: '5',
  LIMIT_PREVIEWS_PER_MINUTE: '12',
  LIMIT_SESSIONS_PER_MINUTE: '12',
};

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls(LIMITS);
});
afterAll(() => api.close());
beforeEach(async () => {
  user = await api.createUser({ credit: '0.00' });
  agentId = await api.publishAgent(user);
});

const preview = () => api.request('POST', `/v1/agent/agents/${agentId}/preview-sessions`, { key: user.key });
const create = () =>
  api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } });
const end = (id: string) => api.request('POST', `/v1/agent/sessions/${id}/end`, { key: user.key });
const atOnce = (count: number, ask: () => Promise<TestResponse>) =>
  Promise.all(Array.from({ length: count }, ask));
const created = (answers: readonly TestResponse[]) =>
  answers.filter(({ status }) => status === 201).map(({ body }): string => body.session_id);

describe('live previews', () => {
  it('security 5: never exceed a limit of three if ten start at once; the others get advice', async () => {
    const answers = await atOnce(10, preview);
    expect(created(answers)).toHaveLength(3);
    const refused = answers.find(({ status }) => status !== 201);
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '10' } });
    expect(refused?.body).toEqual({
      status: 429,
      message: 'This account has reached its limit of 3 live previews at once: end one, or try again in 10 s',
      reason: 'too_many_at_once',
    });
    const other = await api.createUser();
    const otherAgent = await api.publishAgent(other);
    expect(
      (await api.request('POST', `/v1/agent/agents/${otherAgent}/preview-sessions`, { key: other.key }))
        .status,
    ).toBe(201);
  });

  it('security 5: make room when one of them ends', async () => {
    const [first] = created(await atOnce(3, preview));
    await api.report(first ?? '', { type: 'joined', at: api.at() });
    expect((await preview()).status).toBe(429);
    await api.report(first ?? '', { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    expect(created(await atOnce(3, preview))).toHaveLength(1);
  });

  it('security 5: are limited per account and minute, however they end', async () => {
    for (let count = 0; count < 12; count++) {
      const [id] = created([await preview()]);
      await api.report(id ?? '', { type: 'joined', at: api.at() });
      await api.report(id ?? '', { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    }
    const refused = await preview();
    expect([refused.status, refused.body.reason]).toEqual([429, 'too_many_a_minute']);
    await api.clock.advance(Number(refused.headers['retry-after']) * 1_000);
    expect((await preview()).status).toBe(201);
  });
});

describe('unjoined sessions', () => {
  beforeEach(async () => {
    user = await api.createUser({ credit: '10.00' });
    agentId = await api.publishAgent(user);
  });

  it('security 5: never exceed a limit of five if ten are created at once, and only those five are charged', async () => {
    expect(created(await atOnce(10, create))).toHaveLength(5);
    expect(await api.balance(user.userId)).toBe(9_700_000);
  });

  it('security 5: make room when one is joined or ends without a participant', async () => {
    const [first, second] = created(await atOnce(5, create));
    await api.report(first ?? '', { type: 'joined', at: api.at() });
    expect((await create()).status).toBe(201);
    expect((await create()).status).toBe(429);
    await end(second ?? '');
    expect((await create()).status).toBe(201);
  });

  it('security 5: do not use the account’s own share if visitors created them', async () => {
    await api.request('PATCH', `/v1/agent/agents/${agentId}`, {
      key: user.key,
      body: { public_enabled: true, allowed_origins: ['https://a.example.com'] },
    });
    const visit = () =>
      api.request('POST', '/v1/agent/sessions', {
        headers: { origin: 'https://a.example.com' },
        body: { agent_id: agentId },
      });
    const answers = await atOnce(6, visit);
    expect(created(answers)).toHaveLength(5);
    expect(answers.find(({ status }) => status !== 201)).toMatchObject({
      status: 429,
      body: { message: 'Too many requests; try again in 60 s' },
    });
    expect((await create()).status).toBe(201);
  });
});
