import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { callTool } from '#test/fakes/openai-server.ts';
import { openWebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { testTool } from '../test-plan.ts';
import { openTestBench, type TestBench } from './test-bench.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
});

async function open(...scripts: Parameters<typeof openTestBench>): Promise<TestBench> {
  const bench = await openTestBench(...scripts);
  opened.push(bench);
  return bench;
}

const simulationOf = (over: object = {}) => ({
  test_type: 'simulation',
  simulation: {
    scenario: 'You want a table on Friday.',
    success_conditions: [{ name: 'booked', description: 'A table is booked' }],
    ...over,
  },
});
const judged = (result: string, summary = 'They talked.') =>
  JSON.stringify({
    conditions: [
      { name: 'booked', result, rationale: 'Seen.' },
      { name: 'invented', result: 'success' },
    ],
    summary,
  });
const booking = {
  caller: ['A table for Friday.', 'Thanks, bye. [HANG UP]'],
  agent: [callTool('book', { day: 'Friday' }), 'It is booked.'],
  judge: [judged('success')],
};
const tools = [testTool()];
const mock = (over: object = {}) => ({ tool: 'book', result: { booking: 7 }, ...over });

describe('a simulation', () => {
  it('plays the scenario until the caller hangs up, then judges conditions and assertions', async () => {
    const bench = await open(booking);
    const assertions = {
      tool_calls: [
        {
          tool: 't1',
          params: { day: { type: 'regex', value: '^fri' }, other: { type: 'any' } },
          min_calls: 0,
          max_calls: 0,
        },
        { tool: 'Book', params: { day: { value: 'Friday' } }, max_calls: 1 },
      ],
      forbidden_tools: ['cancel'],
      ended_by: 'user',
    };
    const result = await bench.run(simulationOf({ assertions, tool_mocks: { tools: [mock()] } }), { tools });
    expect(result).toEqual({
      status: 'passed',
      needs_review: false,
      error: null,
      agent_replies: 1,
      agent_reply: 'It is booked.',
      judge_reasoning: 'They talked.',
      latency_ms: expect.any(Number),
      turns_used: 2,
      ended_by: 'user',
      mock_gaps: [],
      simulation_result: {
        transcript: [
          { role: 'user', text: 'A table for Friday.' },
          { role: 'agent', text: 'It is booked.' },
          { role: 'user', text: 'Thanks, bye.' },
        ],
        tool_calls: [
          {
            tool_id: 't1',
            tool_name: 'book',
            arguments: '{"day":"Friday"}',
            mock_source: 'test',
            status: 'completed',
            output: '{"booking":7}',
          },
        ],
        assertions: [
          { kind: 'tool_call', target: 't1', passed: true, detail: expect.stringContaining('0 matching') },
          { kind: 'tool_call', target: 'Book', passed: true, detail: expect.stringContaining('1 matching') },
          { kind: 'forbidden_tool', target: 'cancel', passed: true, detail: 'called 0 times' },
          { kind: 'ended_by', target: 'user', passed: true, detail: 'ended by user' },
        ],
        conditions: [{ name: 'booked', result: 'success', rationale: 'Seen.' }],
        summary: 'They talked.',
        passed: true,
      },
    });
    expect(bench.asked('caller')[0]).toContain('You want a table on Friday.');
    // From the caller model's point of view, the agent is the user.
    expect(bench.asked('caller')[1]).toContain('assistant: A table for Friday.\nuser: It is booked.');
    expect(bench.asked('agent')[1]).toContain('{"booking":7}');
  });

  it.each([
    [
      'a failed assertion fails it whatever the judge says',
      { assertions: { forbidden_tools: ['book'] } },
      'success',
      { status: 'failed', needs_review: false },
    ],
    [
      'too few calls fail it',
      { assertions: { tool_calls: [{ tool: 'book', min_calls: 2 }] } },
      'success',
      { status: 'failed', needs_review: false },
    ],
    [
      'another end than asserted fails it',
      { assertions: { ended_by: 'agent' } },
      'success',
      { status: 'failed', needs_review: false },
    ],
    [
      'any end by a party will do',
      { assertions: { ended_by: 'any' } },
      'success',
      { status: 'passed', needs_review: false },
    ],
    ['a failed condition fails it', {}, 'failure', { status: 'failed', needs_review: false }],
    [
      'an unknown condition fails it and needs review',
      {},
      'unknown',
      { status: 'failed', needs_review: true },
    ],
  ])('%s', async (_, over, result, expected) => {
    const bench = await open({ ...booking, judge: [judged(result)] });
    const verdict = await bench.run(simulationOf({ tool_mocks: { tools: [mock()] }, ...over }), { tools });
    expect(verdict).toMatchObject({
      ...expected,
      simulation_result: { passed: expected.status === 'passed' },
    });
  });

  it('marks a condition unknown when the judge is unreadable or omits it', async () => {
    for (const judge of ['no JSON', JSON.stringify({ conditions: [], summary: '' })]) {
      const bench = await open({ ...booking, judge: [judge] });
      const result = await bench.run(simulationOf({ tool_mocks: { tools: [mock()] } }), { tools });
      expect(result).toMatchObject({
        status: 'failed',
        needs_review: true,
        simulation_result: { conditions: [{ name: 'booked', result: 'unknown' }] },
      });
    }
  });

  it('ends after max_turns of the caller, and starts with the greeting or a given conversation', async () => {
    const bench = await open({ caller: ['And then?'], agent: ['More.'], judge: [judged('success')] });
    const greeted = await bench.run(simulationOf({ max_turns: 2 }), {
      config: { prompt: { first_message_mode: 'fixed', first_message: 'Welcome!' } },
    });
    expect(greeted).toMatchObject({
      status: 'passed',
      ended_by: 'max_turns',
      turns_used: 2,
      agent_replies: 3,
    });
    expect(greeted.simulation_result?.transcript.map((turn) => turn.text)).toEqual([
      'Welcome!',
      'And then?',
      'More.',
      'And then?',
      'More.',
    ]);
    const continued = await bench.run({
      ...simulationOf({ max_turns: 1 }),
      conversation: [{ role: 'user', text: 'Hello there' }],
    });
    expect(continued.simulation_result?.transcript.map((turn) => turn.text)).toEqual([
      'Hello there',
      'More.',
      'And then?',
      'More.',
    ]);
  });

  it('ends when the agent hangs up, and includes its farewell', async () => {
    const bench = await open({
      caller: ['Bye.'],
      agent: [callTool('_hang_up_call', { farewell: 'Goodbye!' })],
      judge: [judged('success')],
    });
    const config = { tools: { system_tools: { hang_up_call: true } }, prompt: { first_message_mode: 'off' } };
    const result = await bench.run(
      simulationOf({ assertions: { ended_by: 'agent', tool_calls: [{ tool: '_hang_up_call' }] } }),
      { config },
    );
    expect(result).toMatchObject({ status: 'passed', ended_by: 'agent', agent_reply: 'Goodbye!' });
  });

  it('reports a model failure as an error, with the conversation so far', async () => {
    const bench = await open({ caller: ['Hello.'], agent: ['Hi.'] });
    const result = await bench.run(simulationOf(), {
      wrap: (model) => ({
        ...model,
        stream: (request) => {
          if (bench.asked('caller').length === 1 && bench.asked('agent').length === 1)
            bench.server.fault = { status: 403 };
          return model.stream(request);
        },
      }),
    });
    expect(result).toMatchObject({
      status: 'error',
      ended_by: 'error',
      error: 'The model answered HTTP 403',
      simulation_result: { passed: false, transcript: [{ text: 'Hello.' }, { text: 'Hi.' }] },
    });
  });

  it('cuts a conversation at five minutes and judges it as it is', async () => {
    const clock = new ManualClock();
    const bench = await open({ caller: ['And?'], agent: ['More.'], judge: [judged('success')] });
    const result = await bench.run(simulationOf({ max_turns: 50, assertions: { ended_by: 'any' } }), {
      clock,
      wrap: (model) => ({
        ...model,
        async *stream(request) {
          if (!request.messages[0]?.content.includes('You judge')) await clock.advance(50_000);
          yield* model.stream(request);
        },
      }),
    });
    expect(result).toMatchObject({
      status: 'failed',
      ended_by: 'timeout',
      simulation_result: { assertions: [{ passed: false }] },
    });
    expect(bench.asked('judge')).toHaveLength(1);
  });

  it('does not accept local/demo as the caller', async () => {
    const bench = await open(booking);
    expect(await bench.run(simulationOf({ simulated_user_model: 'local/demo' }))).toMatchObject({
      status: 'error',
      error: expect.stringContaining('cannot play a caller'),
    });
  });
});

