import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestResponse, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
const tools = '/v1/agent/tools';
const webhook = { name: 'Look up order', url: 'https://shop.example.com/orders/{{order}}' };

beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  user = await api.createUser();
});
afterAll(() => api.close());

function create(body: object): Promise<TestResponse> {
  return api.request('POST', tools, { key: user.key, body });
}

async function createAgent(toolIds: string[]): Promise<string> {
  const { body } = await api.request('POST', '/v1/agent/agents', {
    key: user.key,
    body: { name: 'a', config: { tools: { tool_ids: toolIds } } },
  });
  return body.agent_id;
}

describe('a tool', () => {
  it('is created with every default', async () => {
    const { status, body } = await create(webhook);
    expect(status).toBe(201);
    expect(body).toEqual({
      ...webhook,
      tool_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      workspace_id: user.workspaceId,
      description: '',
      tool_type: 'webhook',
      method: 'POST',
      used_by: 0,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      content_type: 'application/json',
      timeout_seconds: 30,
      error_handling: 'passthrough',
      arguments: [],
      body_template: '',
      headers: [],
      mock_responses: [],
      expects_response: true,
      execution_mode: 'blocking',
    });
    expect((await api.request('GET', `${tools}/${body.tool_id}`, { key: user.key })).body).toEqual(body);
  });

  it('never shows a credential again, and stores it sealed', async () => {
    const headers = [
      { name: 'Authorization', value: 'Bearer top-secret', kind: 'authorization_bearer' },
      { name: 'X-Tenant', value: '{{tenant}}' },
    ];
    const { body } = await create({ ...webhook, headers });
    expect(body.headers).toEqual([
      { name: 'Authorization', kind: 'authorization_bearer', value: null, has_secret: true },
      { name: 'X-Tenant', kind: 'custom', value: '{{tenant}}', has_secret: false },
    ]);
    const stored = await api.context.models.tools.findById(body.tool_id).lean();
    expect(JSON.stringify(stored)).not.toContain('top-secret');
    expect(api.context.secretBox.open(stored?.headers[0]?.value ?? '')).toBe('Bearer top-secret');
    const kept = await api.request('PATCH', `${tools}/${body.tool_id}`, {
      key: user.key,
      body: { description: 'other' },
    });
    expect(kept.body.headers).toEqual(body.headers);
  });

  it.each([
    ['no name', { url: webhook.url }],
    ['a long name', { ...webhook, name: 'x'.repeat(121) }],
    ['a webhook without url', { name: 'x' }],
    ['a url that is none', { ...webhook, url: 'shop' }],
    ['a url of another scheme', { ...webhook, url: 'ftp://shop.example.com' }],
    ['a url of localhost', { ...webhook, url: 'http://localhost:3000/x' }],
    ['a private address', { ...webhook, url: 'http://192.168.1.1/{{order}}' }],
    ['a metadata address', { ...webhook, url: 'http://169.254.169.254/latest' }],
    ['a metadata name', { ...webhook, url: 'http://metadata.google.internal/' }],
    ['an address in one number', { ...webhook, url: 'http://2130706433/' }],
    ['credentials in the url', { ...webhook, url: 'https://user:{{password}}@shop.example.com/' }],
    ['a long url', { ...webhook, url: `https://a.example.com/${'x'.repeat(4_000)}` }],
    ['a header with a line break', { ...webhook, headers: [{ name: 'X-A', value: 'a\r\nX-B: b' }] }],
    ['a header name that is no token', { ...webhook, headers: [{ name: 'X A', value: 'a' }] }],
    [
      'an empty credential',
      { ...webhook, headers: [{ name: 'Authorization', kind: 'authorization_basic', value: '' }] },
    ],
    ['301 seconds', { ...webhook, execution_mode: 'background', timeout_seconds: 301 }],
    ['121 seconds while blocking', { ...webhook, timeout_seconds: 121 }],
    [
      '121 seconds while fire and forget',
      { ...webhook, execution_mode: 'fire_and_forget', timeout_seconds: 121 },
    ],
    [
      'a client tool in the background',
      { name: 'openPage', tool_type: 'client', execution_mode: 'background' },
    ],
    ['a client tool whose name is no function name', { name: 'open page', tool_type: 'client' }],
    ['an argument twice', { ...webhook, arguments: [{ name: 'a' }, { name: 'a' }] }],
    ['a mock status of 600', { ...webhook, mock_responses: [{ status_code: 600 }] }],
    ['an unknown system variable', { ...webhook, body_template: '{"t":"{{system.now}}"}' }],
    ['an unknown field', { ...webhook, retries: 3 }],
    ['an unknown field inside', { ...webhook, headers: [{ name: 'X-A', value: 'a', secret: 'b' }] }],
  ])('is 422 with the fault %s', async (_name, body) => {
    expect((await create(body)).status).toBe(422);
  });

  it.each([
    ['300 seconds in the background', { ...webhook, execution_mode: 'background', timeout_seconds: 300 }],
    ['a placeholder for a host', { ...webhook, url: 'https://{{host}}/x' }],
    ['a placeholder for a port', { ...webhook, url: 'https://shop.example.com:{{port}}/x?y={{z}}' }],
    ['a url that is all placeholder', { ...webhook, url: '{{url}}' }],
    ['a client tool', { name: 'openPage', tool_type: 'client', expects_response: false }],
    ['system variables', { ...webhook, body_template: '{"caller":"{{system.caller_number}}"}' }],
  ])('is accepted with %s', async (_name, body) => {
    expect((await create(body)).status).toBe(201);
  });
});

