import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestResponse, type TestUser } from '../../test-api.ts';
import { sendForm } from '../knowledge/knowledge-form.ts';

const ROUNDS = 20;

let api: TestApi;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
  agentId = (await ask('POST', '/v1/agent/agents', { name: 'Ada' })).body.agent_id;
});
afterAll(() => api.close());

const ask = (
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  url: string,
  body?: unknown,
): Promise<TestResponse> => api.request(method, url, { key: user.key, body });
const patch = (config: object) => ask('PATCH', `/v1/agent/agents/${agentId}/config`, config);
const config = async (id = agentId) => (await ask('GET', `/v1/agent/agents/${id}/config`)).body;

interface Kind {
  readonly url: string;
  create(): Promise<string>;
  attaching(ids: readonly string[]): object;
  attached(config: Record<string, Record<string, unknown>>): unknown;
}

const KINDS: Record<string, Kind> = {
  tool: {
    url: '/v1/agent/tools',
    create: async () => {
      const tool = { name: 'lookup', tool_type: 'webhook', method: 'GET', url: 'https://tools.example.com/' };
      return (await ask('POST', '/v1/agent/tools', tool)).body.tool_id;
    },
    attaching: (ids) => ({ tools: { tool_ids: ids } }),
    attached: ({ tools }) => tools?.['tool_ids'],
  },
  server: {
    url: '/v1/agent/tool-servers',
    create: async () => {
      const server = { name: 'Calendar', url: 'https://calendar.example.com/mcp' };
      return (await ask('POST', '/v1/agent/tool-servers', server)).body.tool_server_id;
    },
    attaching: (ids) => ({ tool_servers: { tool_server_ids: ids } }),
    attached: ({ tool_servers }) => tool_servers?.['tool_server_ids'] ?? [],
  },
  source: {
    url: '/v1/agent/knowledge-sources',
    create: async () =>
      (
        await sendForm(api, user.key, '/v1/agent/knowledge-sources', {
          method: 'POST',
          form: { source: 'We open at nine.' },
        })
      ).body.knowledge_source_id,
    attaching: (ids) => ({ knowledge_base: { knowledge_source_ids: ids } }),
    attached: ({ knowledge_base }) => knowledge_base?.['knowledge_source_ids'],
  },
};

describe.each(Object.entries(KINDS))('a %s', (_name, kind) => {
  it('store 4: leaves no dangling reference in the draft if it is attached and deleted at once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await patch(kind.attaching([]));
      const id = await kind.create();
      const [attach, drop] = await Promise.all([
        patch(kind.attaching([id])),
        ask('DELETE', `${kind.url}/${id}`),
      ]);
      expect([200, 422]).toContain(attach.status);
      expect([204, 409]).toContain(drop.status);
      const isThere = (await ask('GET', `${kind.url}/${id}`)).status === 200;
      expect(isThere).toBe(drop.status === 409);
      expect(kind.attached(await config())).toEqual(attach.status === 200 ? [id] : []);
      expect(attach.status === 200 && !isThere).toBe(false);
    }
  });

  it('store 4: leaves no dangling reference if it is given to a new agent and deleted at once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await kind.create();
      const [made] = await Promise.all([
        ask('POST', '/v1/agent/agents', { name: 'New', config: kind.attaching([id]) }),
        ask('DELETE', `${kind.url}/${id}`),
      ]);
      if (made.status === 201) expect((await ask('GET', `${kind.url}/${id}`)).status).toBe(200);
      else expect(made.status).toBe(422);
    }
  });

  it('store 4: can be attached again after its deletion was rejected or interrupted', async () => {
    const id = await kind.create();
    await patch(kind.attaching([id]));
    expect((await ask('DELETE', `${kind.url}/${id}`)).status).toBe(409);
    await patch(kind.attaching([]));
    expect((await patch(kind.attaching([id]))).status).toBe(200);
    await patch(kind.attaching([]));
    const at = new Date(api.clock.wallTime());
    const { tools, knowledge, toolServers } = api.context.models;
    for (const model of [tools, knowledge, toolServers])
      await model.collection.updateOne({ _id: id as never }, { $set: { deleting_at: at } });
    expect((await patch(kind.attaching([id]))).status).toBe(422);
    await api.clock.advance(61_000);
    expect((await patch(kind.attaching([id]))).status).toBe(200);
  });
});
