import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newestVersion } from '#control-plane/catalogue/agents/newest-version.ts';
import { planToolServers } from '#control-plane/catalogue/tool-servers/plan-tool-servers.ts';
import { type FakeMcpServer, type FakeTool, startMcpServer } from '#test/fakes/mcp-server.ts';
import { openTestApi, type TestApi, type TestResponse, type TestUser } from '../test-api.ts';

const BASE = '/v1/agent/tool-servers';
const SLOTS: FakeTool = {
  name: 'find_slot',
  description: 'Free times',
  inputSchema: {
    type: 'object',
    properties: { day: { $ref: '#/$defs/day' } },
    $defs: { day: { type: 'string' } },
  },
  run: () => 'nine',
};
const BOOK: FakeTool = { name: 'book', description: 'Books a time', run: () => 'booked' };
const CREDENTIAL = { name: 'Authorization', kind: 'authorization_bearer', value: 'Bearer top-secret' };

let api: TestApi;
let server: FakeMcpServer;
let user: TestUser;

beforeAll(async () => {
  server = await startMcpServer('sessions', []);
  api = await openTestApi({ EGRESS_ALLOW: '127.0.0.1', LIMIT_TOOL_SERVERS: '3' });
});
beforeEach(async () => {
  server.tools = [SLOTS, BOOK];
  server.refusal = null;
  user = await api.createUser();
});
afterAll(async () => {
  await api.close();
  await server.close();
});

const ask = (
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  url: string,
  body?: unknown,
  key = user.key,
): Promise<TestResponse> => api.request(method, url, { key, ...(body === undefined ? {} : { body }) });

async function create(changes: object = {}): Promise<string> {
  const { body, text } = await ask('POST', BASE, { name: 'Front desk', url: server.url, ...changes });
  if (body.tool_server_id === undefined) throw new Error(text);
  return body.tool_server_id;
}
const refresh = (id: string) => ask('POST', `${BASE}/${id}/refresh`);
const names = (tools: { readonly name: string }[]) => tools.map(({ name }) => name);

async function agentWith(...ids: string[]): Promise<string> {
  const { body, text } = await ask('POST', '/v1/agent/agents', {
    name: 'Ada',
    config: { tool_servers: { tool_server_ids: ids } },
  });
  if (body.agent_id === undefined) throw new Error(text);
  return `/v1/agent/agents/${body.agent_id}`;
}