describe('a change of a tool', () => {
  it('validates timeout and mode together, even when only one is sent', async () => {
    const { tool_id } = (await create({ ...webhook, execution_mode: 'background', timeout_seconds: 200 }))
      .body;
    const patch = (body: object) => api.request('PATCH', `${tools}/${tool_id}`, { key: user.key, body });
    expect((await patch({ execution_mode: 'blocking' })).status).toBe(422);
    expect((await patch({ execution_mode: 'blocking', timeout_seconds: 60 })).status).toBe(200);
    expect((await patch({ timeout_seconds: 200 })).status).toBe(422);
  });

  it('replaces lists, and rejects null, an empty URL and another type', async () => {
    const { tool_id } = (
      await create({ ...webhook, arguments: [{ name: 'order', description: 'its number' }, { name: 'b' }] })
    ).body;
    const patch = (body: object) => api.request('PATCH', `${tools}/${tool_id}`, { key: user.key, body });
    expect((await patch({ arguments: [{ name: 'c' }] })).body.arguments).toEqual([
      { name: 'c', description: '' },
    ]);
    for (const wrong of [
      { description: null },
      { url: '' },
      { tool_type: 'client' },
      { headers: [{ name: 'Authorization', kind: 'authorization_bearer', value: null }] },
    ]) {
      expect((await patch(wrong)).status, JSON.stringify(wrong)).toBe(422);
    }
  });
});

describe('tools and agents', () => {
  it('a tool counts and lists the drafts that use it, and cannot be deleted while in use', async () => {
    const { tool_id } = (await create(webhook)).body;
    const first = await createAgent([tool_id]);
    await api.clock.advance(1);
    const second = await createAgent([tool_id]);
    expect((await api.request('GET', `${tools}/${tool_id}`, { key: user.key })).body.used_by).toBe(2);
    expect((await api.request('GET', `${tools}/${tool_id}/agents`, { key: user.key })).body).toEqual({
      agents: [
        { agent_id: second, name: 'a' },
        { agent_id: first, name: 'a' },
      ],
      total: 2,
    });
    const refused = await api.request('DELETE', `${tools}/${tool_id}`, { key: user.key });
    expect(refused.status).toBe(409);
    expect(refused.body.message).toMatch(/^Tool is attached to 2 agent\(s\)/);
  });

  it('a published snapshot does not block the deletion', async () => {
    const { tool_id } = (await create(webhook)).body;
    const agent = `/v1/agent/agents/${await createAgent([tool_id])}`;
    await api.request('POST', `${agent}/publish`, { key: user.key });
    await api.request('PATCH', `${agent}/config`, { key: user.key, body: { tools: { tool_ids: [] } } });
    expect((await api.request('DELETE', `${tools}/${tool_id}`, { key: user.key })).status).toBe(204);
    expect((await api.request('GET', `${tools}/${tool_id}`, { key: user.key })).status).toBe(404);
  });

  it('another team’s tools cannot be attached', async () => {
    const { tool_id } = (await create(webhook)).body;
    user = await api.createUser();
    const { status } = await api.request('POST', '/v1/agent/agents', {
      key: user.key,
      body: { name: 'a', config: { tools: { tool_ids: [tool_id] } } },
    });
    expect(status).toBe(422);
  });

  it('two client tools with one name on an agent are 400, also after renaming', async () => {
    const client = { name: 'openPage', tool_type: 'client' };
    const [one, two, three] = [
      (await create(client)).body.tool_id,
      (await create(client)).body.tool_id,
      (await create({ ...client, name: 'closePage' })).body.tool_id,
    ];
    const twins = await api.request('POST', '/v1/agent/agents', {
      key: user.key,
      body: { name: 'a', config: { tools: { tool_ids: [one, two] } } },
    });
    expect(twins.status).toBe(400);
    await createAgent([one, three]);
    expect(
      (await api.request('PATCH', `${tools}/${three}`, { key: user.key, body: { name: 'openPage' } })).status,
    ).toBe(400);
    expect(
      (await api.request('PATCH', `${tools}/${two}`, { key: user.key, body: { name: 'openPage' } })).status,
    ).toBe(200);
  });

  it('tools are listed as summaries, by name and by agent', async () => {
    const { tool_id } = (await create(webhook)).body;
    await api.clock.advance(1);
    await create({ ...webhook, name: 'Cancel order' });
    const agent = await createAgent([tool_id]);
    const all = (await api.request('GET', tools, { key: user.key })).body;
    expect(all.tools.map((tool: { name: string }) => tool.name)).toEqual(['Cancel order', 'Look up order']);
    expect(all.tools[1]).toMatchObject({ tool_id, used_by: 1 });
    expect(all.tools[1].headers).toBeUndefined();
    expect((await api.request('GET', `${tools}?search=CANCEL`, { key: user.key })).body.tools).toHaveLength(
      1,
    );
    expect(
      (await api.request('GET', `${tools}?agent_id=${agent}`, { key: user.key })).body.tools.map(
        (tool: { tool_id: string }) => tool.tool_id,
      ),
    ).toEqual([tool_id]);
    expect((await api.request('GET', `${tools}?agent_id=missing`, { key: user.key })).status).toBe(404);
  });
});
