import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
let other: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
  other = await api.createUser();
  agentId = (await post('/v1/agent/agents', { name: 'Ada' })).body.agent_id;
});
afterAll(() => api.close());

const post = (url: string, body: unknown, key = user.key) => api.request('POST', url, { key, body });
const create = (body: Record<string, unknown>) => post('/v1/agent/tests', body);
const nextReply = {
  name: 'Greets',
  test_type: 'next_reply',
  conversation: [{ role: 'user', text: 'Hello' }],
  expectation: 'A greeting',
};
const simulation = {
  scenario: 'Wants a table',
  success_conditions: [{ name: 'booked', description: 'A table is booked' }],
};
const simulationTest = { name: 'Books', test_type: 'simulation', simulation };

const patterns = (value: string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type: 'regex', value }]));

describe('an agent test', () => {
  it('has every default when it is read back', async () => {
    const { status, body } = await create(simulationTest);
    expect(status).toBe(201);
    expect(body).toEqual({
      test_id: expect.any(String),
      workspace_id: user.workspaceId,
      name: 'Books',
      agent_ids: [],
      test_type: 'simulation',
      conversation: [],
      expectation: '',
      success_examples: [],
      failure_examples: [],
      referenced_tool: null,
      tool_parameters: [],
      verify_absence: false,
      dynamic_variables: {},
      simulation: {
        ...simulation,
        max_turns: 10,
        assertions: { tool_calls: [], forbidden_tools: [], ended_by: null },
        tool_mocks: { strategy: 'all', fallback: 'error', tools: [], real_tools: [] },
        repeat_count: 1,
        channel: null,
        simulated_user_model: null,
      },
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect((await api.request('GET', `/v1/agent/tests/${body.test_id}`, { key: user.key })).body).toEqual(
      body,
    );
  });

  it.each([
    ['an unknown field', { ...nextReply, nope: 1 }, ['body', 'nope']],
    [
      'an unknown field deep inside',
      { ...simulationTest, simulation: { ...simulation, tool_mocks: { nope: 1 } } },
      ['body', 'simulation', 'tool_mocks', 'nope'],
    ],
    ['a name of 201 characters', { ...nextReply, name: 'x'.repeat(201) }, ['body', 'name']],
    ['no conversation', { ...nextReply, conversation: [] }, ['body', 'conversation']],
    [
      'a conversation without the user',
      { ...nextReply, conversation: [{ role: 'agent', text: 'Hi' }] },
      ['body', 'conversation'],
    ],
    ['a next_reply without expectation', { ...nextReply, expectation: ' ' }, ['body', 'expectation']],
    [
      'an expectation of 401 characters',
      { ...nextReply, expectation: 'x'.repeat(401) },
      ['body', 'expectation'],
    ],
    [
      'a turn of 2001 characters',
      { ...nextReply, conversation: [{ role: 'user', text: 'x'.repeat(2_001) }] },
      ['body', 'conversation', '0', 'text'],
    ],
    ['a simulation test without simulation', { name: 's', test_type: 'simulation' }, ['body', 'simulation']],
    ['a simulation on another kind of test', { ...nextReply, simulation }, ['body', 'simulation']],
    [
      '51 turns before a simulation',
      { ...simulationTest, conversation: Array.from({ length: 51 }, () => ({ role: 'user', text: 'x' })) },
      ['body', 'conversation'],
    ],
    [
      '51 turns of a simulation',
      { ...simulationTest, simulation: { ...simulation, max_turns: 51 } },
      ['body', 'simulation', 'max_turns'],
    ],
    [
      '21 repeats',
      { ...simulationTest, simulation: { ...simulation, repeat_count: 21 } },
      ['body', 'simulation', 'repeat_count'],
    ],
    [
      'no success condition',
      { ...simulationTest, simulation: { ...simulation, success_conditions: [] } },
      ['body', 'simulation', 'success_conditions'],
    ],
    [
      'a broken regular expression',
      {
        ...simulationTest,
        simulation: {
          ...simulation,
          assertions: { tool_calls: [{ tool: 't', params: { day: { type: 'regex', value: '(' } } }] },
        },
      },
      ['body', 'simulation', 'assertions', 'tool_calls', '0', 'params', 'day'],
    ],
    [
      'more regular expressions than a test may have, however long they take to read',
      {
        ...simulationTest,
        simulation: {
          ...simulation,
          tool_mocks: {
            tools: Array.from({ length: 21 }, () => ({
              tool: 't',
              result: 1,
              when: patterns('(a|b)*c{1,100}'.repeat(5), 25),
            })),
          },
          assertions: {
            tool_calls: Array.from({ length: 20 }, () => ({
              tool: 't',
              params: patterns('(a|b)*c{1,100}'.repeat(5), 100),
            })),
          },
        },
      },
      ['body', 'simulation'],
    ],
    [
      'a broken regular expression of a mocked answer',
      {
        ...simulationTest,
        simulation: {
          ...simulation,
          tool_mocks: { tools: [{ tool: 't', result: 1, when: patterns('(?=', 1) }] },
        },
      },
      ['body', 'simulation', 'tool_mocks', 'tools', '0', 'when', 'p0'],
    ],
    [
      'a model that is not offered',
      { ...simulationTest, simulation: { ...simulation, simulated_user_model: 'acme/big' } },
      ['body', 'simulation', 'simulated_user_model'],
    ],
    ['an unknown agent', { ...nextReply, agent_ids: ['nobody'] }, ['body', 'agent_ids', '0']],
    [
      'an unknown tool',
      { ...nextReply, test_type: 'tool', referenced_tool: { id: 'x', type: 'webhook' } },
      ['body', 'referenced_tool', 'id'],
    ],
  ])('is 422 with %s', async (_, body, loc) => {
    const response = await create(body);
    expect([response.status, response.body[0].loc]).toEqual([422, loc]);
  });

  it('replaces lists, merges the simulation, keeps its kind and checks rules across fields on PATCH', async () => {
    const { test_id } = (
      await create({
        ...simulationTest,
        simulation: { ...simulation, max_turns: 5, tool_mocks: { fallback: 'real' } },
      })
    ).body;
    const patch = (body: unknown) =>
      api.request('PATCH', `/v1/agent/tests/${test_id}`, { key: user.key, body });
    const patched = await patch({
      name: 'New',
      simulation: { repeat_count: 3, tool_mocks: { tools: [{ tool: 'book', result: { a: [1, null] } }] } },
    });
    expect(patched.status).toBe(200);
    expect(patched.body).toMatchObject({
      name: 'New',
      simulation: {
        scenario: 'Wants a table',
        max_turns: 5,
        repeat_count: 3,
        tool_mocks: {
          fallback: 'real',
          tools: [{ tool: 'book', result: { a: [1, null] }, status: null, when: null, error: false }],
        },
      },
    });
    expect((await patch({ test_type: 'tool' })).status).toBe(422);
    expect((await patch({ name: null })).status).toBe(422);
    expect((await patch({ simulation: null })).status).toBe(422);
    const reply = (await create(nextReply)).body.test_id;
    expect(
      (await api.request('PATCH', `/v1/agent/tests/${reply}`, { key: user.key, body: { expectation: '' } }))
        .status,
    ).toBe(422);
  });

  it('is attached to an agent, listed by it, and detached by request or when the agent is deleted', async () => {
    const { test_id } = (await create(nextReply)).body;
    const agent = (await post('/v1/agent/agents', { name: 'Bob' })).body.agent_id;
    const at = `/v1/agent/agents/${agent}/tests/${test_id}`;
    const idsOf = async () =>
      (await api.request('GET', `/v1/agent/tests?agent_id=${agent}`, { key: user.key })).body.tests.map(
        (test: { test_id: string }) => test.test_id,
      );
    expect((await api.request('PUT', at, { key: user.key })).body.agent_ids).toEqual([agent]);
    expect((await api.request('PUT', at, { key: user.key })).body.agent_ids).toEqual([agent]);
    expect(await idsOf()).toEqual([test_id]);
    expect((await api.request('DELETE', at, { key: user.key })).status).toBe(204);
    expect((await api.request('DELETE', at, { key: user.key })).status).toBe(204);
    expect(await idsOf()).toEqual([]);
    await api.request('PUT', at, { key: user.key });
    await api.request('DELETE', `/v1/agent/agents/${agent}`, { key: user.key });
    expect(
      (await api.request('GET', `/v1/agent/tests/${test_id}`, { key: user.key })).body.agent_ids,
    ).toEqual([]);
  });

  it('is listed newest first with the standard list fields, and filtered by name and kind', async () => {
    const mine = await api.createUser();
    for (const name of ['first', 'second', 'third']) {
      await api.clock.advance(1);
      await post('/v1/agent/tests', { ...nextReply, name }, mine.key);
    }
    const page = await api.request('GET', '/v1/agent/tests?page_size=2&include_total=true', {
      key: mine.key,
    });
    expect(page.body).toMatchObject({
      tests: [{ name: 'third' }, { name: 'second' }],
      has_more: true,
      total: 3,
    });
    const rest = await api.request('GET', `/v1/agent/tests?cursor=${page.body.next_cursor}`, {
      key: mine.key,
    });
    expect(rest.body).toMatchObject({
      tests: [{ name: 'first' }],
      has_more: false,
      next_cursor: null,
      total: null,
    });
    expect(
      (await api.request('GET', '/v1/agent/tests?search=SEC', { key: mine.key })).body.tests,
    ).toHaveLength(1);
    expect(
      (await api.request('GET', '/v1/agent/tests?test_type=tool', { key: mine.key })).body.tests,
    ).toEqual([]);
  });

  it('needs beta access to be created and run, and is hidden from other teams', async () => {
    const noBeta = await api.createUser({ beta_access: false });
    expect((await post('/v1/agent/tests', nextReply, noBeta.key)).status).toBe(403);
    expect(
      (await api.request('POST', `/v1/agent/agents/${agentId}/tests/run`, { key: noBeta.key })).status,
    ).toBe(403);
    const { test_id } = (await create(nextReply)).body;
    const foreign: ['GET' | 'PATCH' | 'DELETE' | 'PUT' | 'POST', string][] = [
      ['GET', `/v1/agent/tests/${test_id}`],
      ['PATCH', `/v1/agent/tests/${test_id}`],
      ['DELETE', `/v1/agent/tests/${test_id}`],
      ['PUT', `/v1/agent/agents/${agentId}/tests/${test_id}`],
      ['DELETE', `/v1/agent/agents/${agentId}/tests/${test_id}`],
      ['POST', `/v1/agent/agents/${agentId}/tests/run`],
      ['GET', `/v1/agent/agents/${agentId}/test-batches`],
      ['GET', `/v1/agent/agents/${agentId}/test-batches/x`],
      ['GET', `/v1/agent/agents/${agentId}/test-tools`],
      ['GET', '/v1/agent/test-runs/x'],
    ];
    for (const [method, url] of foreign)
      expect([
        url,
        (await api.request(method, url, { key: other.key, ...(method === 'PATCH' ? { body: {} } : {}) }))
          .status,
      ]).toEqual([url, 404]);
    expect((await post('/v1/agent/tests', { ...nextReply, agent_ids: [agentId] }, other.key)).status).toBe(
      422,
    );
    expect((await api.request('DELETE', `/v1/agent/tests/${test_id}`, { key: user.key })).status).toBe(204);
    expect((await api.request('GET', `/v1/agent/tests/${test_id}`, { key: user.key })).status).toBe(404);
  });

  it('may refer to the draft’s tools, and to hang_up_call where the agent may hang up', async () => {
    const tool_id = (
      await post('/v1/agent/tools', {
        name: 'Book table',
        description: 'Books',
        url: 'https://a.example.com',
      })
    ).body.tool_id;
    const config = { tools: { tool_ids: [tool_id], system_tools: { hang_up_call: true } } };
    const agent = (await post('/v1/agent/agents', { name: 'Cy', config })).body.agent_id;
    const { body } = await api.request('GET', `/v1/agent/agents/${agent}/test-tools`, { key: user.key });
    expect(body.tools).toEqual([
      { id: tool_id, name: 'Book table', type: 'webhook', description: 'Books' },
      { id: '_hang_up_call', name: '_hang_up_call', type: 'integration', description: 'Ends the call.' },
    ]);
    for (const referenced_tool of body.tools)
      expect((await create({ ...nextReply, test_type: 'tool', referenced_tool })).status).toBe(201);
  });

  it('may refer to a tool of the draft’s tool servers that was read', async () => {
    const { tool_server_id } = (
      await post('/v1/agent/tool-servers', { name: 'Desk', url: 'https://tools.example.com/mcp' })
    ).body;
    const tool = { name: 'rooms/find', description: 'Free rooms', input_schema: '{}', hash: 'sha256:0' };
    await api.context.models.toolServers.updateOne({ _id: tool_server_id }, { $set: { tools: [tool] } });
    const config = { tool_servers: { tool_server_ids: [tool_server_id] } };
    const agent = (await post('/v1/agent/agents', { name: 'Di', config })).body.agent_id;
    const { body } = await api.request('GET', `/v1/agent/agents/${agent}/test-tools`, { key: user.key });
    const id = `${tool_server_id}/rooms/find`;
    expect(body.tools).toEqual([{ id, name: 'rooms/find', type: 'mcp', description: 'Free rooms' }]);
    const [referenced_tool] = body.tools;
    expect((await create({ ...nextReply, test_type: 'tool', referenced_tool })).status).toBe(201);
    const unknown = { ...referenced_tool, id: `${tool_server_id}/gone` };
    const refused = await create({ ...nextReply, test_type: 'tool', referenced_tool: unknown });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('unknown tool')]);
  });
});