describe('a tool server', () => {
  it('is created with every default, read, changed, listed and deleted', async () => {
    const { status, body } = await ask('POST', BASE, { name: 'Calendar', url: server.url });
    expect(status).toBe(201);
    expect(body).toEqual({
      tool_server_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      workspace_id: user.workspaceId,
      name: 'Calendar',
      url: server.url,
      tool_count: 0,
      listed_at: null,
      used_by: 0,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      headers: [],
      oauth: null,
      allowed_tools: null,
      background_tools: [],
      timeout_seconds: 30,
      tools: [],
      refused_tools: [],
    });
    const one = `${BASE}/${body.tool_server_id}`;
    expect((await ask('GET', one)).body).toEqual(body);
    const changed = await ask('PATCH', one, { timeout_seconds: 10, allowed_tools: ['book'] });
    expect(changed.body).toMatchObject({ timeout_seconds: 10, allowed_tools: ['book'] });
    const list = await ask('GET', BASE);
    expect(names(list.body.tool_servers)).toEqual(['Calendar']);
    expect((await ask('DELETE', one)).status).toBe(204);
    expect((await ask('GET', one)).status).toBe(404);
  });

  it('belongs to its team', async () => {
    const id = await create();
    const stranger = await api.createUser();
    expect((await ask('GET', `${BASE}/${id}`, undefined, stranger.key)).status).toBe(404);
    const config = { tool_servers: { tool_server_ids: [id] } };
    const refused = await ask('POST', '/v1/agent/agents', { name: 'x', config }, stranger.key);
    expect(refused.text).toContain('unknown tool server');
  });

  it('never shows a credential, and keeps it for its host only', async () => {
    const oauth = { issuer: 'https://login.example.com', client_id: 'parley', client_secret: 'hush-hush' };
    const id = await create({ headers: [CREDENTIAL, { name: 'X-Guest', value: '{{guest}}' }], oauth });
    const shown = await ask('GET', `${BASE}/${id}`);
    expect(shown.body.headers).toEqual([
      { name: 'Authorization', kind: 'authorization_bearer', value: null, has_secret: true },
      { name: 'X-Guest', kind: 'custom', value: '{{guest}}', has_secret: false },
    ]);
    expect(shown.body.oauth).toEqual({
      issuer: 'https://login.example.com',
      client_id: 'parley',
      scope: '',
      has_secret: true,
    });
    const stored = JSON.stringify(await api.context.models.toolServers.findById(id).lean());
    expect(stored).not.toMatch(/top-secret|hush-hush/);
    await refresh(id);
    expect(server.headers.at(-1)).toMatchObject({ authorization: 'Bearer top-secret', 'x-guest': '' });
    const moved = await ask('PATCH', `${BASE}/${id}`, { url: 'https://other.example.com/mcp' });
    expect(moved.body).toMatchObject({ tools: [], listed_at: null });
    expect(moved.body.headers[0].has_secret).toBe(false);
    expect(moved.body.oauth.has_secret).toBe(false);
    const elsewhere = await ask('PATCH', `${BASE}/${id}`, { oauth: { ...oauth, client_secret: 'new-one' } });
    expect(elsewhere.body.oauth.has_secret).toBe(true);
  });

  it.each([
    ['a private address', { url: 'https://10.0.0.1/mcp' }, 'not a public address'],
    ['plain http', { url: 'http://tools.example.com/mcp' }, 'must be https'],
    ['placeholders in its URL', { url: 'https://{{host}}.example.com/mcp' }, 'no placeholders'],
    ['another scheme', { url: 'file:///etc/passwd' }, 'http or https'],
    ['an unknown system variable', { headers: [{ name: 'a', value: '{{system.no}}' }] }, 'unknown system'],
    ['a credential without value', { headers: [{ ...CREDENTIAL, value: '' }] }, 'needs its value'],
    ['a tool permitted twice', { allowed_tools: ['a', 'a'] }, 'unique'],
    ['a long timeout', { timeout_seconds: 121 }, '120'],
  ])('is refused with %s', async (_title, changes, text) => {
    const answer = await ask('POST', BASE, { name: 'Calendar', url: server.url, ...changes });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(text);
  });

  it('is counted against the limit of the team', async () => {
    for (let count = 0; count < 3; count++) await create();
    const refused = await ask('POST', BASE, { name: 'One more', url: server.url });
    expect([refused.status, refused.body.reason]).toEqual([403, 'quota_reached']);
  });

  it('lists its tools with schema and hash, and says what has changed since', async () => {
    const id = await create();
    const first = await refresh(id);
    expect(first.status).toBe(200);
    expect(first.body.tools).toEqual([
      {
        name: 'find_slot',
        description: 'Free times',
        input_schema: SLOTS.inputSchema,
        hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      },
      {
        name: 'book',
        description: 'Books a time',
        input_schema: { type: 'object' },
        hash: expect.any(String),
      },
    ]);
    expect(first.body).toMatchObject({ protocol_version: '2025-11-25', tool_count: 2 });
    server.tools = [
      { ...SLOTS, description: 'Free hours' },
      { name: 'cancel', run: () => '' },
      { name: 'no no', run: () => '' },
    ];
    const { body } = await refresh(id);
    expect(names(body.changes.added)).toEqual(['cancel']);
    expect(names(body.changes.removed)).toEqual(['book']);
    expect(body.changes.changed[0]).toMatchObject({
      before: { description: 'Free times' },
      after: { description: 'Free hours' },
    });
    expect(body.refused_tools).toEqual([
      { name: 'no no', reason: expect.stringContaining('the name must be') },
    ]);
  });

  it('says why its tools cannot be read', async () => {
    const id = await create();
    server.refusal = 403;
    const refused = await refresh(id);
    expect(refused.status).toBe(502);
    expect(refused.body).toMatchObject({
      reason: 'tool_server_failed',
      message: 'The tool server did not list its tools: the server answered with HTTP 403',
    });
    const gone = await startMcpServer('sessions', []);
    await gone.close();
    const dead = await create({ url: gone.url });
    expect((await refresh(dead)).body.message).toContain('the connection failed (ECONNREFUSED)');
    const internal = await create({ url: 'https://private.example.com/mcp' });
    expect((await refresh(internal)).body.message).toContain('The host is not a public address');
  });
});

