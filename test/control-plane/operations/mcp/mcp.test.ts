/** The MCP server at /mcp, driven by the official clients of both protocol eras. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client2025 } from '@modelcontextprotocol/sdk/client/index.js';
import * as transport2025 from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber } from '../../test-numbers.ts';

let api: TestCalls;
let url: string;
let assistant: Assistant;

/** The methods that both clients share. */
interface Assistant {
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
  listTools(): Promise<{ tools: readonly Tool[] }>;
  close(): Promise<void>;
}

interface Tool {
  readonly name: string;
  readonly inputSchema: { readonly required?: string[] | undefined; readonly properties?: unknown };
  readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
}

beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUNK_URI: 'trunk.example.com:5080' });
  url = `${await api.app.listen({ port: 0, host: '127.0.0.1' })}/mcp`;
  assistant = await connect(api.rootKey);
});
afterAll(async () => {
  await assistant.close();
  await api.close();
});

const withKey = (key: string) => ({ requestInit: { headers: { authorization: `Bearer ${key}` } } });

async function connect(key: string, address = url): Promise<Client> {
  const client = new Client({ name: 'assistant', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(address), withKey(key)));
  return client;
}

async function connect2025(key: string): Promise<Client2025> {
  const client = new Client2025({ name: 'assistant', version: '1' });
  // Its own type lacks `undefined` where exact optional properties want it.
  await client.connect(new transport2025.StreamableHTTPClientTransport(new URL(url), withKey(key)) as never);
  return client;
}

