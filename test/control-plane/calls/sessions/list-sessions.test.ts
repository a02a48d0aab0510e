import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestSessions, type TestSessions } from '../settlement/test-sessions.ts';

let api: TestSessions;
let user: TestUser;
beforeAll(async () => {
  api = await openTestSessions();
});
beforeEach(async () => {
  user = await api.newTenant();
});
afterAll(() => api.close());

describe('lists of sessions', () => {
  it('omit pending sessions by default, apply every filter, and never show other teams’ sessions', async () => {
    const [pending, active, ended] = [await api.session(), await api.joined(), await api.joined()];
    await api.report(ended, { type: 'ended', at: api.at(5_000), end_reason: 'agent_hangup' });
    await api.context.models.sessions.updateOne(
      { _id: ended },
      { $set: { caller_number: '+14155550123', sip_call_id: 'abc@host' } },
    );
    const list = async (query: string) => {
      const { status, body } = await api.request('GET', `/v1/agent/sessions${query}`, { key: user.key });
      return status === 200
        ? body.sessions.map((row: { session_id: string }) => row.session_id).sort()
        : status;
    };
    const ids = (...wanted: string[]) => wanted.sort();
    expect(await list('')).toEqual(ids(active, ended));
    expect(await list('?status=pending')).toEqual([pending]);
    expect(await list('?status=pending,active')).toEqual(ids(pending, active));
    expect(await list('?end_reason=agent_hangup,escalated')).toEqual([ended]);
    expect(await list('?direction=outbound')).toEqual([]);
    expect(await list('?caller_number=14155550123')).toEqual([ended]);
    expect(await list('?caller_number=%2B14155550123')).toEqual([ended]);
    expect(await list('?sip_call_id=abc%40host')).toEqual([ended]);
    expect(await list(`?created_after=${api.at(1)}`)).toEqual([]);
    expect(await list(`?created_before=${api.at(1)}&agent_id=${api.agentId()}`)).toEqual(ids(active, ended));
    expect(await list('?agent_id=other')).toEqual([]);
    expect(await list('?status=nonsense')).toBe(422);
    expect(await list('?page=1&cursor=x')).toBe(400);
    const row = (await api.request('GET', '/v1/agent/sessions?page=1&page_size=1', { key: user.key })).body;
    expect([row.total, row.has_more, 'items' in row.sessions[0]]).toEqual([2, true, false]);
    const next = (
      await api.request('GET', `/v1/agent/sessions?cursor=${row.next_cursor}&include_total=true`, {
        key: user.key,
      })
    ).body;
    expect([next.sessions.length, next.has_more, next.total]).toEqual([1, false, 2]);
    const other = await api.createUser();
    expect(
      (await api.request('GET', '/v1/agent/sessions?status=active', { key: other.key })).body.sessions,
    ).toEqual([]);
  });
});

it('a session of a deleted agent can still be read, listed and ended', async () => {
  const id = await api.joined();
  const agentId = api.agentId();
  expect((await api.request('DELETE', `/v1/agent/agents/${agentId}`, { key: user.key })).status).toBe(204);
  await api.report(id, { type: 'ended', at: api.at(10_000), end_reason: 'user_hangup' });
  expect(await api.read(id)).toMatchObject({
    agent_id: agentId,
    agent_name: 'Ada',
    status: 'completed',
    end_reason: 'user_hangup',
    duration_seconds: 10,
  });
  const listed = await api.request('GET', `/v1/agent/sessions?agent_id=${agentId}`, { key: user.key });
  expect(listed.body.sessions.map((row: { session_id: string }) => row.session_id)).toEqual([id]);
});
