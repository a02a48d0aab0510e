import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newestVersion } from '#control-plane/catalogue/agents/newest-version.ts';
import { loadPublished } from '#control-plane/catalogue/agents/publish.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
let agent: string;

beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  user = await api.createUser();
  const made = await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'a' } });
  agent = `/v1/agent/agents/${made.body.agent_id}`;
});
afterAll(() => api.close());

const publish = (body?: object) =>
  api.request('POST', `${agent}/publish`, { key: user.key, ...(body ? { body } : {}) });
const patch = (body: object) => api.request('PATCH', `${agent}/config`, { key: user.key, body });
const hasChanges = async () =>
  (await api.request('GET', agent, { key: user.key })).body.has_unpublished_changes;

describe('publishing', () => {
  it('freezes the draft as version 1, with or without a body, and makes the agent live', async () => {
    const { status, body } = await publish({ version_title: 'First', version_description: 'opening hours' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      version_number: 1,
      version_title: 'First',
      version_description: 'opening hours',
    });
    expect((await api.request('GET', agent, { key: user.key })).body).toMatchObject({
      publication_state: 'live',
      has_unpublished_changes: false,
    });
    await patch({ prompt: { system_prompt: 'changed' } });
    expect(await hasChanges()).toBe(true);
    expect((await publish()).body).toMatchObject({ version_number: 2, version_title: null });
  });

  it('gives calls the newest version, also from another replica, and none after deletion', async () => {
    const agentId = agent.split('/').at(-1) ?? '';
    await publish();
    const first = (await loadPublished(api.context, agentId))?.version;
    expect(first?.version_number).toBe(1);
    await api.context.models.versions.create({ ...first, _id: `${agentId}-2`, version_number: 2 });
    expect((await loadPublished(api.context, agentId))?.version?._id).toBe(`${agentId}-2`);
    await api.request('DELETE', agent, { key: user.key });
    expect(await newestVersion(api.context, agentId)).toBeNull();
  });

  it('returns the live version again when nothing has changed', async () => {
    const first = (await publish({ version_title: 'First' })).body;
    expect((await publish({ version_title: 'Second' })).body).toEqual(first);
    await patch({ prompt: { system_prompt: 'x' } });
    await patch({ prompt: { system_prompt: '' } });
    expect((await publish()).body.version_number).toBe(1);
  });

  it('creates one version when it is requested ten times at once', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => publish()));
    expect(answers.map((answer) => [answer.status, answer.body.version_number])).toEqual(
      Array.from({ length: 10 }, () => [200, 1]),
    );
  });

  it('is rejected for an archived agent until it is active again', async () => {
    const setStatus = (status: string) => api.request('PATCH', agent, { key: user.key, body: { status } });
    await setStatus('archived');
    const refused = await publish();
    expect([refused.status, refused.body.message]).toEqual([409, 'Agent is archived']);
    await setStatus('active');
    expect((await publish()).status).toBe(200);
  });

  it('leaves a version unchanged when the draft changes', async () => {
    await patch({ prompt: { system_prompt: 'old' } });
    await publish();
    await patch({ prompt: { system_prompt: 'new' } });
    await publish();
    const old = await api.request('GET', `${agent}/versions/1`, { key: user.key });
    expect(old.body.config.prompt.system_prompt).toBe('old');
    expect(old.body.config.config_hash).toBe(old.body.config_hash);
    const list = await api.request('GET', `${agent}/versions?page=1`, { key: user.key });
    expect(list.body).toMatchObject({
      versions: [{ version_number: 2 }, { version_number: 1 }],
      total: 2,
      has_more: false,
    });
    expect(list.body.versions[0].config).toBeUndefined();
  });

  it.each(['0', '01', '3', 'x', '1.0', '-1', '99999999999999999999'])(
    'answers 404 for version %s',
    async (number) => {
      await publish();
      const { status, body } = await api.request('GET', `${agent}/versions/${number}`, { key: user.key });
      expect(status).toBe(404);
      expect(body).toEqual({ status: 404, message: 'Not found', reason: null });
    },
  );

  it('is undone by restoring an old snapshot, which restores its hash and keeps secrets', async () => {
    await patch({
      webhooks: { post_call: [{ url: 'https://a.example.com', secret: 's' }] },
      prompt: { system_prompt: 'old' },
    });
    const { config } = (await publish()).body;
    await patch({ prompt: { system_prompt: 'new' } });
    await publish();
    const { agent_id: _id, config_hash, updated_at: _at, ...sections } = config;
    const restored = await patch(sections);
    expect(restored.status).toBe(200);
    expect(restored.body.config_hash).toBe(config_hash);
    expect((await publish()).body.version_number).toBe(3);
  });

  it.each([{ version_title: 'x'.repeat(121) }, { title: 'x' }])('rejects %j', async (body) => {
    expect((await publish(body)).status).toBe(422);
  });
});

describe('"Agents" the hash', () => {
  it('covers attached tools: an edit is an unpublished change, and the published copy stays', async () => {
    const tool = (
      await api.request('POST', '/v1/agent/tools', {
        key: user.key,
        body: { name: 'Look up', url: 'https://old.example.com' },
      })
    ).body;
    await patch({ tools: { tool_ids: [tool.tool_id] } });
    await publish();
    expect(await hasChanges()).toBe(false);
    await api.request('PATCH', `/v1/agent/tools/${tool.tool_id}`, {
      key: user.key,
      body: { url: 'https://new.example.com' },
    });
    expect(await hasChanges()).toBe(true);
    const live = await loadPublished(api.context, agent.split('/').at(-1) ?? '');
    expect(live?.version?.tools[0]).toMatchObject({ tool_id: tool.tool_id, url: 'https://old.example.com' });
    expect((await publish()).body.version_number).toBe(2);
  });

  it('covers secrets: a new signing key makes a new version, the same key does not', async () => {
    const post_call = [{ url: 'https://a.example.com', secret: 'one' }];
    await patch({ webhooks: { post_call } });
    await publish();
    await patch({ webhooks: { post_call } });
    expect(await hasChanges()).toBe(false);
    await patch({ webhooks: { post_call: [{ url: 'https://a.example.com', secret: 'two' }] } });
    expect(await hasChanges()).toBe(true);
    const live = await loadPublished(api.context, agent.split('/').at(-1) ?? '');
    expect(api.context.secretBox.open(live?.version?.secrets.post_call[0]?.sealed ?? '')).toBe('one');
  });
});

describe('loadPublished', () => {
  it('distinguishes a missing agent from an unpublished one', async () => {
    expect(await loadPublished(api.context, 'missing')).toBeNull();
    expect((await loadPublished(api.context, agent.split('/').at(-1) ?? ''))?.version).toBeNull();
  });

  it('finds the newest version even when the agent’s record does not mention it', async () => {
    await publish();
    const agentId = agent.split('/').at(-1) ?? '';
    await api.context.models.agents.updateOne(
      { _id: agentId },
      { $set: { published: 0, published_hash: '' } },
    );
    expect((await loadPublished(api.context, agentId))?.version?.version_number).toBe(1);
    expect((await publish()).body.version_number).toBe(1);
    expect((await api.request('GET', agent, { key: user.key })).body).toMatchObject({
      publication_state: 'live',
      has_unpublished_changes: false,
    });
  });
});