/** Calls a tool; returns its text, parsed if it is JSON. */
// biome-ignore lint/suspicious/noExplicitAny: answers of the API have any shape
async function call(name: string, input = {}, by: Assistant = assistant): Promise<any> {
  const { content, isError } = (await by.callTool({ name, arguments: input })) as {
    readonly content: readonly { readonly text: string }[];
    readonly isError?: boolean;
  };
  const text = content[0]?.text ?? '';
  return isError || !/^[{[]/.test(text) ? text : JSON.parse(text);
}

async function newAgent(name = 'Bakery', by: Assistant = assistant): Promise<string> {
  return (await call('create_agent', { body: { name } }, by)).agent_id;
}

describe('an assistant', () => {
  it.each([
    ['2026-07-28', connect],
    ['2025', connect2025],
  ])(
    'with the client of %s creates an agent, changes its draft and publishes it',
    async (_era, connectTo) => {
      const by: Assistant = await connectTo(api.rootKey);
      const agent_id = await newAgent('Bakery', by);
      const body = { prompt: { system_prompt: 'You answer the phone of a bakery.' } };
      await call('change_agent_draft_configuration', { agent_id, body }, by);
      await call('publish_agent_draft', { agent_id, confirm: true }, by);
      const { versions } = await call('list_agent_published_versions', { agent_id }, by);
      expect(versions).toHaveLength(1);
      const draft = await call('get_agent_draft_configuration', { agent_id }, by);
      expect(draft.prompt.system_prompt).toBe('You answer the phone of a bakery.');
      await by.close();
    },
  );

  it('cannot publish without confirmation; the answer tells it to ask the person', async () => {
    const agent_id = await newAgent();
    expect(await call('publish_agent_draft', { agent_id })).toMatch(/^Not done: .* confirm: true/);
    expect((await call('list_agent_published_versions', { agent_id })).versions).toEqual([]);
  });

  it('rehearses a draft without confirmation, but not with a judge, which costs money', async () => {
    const agent_id = await newAgent();
    const rehearse = async (input: object) =>
      JSON.stringify(await call('rehearse_agent_draft_on_its_latest_calls', { agent_id, ...input }));
    const body = { calls: 10, judge: { max_cost: '0.10' } };
    expect(await rehearse({ body })).toMatch(/Not done: .* costs money\. .* confirm: true/);
    expect(await rehearse({ body, confirm: true })).not.toContain('Not done');
    expect(await rehearse({ body: { calls: 10 } })).not.toContain('Not done');
  });

  it('needs a confirmation for every change but that of a draft, a tool, a test or knowledge', async () => {
    const { tools } = await assistant.listTools();
    const changes = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true);
    const free: string[] = [];
    for (const { name, inputSchema } of changes) {
      const required = (inputSchema.required ?? []).map((field) => [field, field === 'body' ? {} : 'x']);
      const said = await call(name, Object.fromEntries(required));
      if (!String(said).startsWith('Not done: ')) free.push(name);
    }
    expect(free.sort()).toEqual([
      'attach_test_to_agent',
      'change_agent_draft_configuration',
      'change_agent_test',
      'change_knowledge_source',
      'change_tool',
      'change_tool_server',
      'create_agent',
      'create_agent_test',
      'create_tool',
      'create_tool_server',
      'estimate_judged_rehearsal',
      'rehearse_agent_draft_on_its_latest_calls',
      'replay_call_with_other_conversation_settings',
      'run_tests_against_agent_draft',
      'upload_knowledge_source',
    ]);
  });

  it('leaves the changes it made in the audit log, and nothing of what it read', async () => {
    const user = await api.createUser();
    const by = await connect(user.key);
    await by.listTools();
    await newAgent('Bakery', by);
    const { entries } = await call('list_configuration_changes', {}, by);
    expect(entries.map(({ action }: { action: string }) => action)).toEqual(['POST /v1/agent/agents']);
    await by.close();
  });

  it('places a phone call once, although it repeats the tool with the same key', async () => {
    const user = await api.createUser({ credit: '5.00' });
    const by = await connect(user.key);
    const agent_id = await api.publishAgent(user);
    const phone_number_id = await insertNumber(api, user);
    const input = {
      body: { agent_id, phone_number_id, to_number: '+14155550123' },
      idempotency_key: 'reminder of Ada',
      confirm: true,
    };
    const first = await call('place_outbound_phone_call', input, by);
    expect(first).toMatchObject({ status: 'queued' });
    expect(await call('place_outbound_phone_call', input, by)).toEqual(first);
    const wrong = { ...input, idempotency_key: 'Erinnerung für Ada' };
    expect(await call('place_outbound_phone_call', wrong, by)).toContain('printable ASCII');
    await by.close();
  });

  it('reads how a draft differs from what is published', async () => {
    const agent_id = await newAgent();
    await call('publish_agent_draft', { agent_id, confirm: true });
    const body = { conversation: { response_wait_ms: 450 } };
    await call('change_agent_draft_configuration', { agent_id, body });
    const { changes } = await call('compare_agent_draft_with_its_published_version', { agent_id });
    expect(changes).toMatchObject([{ path: 'conversation.response_wait_ms', draft: '450' }]);
  });

  it('gets the reason for which a field is refused', async () => {
    expect(await call('create_agent', { body: { name: 7 } })).toMatch(/^Refused with 422\.\n.*"name"/);
  });

  it.each([
    [{ agent_id: '\ud800' }, 'must be a text'],
    [{ agent_id: 'x', name: 'y' }, 'no parameter name; there are: agent_id'],
  ])('gets the reason for which %j is not sent', async (input, why) => {
    expect(await call('get_agent_profile', input)).toContain(why);
  });

  it('gets an error for a body that is not an object', async () => {
    for (const body of [null, '{"source": "text"}'])
      expect(await call('upload_knowledge_source', { body })).toBe('Not done: body must be an object.');
  });

  it('sends one request at a time, to sections that exist', async () => {
    const headers = { authorization: `Bearer ${api.rootKey}`, 'content-type': 'application/json' };
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const send = async (address: string, body: unknown) => {
      const answer = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) });
      const { error } = (await answer.json()) as { readonly error: { readonly message: string } };
      return [answer.status, error.message];
    };
    expect(await send(url, [ping, ping])).toEqual([400, expect.stringContaining('one request at a time')]);
    expect(await send(`${url}?sections=x`, ping)).toEqual([
      400,
      expect.stringContaining('there are: agents,'),
    ]);
  });

  it('uploads knowledge as text', async () => {
    const source = await call('upload_knowledge_source', {
      body: { source: '# Hours\n\nNoon to ten.', name: 'Hours' },
    });
    const { knowledge_source_id: source_id } = source;
    expect(await call('get_knowledge_source_with_its_content', { source_id })).toMatchObject({
      name: 'Hours',
    });
  });

  it('reads what every tool lists', async () => {
    const { tools } = await assistant.listTools();
    const lists = tools.filter(
      ({ annotations, inputSchema }) => annotations?.readOnlyHint && inputSchema.required?.length === 0,
    );
    expect(lists.length).toBeGreaterThan(10);
    for (const { name } of lists) expect(await call(name), name).toEqual(expect.any(Object));
  });

  it('gets the tools of the sections it asks for', async () => {
    const by = await connect(api.rootKey, `${url}?sections=tests`);
    const names = (await by.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('create_agent_test');
    expect(names).not.toContain('create_agent');
    await by.close();
  });
});

