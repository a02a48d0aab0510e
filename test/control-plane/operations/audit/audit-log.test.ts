import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
  agentId = (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'planted' } })).body
    .agent_id;
});
afterAll(() => api.close());

const log = async (key = user.key, query = '') =>
  (await api.request('GET', `/v1/agent/audit-log${query}`, { key })).body;
/** Sends each request a millisecond after the last, to make their order unambiguous. */
const later: TestCalls['request'] = async (...request) => {
  await api.clock.advance(1);
  return api.request(...request);
};
const newest = async () => (await log()).entries[0];
const count = async () => (await log(user.key, '?include_total=true')).total;

describe('the audit log', () => {
  it('records who created which object', async () => {
    const key = await api.context.models.keys.findOne({ user_id: user.userId }).lean();
    expect((await log()).entries).toEqual([
      {
        entry_id: expect.any(String),
        user_id: user.userId,
        key_id: key?._id,
        action: 'POST /v1/agent/agents',
        resource: 'agents',
        resource_id: agentId,
        fields: ['name', 'description'],
        request_id: expect.any(String),
        created_at: api.at(),
      },
    ]);
  });

  it('names the changed fields down to their leaves, and never a value', async () => {
    const webhooks = { post_call: [{ url: 'https://a.example.com/planted', secret: 'planted' }] };
    const body = { prompt: { system_prompt: 'planted' }, conversation: { response_wait_ms: 400 }, webhooks };
    await later('PATCH', `/v1/agent/agents/${agentId}/config`, { key: user.key, body });
    const fields = ['prompt.system_prompt', 'conversation.response_wait_ms', 'webhooks.post_call'];
    expect(await newest()).toMatchObject({
      action: 'PATCH /v1/agent/agents/{agent_id}/config',
      resource_id: agentId,
      fields,
    });
    const { collection } = api.context.models.auditLog;
    expect(JSON.stringify(await collection.find({}).toArray())).not.toContain('planted');
  });

  it('records publications, deletions, keys, privacy settings and the operator’s changes', async () => {
    await later('POST', `/v1/agent/agents/${agentId}/publish`, { key: user.key });
    expect(await newest()).toMatchObject({ action: 'POST /v1/agent/agents/{agent_id}/publish', fields: [] });
    const { key_id } = (await later('POST', '/v1/keys', { key: user.key, body: { name: 'ci' } })).body;
    expect(await newest()).toMatchObject({ resource: 'keys', resource_id: key_id });
    await later('DELETE', `/v1/keys/${key_id}`, { key: user.key });
    expect(await newest()).toMatchObject({ action: 'DELETE /v1/keys/{key_id}', resource_id: key_id });
    await later('PATCH', '/v1/agent/privacy', { key: user.key, body: { recordings_days: 3 } });
    expect(await newest()).toMatchObject({
      resource: 'privacy',
      resource_id: null,
      fields: ['recordings_days'],
    });
    await later('PATCH', `/admin/users/${user.userId}`, { key: api.rootKey, body: { daily_cap: '5.00' } });
    expect((await log(api.rootKey)).entries[0]).toMatchObject({
      resource: 'users',
      resource_id: user.userId,
      fields: ['daily_cap'],
    });
  });

  it('does not record reads, refusals, calls or speech', async () => {
    const before = await count();
    await api.request('GET', `/v1/agent/agents/${agentId}`, { key: user.key });
    await api.request('PATCH', `/v1/agent/agents/${agentId}`, { key: user.key, body: { name: '' } });
    await api.request('DELETE', `/v1/agent/agents/${'f'.repeat(32)}`, { key: user.key });
    await api.request('POST', '/v1/agent/agents', { body: { name: 'no key' } });
    expect(
      (await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } }))
        .status,
    ).toBe(201);
    expect(
      (await api.request('POST', '/v1/tts', { key: user.key, body: { text: 'Hello.', format: 'wav' } }))
        .status,
    ).toBe(200);
    expect(await count()).toBe(before);
  });

  it('is visible to its team only, and is paged by number and by cursor', async () => {
    const otherUser = await api.createUser();
    expect((await log(otherUser.key)).entries).toEqual([]);
    const first = await log(user.key, '?page_size=2');
    const second = await log(user.key, `?page_size=2&cursor=${first.next_cursor}`);
    expect((await log(user.key, '?page_size=2&page=2')).entries).toEqual(second.entries);
    expect(first.entries).not.toEqual(second.entries);
  });

  it('does not affect the answer when it cannot be written', async () => {
    const broken = vi.spyOn(api.context.models.auditLog, 'create').mockRejectedValue(new Error('disk full'));
    expect(
      (await api.request('PATCH', `/v1/agent/agents/${agentId}`, { key: user.key, body: { name: 'Ada' } }))
        .status,
    ).toBe(200);
    expect(broken).toHaveBeenCalled();
    broken.mockRestore();
  });
});
