import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { callTool } from '#test/fakes/openai-server.ts';
import { testTool } from '../test-plan.ts';
import { openTestBench, type TestBench } from './test-bench.ts';

const opened: TestBench[] = [];
afterEach(async () => {
  for (const bench of opened.splice(0)) await bench.close();
});

async function open(...scripts: Parameters<typeof openTestBench>): Promise<TestBench> {
  const bench = await openTestBench(...scripts);
  opened.push(bench);
  return bench;
}

const conversation = [
  { role: 'agent', text: 'How can I help?' },
  { role: 'user', text: 'A table for Friday, please.' },
];
const nextReply = {
  test_type: 'next_reply',
  conversation,
  expectation: 'Asks for the number of people',
  success_examples: ['For how many?'],
  failure_examples: ['Bye'],
};
const verdict = (result: string, reasoning = 'Because.') => JSON.stringify({ result, reasoning });

describe('next_reply', () => {
  it('the model answers the conversation and is judged by expectation and examples', async () => {
    const bench = await open({
      agent: ['For how many people?'],
      judge: [`Sure:\n\`\`\`json\n${verdict('success')}\n\`\`\``],
    });
    const result = await bench.run(nextReply);
    expect(result).toEqual({
      status: 'passed',
      needs_review: false,
      error: null,
      agent_replies: 1,
      agent_reply: 'For how many people?',
      judge_reasoning: 'Because.',
      latency_ms: expect.any(Number),
      turns_used: null,
      ended_by: null,
      mock_gaps: [],
      simulation_result: null,
    });
    expect(bench.asked('agent')[0]).toContain('You take bookings.');
    expect(bench.asked('agent')[0]).toContain(
      'assistant: How can I help?\nuser: A table for Friday, please.',
    );
    for (const shown of [
      'For how many people?',
      'Asks for the number of people',
      'For how many?',
      'Bye',
      'A table for Friday',
    ])
      expect(bench.asked('judge')[0]).toContain(shown);
  });

  it.each([
    ['failure', { status: 'failed', needs_review: false }],
    ['unknown', { status: 'failed', needs_review: true }],
  ])('fails on a verdict of %s', async (result, expected) => {
    const bench = await open({ agent: ['x'], judge: [verdict(result)] });
    expect(await bench.run(nextReply)).toMatchObject(expected);
  });

  it('a judge that does not answer in JSON is asked again; a second failure means unknown', async () => {
    const once = await open({ agent: ['x'], judge: ['I like it.', verdict('success')] });
    expect(await once.run(nextReply)).toMatchObject({ status: 'passed' });
    const twice = await open({ agent: ['x'], judge: ['{"result": "great"}'] });
    expect(await twice.run(nextReply)).toMatchObject({
      status: 'failed',
      needs_review: true,
      judge_reasoning: expect.stringContaining('cannot be parsed'),
    });
    expect(twice.asked('judge')).toHaveLength(2);
  });

  it('a tool is answered by its first stored mock; without one the run cannot pass', async () => {
    const scripts = { agent: [callTool('book', { day: 'Friday' }), 'Booked.'], judge: [verdict('success')] };
    const mocked = await open(scripts);
    const stored = [{ tool_id: 't1', status_code: 200, body: '{"ok":true,"mocked":1}' }];
    expect(await mocked.run(nextReply, { tools: [testTool()], storedMocks: stored })).toMatchObject({
      status: 'passed',
      agent_reply: 'Booked.',
      mock_gaps: [],
    });
    expect(mocked.asked('agent')[1]).toContain('"mocked":1');
    const bare = await open(scripts);
    expect(await bare.run(nextReply, { tools: [testTool()] })).toMatchObject({
      status: 'failed',
      needs_review: true,
      mock_gaps: [{ tool_name: 'book', source: 'missing', calls: 1 }],
    });
  });

  it('a model that refuses or times out is an error with its cause', async () => {
    const refusing = await open({});
    refusing.server.fault = { status: 400 };
    expect(await refusing.run(nextReply)).toMatchObject({
      status: 'error',
      error: 'The model answered HTTP 400',
    });
    const clock = new ManualClock();
    const silent = await open({});
    silent.server.fault = { halfOpen: 'headers' };
    let isOver = false;
    const running = silent.run(nextReply, { clock }).finally(() => {
      isOver = true;
    });
    // Advances time until there is a result, whatever the number of attempts and their waits.
    while (!isOver) await clock.advance(500);
    expect(await running).toMatchObject({
      status: 'error',
      needs_review: false,
      error: expect.stringMatching(/did not start to answer within 7 s/),
    });
  });

  it('local/demo cannot judge and reports it', async () => {
    const bench = await open({});
    const result = await bench.run(nextReply, { config: { llm: { model: 'local/demo' } } });
    expect(result).toMatchObject({
      status: 'error',
      error: expect.stringContaining('local/demo cannot judge a conversation'),
    });
    expect(bench.server.requests).toEqual([]);
  });
});