describe('the key of an assistant', () => {
  it('is required', async () => {
    const answer = await fetch(url, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(401);
  });

  it('reaches nothing of another account', async () => {
    const agent_id = await newAgent();
    const stranger = await connect((await api.createUser()).key);
    expect(await call('get_agent_profile', { agent_id }, stranger)).toMatch(/^Refused with 404/);
    await stranger.close();
  });

  it('reaches no route beside the tool’s own, whatever the parameters', async () => {
    for (const agent_id of ['..', '../../keys', '.', '', '%2e%2e'])
      expect(await call('get_agent_profile', { agent_id })).toMatch(/^(?:Refused with 404|Not done)/);
  });

  it('is not used for a page of another site', async () => {
    const headers = { authorization: `Bearer ${api.rootKey}`, origin: 'https://evil.example.com' };
    const answer = await fetch(url, {
      method: 'POST',
      body: '{}',
      headers: { ...headers, 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(403);
  });
});

describe('resources and prompts', () => {
  const read = async (uri: string) => {
    const { contents } = await (assistant as Client).readResource({ uri });
    return (contents[0] as { readonly text: string }).text;
  };

  it('are the pages of the documentation', async () => {
    const { resources } = await (assistant as Client).listResources();
    expect(resources.map(({ uri }) => uri)).toContain('parley://docs/turn-taking.md');
    expect(await read('parley://docs/turn-taking.md')).toMatch(/^# /);
  });

  it('are whole schemas, where a tool has only an outline', async () => {
    const { tools } = await assistant.listTools();
    const { properties } = tools.find(({ name }) => name === 'create_agent')?.inputSchema ?? {};
    expect(JSON.stringify(properties)).toContain('parley://schemas/create_agent');
    const schema = await read('parley://schemas/create_agent');
    expect(schema.length).toBeGreaterThan(JSON.stringify(properties).length);
    expect(JSON.parse(schema).properties.config.properties.prompt.properties).toHaveProperty('system_prompt');
  });

  it('are templates, as the bodies that create an agent and its tests', async () => {
    const template = JSON.parse(await read('parley://templates/booking'));
    const { agent_id } = await call('create_agent', { body: template.create_agent });
    for (const test of template.create_agent_test)
      expect(await call('create_agent_test', { body: { ...test, agent_ids: [agent_id] } })).toMatchObject({
        name: test.name,
      });
  });

  it('are transcripts of sessions', async () => {
    const user = await api.createUser({ credit: '5.00' });
    const agent_id = await api.publishAgent(user);
    const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
    const said = { type: 'message', turn_id: null, id: 'm1', created_at: api.at() } as const;
    const items = [
      { ...said, role: 'assistant', content: 'Hello.' },
      { ...said, id: 'm2', role: 'user', content: 'A cake, please.' },
    ] as const;
    await api.report(body.session_id, { type: 'items', items: [...items] });
    const by = await connect(user.key);
    const { contents } = await by.readResource({ uri: `parley://sessions/${body.session_id}/transcript` });
    expect(contents[0]).toMatchObject({ text: 'assistant: Hello.\nuser: A cake, please.' });
    await expect(read('parley://sessions/no-such-session/transcript')).rejects.toThrow();
    await by.close();
  });

  it('are tasks with their arguments filled in', async () => {
    const client = assistant as Client;
    const { messages } = await client.getPrompt({
      name: 'why_was_this_call_slow',
      arguments: { session_id: 's7' },
    });
    expect(messages[0]?.content).toMatchObject({ text: expect.stringContaining('session s7') });
    await expect(client.getPrompt({ name: 'why_was_this_call_slow' })).rejects.toThrow('needs session_id');
  });

  it('name tools that exist', async () => {
    const client = assistant as Client;
    const names = (await client.listTools()).tools.map(({ name }) => name);
    const named: string[] = [];
    for (const prompt of (await client.listPrompts()).prompts) {
      const given = (prompt.arguments ?? []).map(({ name }) => [name, 'x']);
      const read = await client.getPrompt({ name: prompt.name, arguments: Object.fromEntries(given) });
      const text = JSON.stringify(read.messages);
      named.push(...(text.match(/\b(?:compare|create|get|list|read|run|send|tune)_\w+/g) ?? []));
    }
    expect(named.length).toBeGreaterThan(10);
    expect(names).toEqual(expect.arrayContaining(named));
  });
});

describe('documentation as text', () => {
  it('/llms.txt links to pages that are there', async () => {
    const { origin } = new URL(url);
    const index = await (await fetch(`${origin}/llms.txt`)).text();
    const links = [...index.matchAll(/\]\((\S+?)(?:#\S*)?\)/g)].map((match) => new URL(String(match[1])));
    expect(links.length).toBeGreaterThan(40);
    for (const { pathname } of links.filter((link) => link.pathname.endsWith('.md'))) {
      const page = await fetch(`${origin}${pathname}`);
      expect([pathname, page.status]).toEqual([pathname, 200]);
    }
  });

  it('serves no file but pages', async () => {
    const { origin } = new URL(url);
    for (const path of ['/llms/package.json', '/llms/docs/../package.json', '/llms/docs/%2e%2e/package.json'])
      expect((await fetch(`${origin}${path}`)).status).toBe(404);
  });
});
