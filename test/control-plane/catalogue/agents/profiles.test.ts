import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
const agents = '/v1/agent/agents';

beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  user = await api.createUser();
});
afterAll(() => api.close());

async function create(body: object) {
  await api.clock.advance(1);
  return (await api.request('POST', agents, { key: user.key, body })).body;
}

describe('an agent', () => {
  it('is created unpublished, with the sent config applied over the defaults', async () => {
    const created = await api.request('POST', agents, {
      key: user.key,
      body: { name: 'Front desk', config: { prompt: { system_prompt: 'Be kind.' } } },
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      workspace_id: user.workspaceId,
      name: 'Front desk',
      description: '',
      status: 'active',
      publication_state: 'draft',
      has_unpublished_changes: true,
      public_enabled: false,
      allowed_origins: [],
      overrides_allowed: [],
    });
    expect(created.body.agent_id).toMatch(/^[0-9a-f]{32}$/);
    const config = await api.request('GET', `${agents}/${created.body.agent_id}/config`, { key: user.key });
    expect(config.body.prompt.system_prompt).toBe('Be kind.');
    expect(config.body.conversation.max_duration_seconds).toBe(1800);
    expect(config.body.webhooks).toEqual({ conversation_init: null, post_call: [] });
    expect(config.body.llm).toEqual({ model: 'local/demo', custom: null });
  });

  it('is not created when its config is invalid', async () => {
    const refused = await api.request('POST', agents, {
      key: user.key,
      body: { name: 'x', config: { conversation: { timezone: 'Mars/Olympus' } } },
    });
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject([{ loc: ['body', 'config', 'conversation', 'timezone'], in: 'body' }]);
    expect((await api.request('GET', agents, { key: user.key })).body.agents).toEqual([]);
  });

  it('is changed field by field and rejects null, unknown fields and malformed origins', async () => {
    const { agent_id } = await create({ name: 'a', description: 'kept' });
    const body = {
      name: 'b',
      public_enabled: true,
      allowed_origins: ['https://www.example.com', 'http://localhost:3000/'],
      overrides_allowed: ['voice_id'],
    };
    const changed = await api.request('PATCH', `${agents}/${agent_id}`, { key: user.key, body });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ ...body, description: 'kept' });
    for (const wrong of [
      { name: null },
      { name: '' },
      { name: 'x'.repeat(121) },
      { bogus: 1 },
      { allowed_origins: ['www.example.com'] },
      { allowed_origins: ['https://a.example.com/path'] },
      { allowed_origins: ['https://*.example.com'] },
      { allowed_origins: ['*'] },
      { overrides_allowed: ['volume'] },
      { status: 'deleted' },
    ]) {
      expect(
        (await api.request('PATCH', `${agents}/${agent_id}`, { key: user.key, body: wrong })).status,
        JSON.stringify(wrong),
      ).toBe(422);
    }
  });

  it('is deleted with its versions, and its numbers are unbound', async () => {
    const { agent_id } = await create({ name: 'a' });
    await api.request('POST', `${agents}/${agent_id}/publish`, { key: user.key });
    const number = (
      await api.request('POST', '/v1/agent/phone-numbers', {
        key: user.key,
        body: { provider: 'managed', phone_number: '+15550100222', agent_id },
      })
    ).body;
    expect(number.agent_id).toBe(agent_id);
    expect((await api.request('DELETE', `${agents}/${agent_id}`, { key: user.key })).status).toBe(204);
    expect((await api.request('GET', `${agents}/${agent_id}`, { key: user.key })).status).toBe(404);
    expect((await api.request('GET', `${agents}/${agent_id}/versions`, { key: user.key })).status).toBe(404);
    expect((await api.request('DELETE', `${agents}/${agent_id}`, { key: user.key })).status).toBe(404);
    expect(
      (await api.request('GET', `/v1/agent/phone-numbers/${number.phone_number_id}`, { key: user.key })).body
        .agent_id,
    ).toBeNull();
    await api.request('DELETE', `/v1/agent/phone-numbers/${number.phone_number_id}`, { key: user.key });
  });
});

describe('the list of agents', () => {
  it('is newest first and pages by cursor without gaps or duplicates, also among equal times', async () => {
    for (let index = 0; index < 7; index++)
      await api.request('POST', agents, { key: user.key, body: { name: `a${index}` } });
    const names: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body } = await api.request(
        'GET',
        `${agents}?page_size=3${cursor === '' ? '' : `&cursor=${cursor}`}`,
        { key: user.key },
      );
      names.push(...body.agents.map((agent: { name: string }) => agent.name));
      expect(body.total).toBeNull();
      expect(body.has_more).toBe(body.next_cursor !== null);
      cursor = body.next_cursor;
    }
    expect(names.sort()).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
  });

  it('has pages with a total and a cursor for the next page', async () => {
    for (let index = 0; index < 5; index++) await create({ name: `a${index}` });
    const first = await api.request('GET', `${agents}?page=1&page_size=2`, { key: user.key });
    expect(first.body).toMatchObject({ agents: [{ name: 'a4' }, { name: 'a3' }], has_more: true, total: 5 });
    const second = await api.request(
      'GET',
      `${agents}?cursor=${first.body.next_cursor}&page_size=2&include_total=true`,
      { key: user.key },
    );
    expect(second.body).toMatchObject({ agents: [{ name: 'a2' }, { name: 'a1' }], has_more: true, total: 5 });
    const last = await api.request('GET', `${agents}?page=3&page_size=2`, { key: user.key });
    expect(last.body).toMatchObject({
      agents: [{ name: 'a0' }],
      has_more: false,
      next_cursor: null,
      total: 5,
    });
  });

  it.each([
    ['page=1&cursor=abc', 400],
    ['cursor=%21%21', 400],
    ['cursor=W10', 400],
    ['page=1002&page_size=100', 400],
    ['page=1001&page_size=100', 200],
    ['page=0', 422],
    ['page_size=0', 422],
    ['page_size=x', 422],
    ['colour=blue', 422],
  ])('answers ?%s with %i', async (query, status) => {
    expect((await api.request('GET', `${agents}?${query}`, { key: user.key })).status).toBe(status);
  });

  it('filters by text, state and archive flag', async () => {
    const live = await create({ name: 'Sales (live)', description: 'of Berlin' });
    await create({ name: 'sales draft' });
    const old = await create({ name: 'old' });
    await api.request('POST', `${agents}/${live.agent_id}/publish`, { key: user.key });
    await api.request('PATCH', `${agents}/${old.agent_id}`, { key: user.key, body: { status: 'archived' } });
    const names = async (query: string) =>
      (await api.request('GET', `${agents}?${query}`, { key: user.key })).body.agents.map(
        (agent: { name: string }) => agent.name,
      );
    expect(await names('')).toEqual(['sales draft', 'Sales (live)']);
    expect(await names('search=SALES')).toEqual(['sales draft', 'Sales (live)']);
    expect(await names('search=berlin')).toEqual(['Sales (live)']);
    expect(await names('search=(')).toEqual(['Sales (live)']);
    expect(await names('publication_state=live')).toEqual(['Sales (live)']);
    expect(await names('publication_state=draft')).toEqual(['sales draft']);
    expect(await names('include_archived=true')).toEqual(['old', 'sales draft', 'Sales (live)']);
  });
});
