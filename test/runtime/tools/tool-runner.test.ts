import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { isHangUpCall } from '#protocol/hang-up-call.ts';
import type { AgentEvent } from '#protocol/session-events.ts';
import { hangUpCallTool } from '#runtime/tools/call-tools.ts';
import { createClientTools } from '#runtime/tools/client-tool.ts';
import { createToolRunner, type ToolRunnerOptions } from '#runtime/tools/tool-runner.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { testPlan, testTool } from '../test-plan.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

/** A tenant's server with the given answers. */
async function tenant(
  answer: (response: ServerResponse, seen: Seen) => void = (response) => response.end('booked'),
) {
  const requests: Seen[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const seen = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      requests.push(seen);
      answer(response, seen);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function runner(over: Partial<ToolRunnerOptions>, allow = ['127.0.0.1']) {
  const egress = createEgressGuard({ allow, clock: systemClock });
  opened.push(() => egress.close());
  return createToolRunner({
    tools: [],
    variables: () => ({}),
    systemVariables: testPlan().system_variables,
    egress,
    clientTools: null,
    clock: systemClock,
    ...over,
  });
}

const signal = () => new AbortController().signal;
const call = (input: object | string = {}, toolName = 'book', callId = 'c1') => ({
  callId,
  toolName,
  input: typeof input === 'string' ? input : JSON.stringify(input),
});

describe('webhook tools', () => {
  it('placeholders are filled in URL, headers and body: encoded, plain and JSON-escaped', async () => {
    const server = await tenant();
    const tool = testTool({
      url: `${server.url}/{{day}}?from={{system.caller_number}}`,
      headers: [
        { name: 'X-Day', value: 'day {{day}}' },
        { name: 'Authorization', value: 'Bearer abc' },
      ],
      body_template: '{"day":"{{day}}","count":{{count}},"plan":"{{ plan }}","none":"{{missing}}"}',
    });
    const tools = runner({ tools: [tool], variables: () => ({ plan: 'gold', count: 3 }) });
    const outcome = await tools.run(call({ day: 'a "b"/+\n' }), { signal: signal() });
    expect(outcome).toMatchObject({
      status: 'completed',
      output: 'booked',
      error: null,
      modelText: 'booked',
    });
    const [seen] = server.requests;
    expect(seen?.url).toBe('/a%20%22b%22%2F%2B%0A?from=%2B15550100001');
    expect(seen?.headers).toMatchObject({
      'x-day': 'day a "b"/+',
      authorization: 'Bearer abc',
      'content-type': 'application/json',
    });
    expect(JSON.parse(seen?.body ?? '')).toEqual({ day: 'a "b"/+\n', count: 3, plan: 'gold', none: '' });
  });

  it('a session variable overrides an argument of its name, and inserted text is not scanned again', async () => {
    const server = await tenant();
    const tools = runner({
      tools: [testTool({ url: server.url, content_type: 'text/plain', body_template: '{{day}} {{note}}' })],
      variables: () => ({ day: 'friday' }),
    });
    await tools.run(call({ day: 'monday', note: '{{system.today}} "q"' }), { signal: signal() });
    expect(server.requests[0]?.body).toBe('friday {{system.today}} "q"');
  });

  it('security 10: a request that would be too long is not sent, and the error says what to do', async () => {
    const server = await tenant();
    const tools = runner({
      tools: [
        testTool({ url: server.url, content_type: 'text/plain', body_template: '{{note}}'.repeat(10_000) }),
      ],
    });
    const outcome = await tools.run(call({ note: 'x'.repeat(10_000) }), { signal: signal() });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('longer than 1048576 characters with its placeholders filled in'),
    });
    expect(server.requests).toEqual([]);
  });

  it.each([
    ['application/vnd.api+json', [], true],
    ['text/plain', [{ name: 'Content-Type', value: 'application/json; charset=utf-8' }], true],
    ['application/x-www-form-urlencoded', [], false],
  ])(
    'the type %s and the headers %j decide whether a body is JSON',
    async (content_type, headers, isEscaped) => {
      const server = await tenant();
      const tools = runner({
        tools: [testTool({ url: server.url, content_type, headers, body_template: '{"a":"{{day}}"}' })],
      });
      await tools.run(call({ day: '"' }), { signal: signal() });
      expect(server.requests[0]?.body).toBe(isEscaped ? '{"a":"\\""}' : '{"a":"""}');
    },
  );

  it('a GET and an empty template send no body', async () => {
    const server = await tenant();
    const tools = runner({
      tools: [
        testTool({ url: server.url, method: 'GET' }),
        testTool({ function_name: 'bare', url: server.url, body_template: '' }),
      ],
    });
    await tools.run(call({}), { signal: signal() });
    await tools.run(call({}, 'bare'), { signal: signal() });
    expect(
      server.requests.map(({ method, body, headers }) => [method, body, headers['content-type']]),
    ).toEqual([
      ['GET', '', undefined],
      ['POST', '', undefined],
    ]);
  });

  it('passthrough reports a failure in full, hide only that it failed; the timeline has both', async () => {
    const server = await tenant((response) => response.writeHead(500).end('stack trace'));
    const tools = runner({
      tools: [
        testTool({ url: server.url }),
        testTool({ function_name: 'hidden', url: server.url, error_handling: 'hide' }),
      ],
    });
    const open = await tools.run(call({}), { signal: signal() });
    const hidden = await tools.run(call({}, 'hidden'), { signal: signal() });
    expect(open).toMatchObject({ status: 'failed', error: 'HTTP 500', output: 'stack trace' });
    expect(JSON.parse(open.modelText)).toEqual({ error: 'HTTP 500', body: 'stack trace' });
    expect(hidden).toMatchObject({
      status: 'failed',
      error: 'HTTP 500',
      output: 'stack trace',
      modelText: 'The tool failed.',
    });
  });

  it('a non-public address is rejected', async () => {
    const server = await tenant();
    const outcome = await runner({ tools: [testTool({ url: server.url })] }, []).run(call({}), {
      signal: signal(),
    });
    expect(outcome).toMatchObject({ status: 'failed', error: 'The host is not a public address' });
    expect(server.requests).toHaveLength(0);
  });

  it('an endless answer is cut at 256 KB', async () => {
    const server = await tenant((response) => response.end('x'.repeat(300_000)));
    const outcome = await runner({ tools: [testTool({ url: server.url })] }).run(call({}), {
      signal: signal(),
    });
    expect(outcome.output).toHaveLength(256 * 1024);
    expect(outcome.outputTruncated).toBe(true);
  });

  it('a tool that never answers fails at its own timeout, an aborted one at once', async () => {
    const server = await tenant(() => {});
    const clock = new ManualClock();
    const tools = runner({ tools: [testTool({ url: server.url, timeout_seconds: 7 })], clock });
    const abort = new AbortController();
    const [late, aborted] = [
      tools.run(call({}), { signal: signal() }),
      tools.run(call({}), { signal: abort.signal }),
    ];
    await expect.poll(() => server.requests.length).toBe(2);
    abort.abort(new Error('interrupted'));
    expect(await aborted).toMatchObject({ status: 'failed', error: 'interrupted' });
    await clock.advance(7_001);
    expect(await late).toMatchObject({ status: 'failed', error: 'timed out after 7 s', latencyMs: 7_000 });
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('limits', () => {
  it('the 11th background call in flight fails at once; a blocking one runs; the end cancels all', async () => {
    const server = await tenant((response, seen) => {
      if (seen.url === '/fast') response.end('ok');
    });
    const tools = runner({
      tools: [
        testTool({ url: server.url, execution_mode: 'background' }),
        testTool({ function_name: 'fast', url: `${server.url}/fast` }),
      ],
    });
    const waiting = Array.from({ length: 10 }, () => tools.run(call({}), { signal: signal() }));
    expect(await tools.run(call({}), { signal: signal() })).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/Too many/),
    });
    expect(await tools.run(call({}, 'fast'), { signal: signal() })).toMatchObject({ status: 'completed' });
    tools.close();
    for (const outcome of await Promise.all(waiting))
      expect(outcome).toMatchObject({ status: 'failed', error: 'the conversation has ended' });
  });

  it.each([
    ['an unknown name', call({}, 'nothing')],
    ['broken arguments', call('{"day":')],
    ['arguments that are no object', call('[1]')],
  ])('%s is a failed outcome the model can react to', async (_, bad) => {
    const outcome = await runner({ tools: [testTool()] }).run(bad, { signal: signal() });
    expect(outcome.status).toBe('failed');
    expect(JSON.parse(outcome.modelText)).toHaveProperty('error');
  });

  it('reports how each tool runs and where it is defined', () => {
    const tools = runner({
      tools: [
        testTool({ execution_mode: 'background' }),
        testTool({ function_name: 'ui', tool_type: 'client', expects_response: false }),
      ],
      clientTools: createClientTools(() => {}),
    });
    expect(tools.traits('book')).toEqual({ mode: 'background', source: 'background' });
    expect(tools.traits('ui')).toEqual({ mode: 'fire_and_forget', source: 'client' });
    expect(tools.traits('nothing')).toBeNull();
  });
});

describe('client tools', () => {
  function browser(
    over: Partial<Parameters<typeof testTool>[0]> = {},
    clock = systemClock as ToolRunnerOptions['clock'],
  ) {
    const events: AgentEvent[] = [];
    const clientTools = createClientTools((event) => events.push(event));
    return {
      events,
      clientTools,
      tools: runner({
        tools: [testTool({ function_name: 'show', tool_type: 'client', ...over })],
        clientTools,
        clock,
      }),
    };
  }

  it('the call is sent and its result received; unknown and repeated results are ignored', async () => {
    const { events, clientTools, tools } = browser();
    const outcome = tools.run(call({ day: 'friday' }, 'show'), { signal: signal() });
    await expect
      .poll(() => events)
      .toEqual([
        {
          type: 'client_tool.call',
          callId: 'c1',
          toolName: 'show',
          params: { day: 'friday' },
          expectsResponse: true,
        },
      ]);
    clientTools.settle({ type: 'client_tool.result', callId: 'other', result: 1 });
    clientTools.settle({ type: 'client_tool.result', callId: 'c1', result: { shown: true } });
    clientTools.settle({ type: 'client_tool.result', callId: 'c1', result: 2 });
    expect(await outcome).toMatchObject({ status: 'completed', output: '{"shown":true}' });
  });

  it('an error, a result over 60 KB and a missing result are failures', async () => {
    const clock = new ManualClock();
    const { events, clientTools, tools } = browser({ timeout_seconds: 15 }, clock);
    const outcomes = ['e', 'big', 'mute'].map((id) => tools.run(call({}, 'show', id), { signal: signal() }));
    await expect.poll(() => events.length).toBe(3);
    clientTools.settle({ type: 'client_tool.result', callId: 'e', isError: true });
    clientTools.settle({ type: 'client_tool.result', callId: 'big', result: 'x'.repeat(61 * 1024) });
    await clock.advance(15_001);
    expect((await Promise.all(outcomes)).map((outcome) => outcome.error)).toEqual([
      'the client reported an error',
      'the result is too large',
      'timed out after 15 s',
    ]);
  });

  it('a tool that expects no response is done once sent', async () => {
    const { tools } = browser({ expects_response: false });
    expect(await tools.run(call({}, 'show'), { signal: signal() })).toMatchObject({
      status: 'completed',
      output: null,
      modelText: 'done',
    });
  });

  it('they are not offered when there is no client', () => {
    expect(
      runner({ tools: [testTool({ tool_type: 'client' }), testTool()] }).definitions.map(
        (definition) => definition.name,
      ),
    ).toEqual(['book']);
  });
});

describe('hanging up', () => {
  const offered = (tools: object) => {
    const { config } = testPlan();
    return hangUpCallTool({ ...config, tools: { ...config.tools, ...tools } });
  };

  it('is offered only when the agent is allowed to', () => {
    expect(offered({})).toBeNull();
    const system_tools = { ...testPlan().config.tools.system_tools, hang_up_call: true };
    expect(offered({ system_tools })?.arguments.map((argument) => argument.name)).toEqual(['farewell']);
    expect(
      offered({ system_tools: { ...system_tools, hang_up_call_farewell_mode: 'off' } })?.arguments,
    ).toEqual([]);
    expect(offered({ system_tools, enabled: false })).toBeNull();
  });

  it('is recognised with and without its underscore', () => {
    expect(['_hang_up_call', 'hang_up_call', 'hang_up'].map(isHangUpCall)).toEqual([true, true, false]);
  });
});