describe('tools of a simulation', () => {
  const sources = async (tool_mocks: object, over: object = {}) => {
    const bench = await open(booking);
    const stored = [{ tool_id: 't1', status_code: 200, body: 'stored' }];
    const result = await bench.run(simulationOf({ tool_mocks }), { tools, storedMocks: stored, ...over });
    const [call] = result.simulation_result?.tool_calls ?? [];
    return [call?.mock_source, call?.output, result.status, result.mock_gaps];
  };

  it.each([
    [
      'all: the test’s mock before the tool’s own',
      { tools: [mock()] },
      ['test', '{"booking":7}', 'passed', []],
    ],
    ['all: the tool’s first mock where the test has none', {}, ['tool', 'stored', 'passed', []]],
    [
      'selected: not the tool’s own',
      { strategy: 'selected' },
      ['missing', null, 'failed', [{ tool_name: 'book', source: 'missing', calls: 1 }]],
    ],
    [
      'the first mock whose condition holds',
      {
        tools: [
          mock({ when: { day: { value: 'Monday' } } }),
          mock({ result: 'yes', when: { day: { type: 'regex', value: '^F' } } }),
        ],
      },
      ['test', 'yes', 'passed', []],
    ],
    [
      'no condition holds: a gap, though the tool has a mock',
      { tools: [mock({ when: { day: { value: 'Monday' } } })] },
      ['unmatched', null, 'failed', [{ tool_name: 'book', source: 'unmatched', calls: 1 }]],
    ],
  ])('%s', async (_, toolMocks, expected) => {
    expect(await sources(toolMocks)).toEqual(expected);
  });

  it('a mocked failure is reported as error_handling specifies', async () => {
    for (const [handling, shown] of [
      ['passthrough', 'HTTP 503'],
      ['hide', 'The tool failed.'],
    ] as const) {
      const bench = await open(booking);
      await bench.run(simulationOf({ tool_mocks: { tools: [mock({ status: 503, error: true })] } }), {
        tools: [testTool({ error_handling: handling })],
      });
      expect(bench.asked('agent')[1]).toContain(shown);
    }
  });

  it('security 20: a failure hidden by its tool is kept from the judge, but the result has all of it', async () => {
    const bench = await open(booking);
    const tool_mocks = { tools: [mock({ status: 503, error: true, result: 'planted stack trace' })] };
    const result = await bench.run(simulationOf({ tool_mocks }), {
      tools: [testTool({ error_handling: 'hide' })],
    });
    expect(bench.asked('judge')[0]).toContain('failed, The tool failed.');
    expect(bench.asked('judge').join()).not.toContain('planted');
    expect(JSON.stringify(result.simulation_result?.tool_calls)).toContain('planted stack trace');
  });

  it('a real call of a background tool is awaited', async () => {
    const receiver = await openWebhookReceiver();
    opened.push(receiver);
    receiver.answer = () => ({ status: 200, body: 'real answer' });
    const real = [
      testTool({ url: `${receiver.url}/book`, execution_mode: 'background', timeout_seconds: 300 }),
    ];
    for (const toolMocks of [
      { strategy: 'none' },
      { strategy: 'selected', fallback: 'real' },
      { tools: [mock()], real_tools: ['book'] },
    ])
      expect(await sources(toolMocks, { tools: real, storedMocks: [] })).toEqual([
        'real',
        'real answer',
        'passed',
        [],
      ]);
    expect(receiver.received.map((request) => request.body)).toEqual([
      { day: 'Friday' },
      { day: 'Friday' },
      { day: 'Friday' },
    ]);
  });

  it('a real tool call goes through the egress guard', async () => {
    const real = [testTool({ url: 'http://10.0.0.1/book' })];
    expect((await sources({ strategy: 'none' }, { tools: real })).slice(0, 2)).toEqual(['real', null]);
  });

  it('client tools are offered only on the web, and answered only by mocks', async () => {
    const client = [testTool({ tool_type: 'client', url: '' })];
    expect((await sources({}, { tools: client })).slice(0, 2)).toEqual(['tool', 'stored']);
    expect((await sources({ fallback: 'real' }, { tools: client, storedMocks: [] }))[0]).toBe('missing');
    expect((await sources({ strategy: 'none' }, { tools: client }))[0]).toBe('missing');
    const phone = await open({ ...booking, agent: ['No tools here.'] });
    await phone.run(simulationOf(), { tools: client, channel: 'phone_inbound' });
    expect(phone.server.requests.every((request) => request.json?.['tools'] === undefined)).toBe(true);
  });

  it('a regular expression with catastrophic backtracking is still decided', async () => {
    const bench = await open({
      ...booking,
      agent: [callTool('book', { day: `${'a'.repeat(1_000)}!` }), 'Done.'],
    });
    const hostile = Array.from({ length: 100 }, () => ({
      tool: 'book',
      params: { day: { type: 'regex', value: '^(a+)+$' } },
      min_calls: 0,
      max_calls: 0,
    }));
    const result = await bench.run(
      simulationOf({ assertions: { tool_calls: hostile }, tool_mocks: { tools: [mock()] } }),
      { tools },
    );
    expect(result).toMatchObject({
      status: 'passed',
      simulation_result: { assertions: hostile.map(() => ({ passed: true })) },
    });
  });
});
