import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_LOCAL_MODELS } from '#config/local-models.ts';
import { seedDemo, seedOperator } from '#control-plane/operations/seed.ts';
import { PublicAddress } from '#control-plane/platform/public-address.ts';
import { openTestApi, type TestApi } from '../test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

describe('the initial data of a deployment', () => {
  it('is an operator with credit, a published public demo agent and a number it answers', async () => {
    const key = api.rootKey;
    expect((await api.request('GET', '/wallet/self/api-credit', { key })).body.credit).toBe('10.00');
    const [agent] = (await api.request('GET', '/v1/agent/agents', { key })).body.agents;
    expect(agent).toMatchObject({
      name: 'Parley demo',
      publication_state: 'live',
      has_unpublished_changes: false,
      public_enabled: true,
      allowed_origins: ['http://127.0.0.1:8080', 'http://localhost:8080'],
    });
    const config = (await api.request('GET', `/v1/agent/agents/${agent.agent_id}/config`, { key })).body;
    expect(config.llm.model).toBe('local/demo');
    expect(config.asr.keyterms).toContain('opening hours');
    const [number] = (await api.request('GET', '/v1/agent/phone-numbers', { key })).body.phone_numbers;
    expect(number).toMatchObject({
      phone_number: '+15550100000',
      agent_id: agent.agent_id,
      status: 'active',
    });
  });

  it('stays unchanged at the next start, except for the program’s address', async () => {
    const { demoAgentId } = await seedDemo(api.context);
    await api.request('PATCH', `/v1/agent/agents/${demoAgentId}`, {
      key: api.rootKey,
      body: { name: 'Mine now' },
    });
    const moved = {
      ...api.context,
      publicAddress: new PublicAddress({ ...api.context.settings, PUBLIC_URL: 'https://parley.example.com' }),
    };
    await seedOperator(moved);
    const seeded = await seedDemo(moved);
    expect(seeded).toEqual({ demoAgentId, demoNumber: '+15550100000' });
    const { agents } = (await api.request('GET', '/v1/agent/agents', { key: api.rootKey })).body;
    expect(agents).toHaveLength(1);
    expect(agents[0]).toMatchObject({ name: 'Mine now', allowed_origins: ['https://parley.example.com'] });
    const versions = await api.request('GET', `/v1/agent/agents/${demoAgentId}/versions`, {
      key: api.rootKey,
    });
    expect(versions.body.versions).toHaveLength(1);
    expect((await api.request('GET', '/wallet/self/api-credit', { key: api.rootKey })).body.credit).toBe(
      '10.00',
    );
  });

  it('uses the model that is offered now', async () => {
    const offered = { ...api.context.platform, llm: [{ id: 'openai/gpt-x', default: true }] };
    const { demoAgentId } = await seedDemo({ ...api.context, platform: offered });
    const config = (await api.request('GET', `/v1/agent/agents/${demoAgentId}/config`, { key: api.rootKey }))
      .body;
    expect(config.llm.model).toBe('openai/gpt-x');
  });

  it('keeps the local model it was given while its server does not answer', async () => {
    const id = 'local/llama3.2';
    const figures = { context_tokens: null, tools: null, tokens_per_second: null };
    const model = { id, base_url: 'http://127.0.0.1:11434/v1', name: 'llama3.2:latest', ...figures };
    const { demoAgentId } = await seedDemo(api.context);
    await api.context.models.agents.updateOne({ _id: demoAgentId }, { $set: { 'config.llm.model': id } });
    await seedDemo({ ...api.context, localModels: { ...NO_LOCAL_MODELS, known: () => [model] } });
    const agent = await api.context.models.agents.findById(demoAgentId).lean();
    expect(agent?.config.llm.model).toBe(id);
  });

  it('accepts a new root key from the settings, and the old one becomes invalid', async () => {
    const rootApiKey = `pk_${randomBytes(24).toString('hex')}`;
    await seedOperator({ ...api.context, credentials: { ...api.context.credentials, rootApiKey } });
    expect((await api.request('GET', '/v1/keys', { key: api.rootKey })).status).toBe(401);
    expect((await api.request('POST', '/admin/users', { key: rootApiKey, body: { name: 'x' } })).status).toBe(
      201,
    );
  });

  it('reserves the demo number, and forgets it once it is released', async () => {
    await seedOperator(api.context);
    const [number] = (await api.request('GET', '/v1/agent/phone-numbers', { key: api.rootKey })).body
      .phone_numbers;
    expect(
      (
        await api.request('POST', '/v1/agent/phone-numbers', {
          key: api.rootKey,
          body: { provider: 'managed', phone_number: '+15550100000' },
        })
      ).status,
    ).toBe(409);
    await api.request('DELETE', `/v1/agent/phone-numbers/${number.phone_number_id}`, { key: api.rootKey });
    expect((await seedDemo(api.context)).demoNumber).toBeNull();
  });
});
