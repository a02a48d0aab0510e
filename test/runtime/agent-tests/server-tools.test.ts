import { afterEach, describe, expect, it } from 'vitest';
import { type FakeTool, startMcpServer } from '#test/fakes/mcp-server.ts';
import { callTool } from '#test/fakes/openai-server.ts';
import { plannedServer } from '../tools/planned-server.ts';
import { openTestBench } from './test-bench.ts';

const SLOTS: FakeTool = { name: 'slots', run: ({ input }) => `free on ${input['day']}: nine` };

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close();
});

/** Runs a simulation in which the agent calls the server's tool; `asked` is what reached the server. */
async function simulate(tool_mocks: object) {
  const server = await startMcpServer('sessions', [SLOTS]);
  const bench = await openTestBench({
    caller: ['What is free?', 'Thanks, bye. [HANG UP]'],
    agent: [callTool('desk_slots', { day: 'Friday' }), 'Nine.'],
    judge: [JSON.stringify({ conditions: [{ name: 'told', result: 'success' }], summary: 'Done.' })],
  });
  opened.push(server, bench);
  const success_conditions = [{ name: 'told', description: 'The agent names a time' }];
  const simulation = { scenario: 'You want a time.', success_conditions, tool_mocks };
  const result = await bench.run(
    { test_type: 'simulation', simulation },
    { toolServers: [plannedServer(server.url, [SLOTS])] },
  );
  return { call: result.simulation_result?.tool_calls[0], gaps: result.mock_gaps, asked: server.methods };
}

describe('a tool of an MCP server in an agent test', () => {
  it.each(['desk_slots', 'slots'])('is answered by the mock for %s, without its server', async (tool) => {
    const { call, asked } = await simulate({ tools: [{ tool, result: 'ten' }] });
    expect(call).toMatchObject({
      tool_id: 'server/slots',
      tool_name: 'desk_slots',
      mock_source: 'test',
      output: 'ten',
    });
    expect(asked).toEqual([]);
  });

  it('is really called where the test says so', async () => {
    const { call, asked } = await simulate({ real_tools: ['slots'] });
    expect(call).toMatchObject({ mock_source: 'real', output: 'free on Friday: nine', status: 'completed' });
    expect(asked).toContain('tools/call');
  });

  it('is found by a test of the choice of a tool', async () => {
    const bench = await openTestBench({ agent: [callTool('desk_slots', { day: 'Friday' })] });
    opened.push(bench);
    const test = {
      test_type: 'tool',
      conversation: [{ role: 'user', text: 'What is free on Friday?' }],
      referenced_tool: { id: 'server/slots', type: 'mcp' },
      tool_parameters: [{ name: 'day', value: 'Friday' }],
    };
    const toolServers = [plannedServer('http://127.0.0.1:1/mcp', [SLOTS])];
    expect((await bench.run(test, { toolServers })).status).toBe('passed');
  });

  it('is a gap without a mock', async () => {
    const { gaps, asked } = await simulate({});
    expect(gaps).toEqual([{ tool_name: 'desk_slots', source: 'missing', calls: 1 }]);
    expect(asked).toEqual([]);
  });
});