describe('the tool servers of an agent', () => {
  it('are absent from reads and from the hash until they are set, and again once they are removed', async () => {
    const id = await create();
    await refresh(id);
    const { body: made } = await ask('POST', '/v1/agent/agents', { name: 'Ada' });
    const config = `/v1/agent/agents/${made.agent_id}/config`;
    const plain = (await ask('GET', config)).body;
    expect(plain).not.toHaveProperty('tool_servers');
    const attached = await ask('PATCH', config, { tool_servers: { tool_server_ids: [id] } });
    expect(attached.body.tool_servers).toEqual({ tool_server_ids: [id] });
    expect(attached.body.config_hash).not.toBe(plain.config_hash);
    for (const nothing of [null, { tool_server_ids: [] }]) {
      await ask('PATCH', config, { tool_servers: { tool_server_ids: [id] } });
      const removed = await ask('PATCH', config, { tool_servers: nothing });
      expect(removed.body).not.toHaveProperty('tool_servers');
      expect(removed.body.config_hash).toBe(plain.config_hash);
    }
  });

  it('are not deleted while a draft uses them', async () => {
    const id = await create();
    await agentWith(id);
    expect((await ask('GET', `${BASE}/${id}`)).body.used_by).toBe(1);
    const refused = await ask('DELETE', `${BASE}/${id}`);
    expect(refused.status).toBe(409);
    expect(refused.body.message).toBe('Tool server is attached to 1 agent(s): detach it, then delete');
  });

  it('must have been read, and have no more tools than fit, to be published', async () => {
    const id = await create();
    const agent = await agentWith(id);
    const unread = await ask('POST', `${agent}/publish`);
    expect([unread.status, unread.body.reason]).toEqual([409, 'tool_server_not_listed']);
    server.tools = Array.from({ length: 65 }, (_, index) => ({ name: `t${index}`, run: () => '' }));
    await refresh(id);
    const full = await ask('POST', `${agent}/publish`);
    expect([full.status, full.body.reason]).toEqual([409, 'too_many_server_tools']);
    await ask('PATCH', `${BASE}/${id}`, { allowed_tools: ['t1', 't2'] });
    expect((await ask('POST', `${agent}/publish`)).status).toBe(200);
  });

  it('are pinned at publication; a change at the server shows as a difference and as unpublished', async () => {
    const id = await create({ allowed_tools: ['find_slot', 'book', 'cancel'] });
    await refresh(id);
    const agent = await agentWith(id);
    await ask('POST', `${agent}/publish`);
    const pinned = await ask('GET', `${agent}/tool-servers`);
    expect(pinned.body.version_number).toBe(1);
    expect(names(pinned.body.tool_servers[0].pinned_tools)).toEqual(['find_slot', 'book']);
    expect(pinned.body.tool_servers[0].changes).toEqual({ added: [], removed: [], changed: [] });
    server.tools = [
      { ...SLOTS, description: 'Other' },
      { name: 'cancel', run: () => '' },
      { name: 'not_permitted', run: () => '' },
    ];
    await refresh(id);
    const { changes } = (await ask('GET', `${agent}/tool-servers`)).body.tool_servers[0];
    expect(names(changes.added)).toEqual(['cancel']);
    expect(names(changes.removed)).toEqual(['book']);
    expect(changes.changed[0].after.description).toBe('Other');
    expect((await ask('GET', agent)).body.has_unpublished_changes).toBe(true);
    await ask('POST', `${agent}/publish`);
    const after = (await ask('GET', `${agent}/tool-servers`)).body.tool_servers[0];
    expect(names(after.pinned_tools)).toEqual(['find_slot', 'cancel']);
    expect((await ask('GET', agent)).body.has_unpublished_changes).toBe(false);
  });

  it('reach the worker with open credentials and unique names of at most 64 characters', async () => {
    const long: FakeTool = { name: `${'x'.repeat(60)}.slot`, run: () => '' };
    server.tools = [BOOK, long, { ...long, name: `${'x'.repeat(60)}/slot` }];
    const ids = [await create({ headers: [CREDENTIAL], background_tools: ['book'] }), await create()];
    for (const id of ids) await refresh(id);
    const agent = await agentWith(...ids);
    await ask('POST', `${agent}/publish`);
    const agentId = agent.split('/').at(-1) ?? '';
    const version = await newestVersion(api.context, agentId);
    const planned = planToolServers(api.context.secretBox, version?.tool_servers ?? [], ['front_desk_book']);
    expect(planned[0]?.headers).toEqual([{ name: 'Authorization', value: 'Bearer top-secret' }]);
    const tools = planned.flatMap((each) => each.tools);
    const functions = tools.map((tool) => tool.function_name);
    expect(functions.slice(0, 1)).toEqual(['front_desk_book_2']);
    expect(new Set(functions).size).toBe(6);
    for (const name of functions) expect(name).toMatch(/^[a-z][a-z0-9_-]{0,63}$/i);
    expect(tools[0]?.execution_mode).toBe('background');
    expect(tools[1]?.execution_mode).toBe('blocking');
  });
});