describe('a tool test', () => {
  const referenced_tool = { id: 't1', type: 'webhook' };
  const test = (over: object = {}) => ({ test_type: 'tool', conversation, referenced_tool, ...over });
  const friday = callTool('book', { day: 'Friday', people: '2', window: 'True' });

  it.each([
    ['the tool is called', [friday], test(), 'passed'],
    [
      'its parameters are as expected, each by its type',
      [friday],
      test({
        tool_parameters: [
          { name: 'day', value: 'Friday' },
          { name: 'people', value: 2, type: 'number' },
          { name: 'window', value: true, type: 'boolean' },
          { name: 'note', value: null },
        ],
      }),
      'passed',
    ],
    [
      'a parameter differs',
      [friday],
      test({ tool_parameters: [{ name: 'day', value: 'Saturday' }] }),
      'failed',
    ],
    ['a parameter is missing', [friday], test({ tool_parameters: [{ name: 'note', value: 'x' }] }), 'failed'],
    ['no tool is called', ['Which day?'], test(), 'failed'],
    ['the tool must not be called but is', [friday], test({ verify_absence: true }), 'failed'],
    ['the tool must not be called and is not', ['Which day?'], test({ verify_absence: true }), 'passed'],
    ['no tool may be called and none is', ['Which day?'], test({ referenced_tool: null }), 'passed'],
    ['no tool may be called but one is', [friday], test({ referenced_tool: null }), 'failed'],
  ])('has the documented result when %s', async (_, agent, subject, status) => {
    const bench = await open({ agent });
    expect(await bench.run(subject, { tools: [testTool()] })).toMatchObject({
      status,
      needs_review: false,
      mock_gaps: [],
    });
    // The tool itself is not called, and no judge is asked, because the outcome is directly observable.
    expect([bench.asked('agent').length, bench.asked('judge').length]).toEqual([1, 0]);
  });

  it('continues through mocked tools, and needs a person when a tool has no mock', async () => {
    const tools = [testTool(), testTool({ tool_id: 't2', function_name: 'look_up', name: 'Look up' })];
    const script = { agent: [callTool('look_up', {}), friday] };
    const storedMocks = [{ tool_id: 't2', status_code: 200, body: 'free' }];
    expect(await (await open(script)).run(test(), { tools, storedMocks })).toMatchObject({
      status: 'passed',
    });
    expect(await (await open(script)).run(test(), { tools })).toMatchObject({
      status: 'failed',
      needs_review: true,
      mock_gaps: [{ tool_name: 'look_up' }],
    });
  });

  it('accepts hanging up as the expected tool', async () => {
    const bench = await open({ agent: [callTool('_hang_up_call', { farewell: 'Bye' })] });
    const subject = test({ referenced_tool: { id: '_hang_up_call', type: 'integration' } });
    expect(
      await bench.run(subject, { config: { tools: { system_tools: { hang_up_call: true } } } }),
    ).toMatchObject({
      status: 'passed',
      agent_reply: 'Bye',
    });
  });
});
