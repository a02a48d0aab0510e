/** Tools of real MCP servers in a conversation, over sockets. */
import { createServer } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock, type Timer } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import { ServerTools } from '#runtime/tools/server-tools.ts';
import { listenLocally } from '#test/fakes/local-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { type FakeMcpServer, type FakeTool, startMcpServer } from '#test/fakes/mcp-server.ts';
import { testPlan } from '../test-plan.ts';
import { plannedServer } from './planned-server.ts';
import { openConversation } from './served-conversation.ts';

const SLOTS: FakeTool = {
  name: 'slots',
  description: 'Free times of a day',
  inputSchema: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
  run: ({ input }) => `free on ${input['day']}: nine`,
};

/** Tells how often a time was waited for, so that a test knows when a progress has arrived. */
class WatchedClock extends ManualClock {
  readonly #started: number[] = [];

  override after(ms: number, callback: () => void): Timer {
    this.#started.push(ms);
    return super.after(ms, callback);
  }

  startedTimers(ms: number): number {
    return this.#started.filter((each) => each === ms).length;
  }
}

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function serve(era: 'sessions' | 'stateless', tools: readonly FakeTool[]): Promise<FakeMcpServer> {
  const server = await startMcpServer(era, tools);
  opened.push(() => server.close());
  return server;
}

function runnerOf(...options: Parameters<typeof openConversation>) {
  const conversation = openConversation(...options);
  opened.push(() => conversation.close());
  return conversation;
}

const never = () => new AbortController().signal;
const call = (toolName: string, input: object = {}) => ({
  callId: 'c1',
  toolName,
  input: JSON.stringify(input),
});
const names = ({ definitions }: { readonly definitions: readonly { readonly name: string }[] }) =>
  definitions.map(({ name }) => name);

describe.each(['sessions', 'stateless'] as const)('tools of an MCP server (%s)', (era) => {
  it('are offered with their schema, and answer', async () => {
    const server = await serve(era, [SLOTS]);
    const { runner } = runnerOf([plannedServer(server.url, [SLOTS])]);
    expect(runner.definitions).toEqual([
      {
        name: 'desk_slots',
        description: 'Free times of a day',
        arguments: [],
        inputSchema: SLOTS.inputSchema,
      },
    ]);
    expect(runner.traits('desk_slots')).toEqual({ mode: 'blocking', source: 'mcp' });
    const outcome = await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() });
    expect(outcome).toMatchObject({ status: 'completed', output: 'free on Friday: nine', error: null });
    expect(outcome.modelText).toBe('free on Friday: nine');
  });

  it('get headers that are filled from the variables of the moment', async () => {
    const server = await serve(era, [SLOTS]);
    let guest = 'Ada';
    const headers = [
      { name: 'X-Guest', value: '{{guest}}' },
      { name: 'X-Caller', value: '{{system.caller_number}}' },
    ];
    const planned = plannedServer(server.url, [SLOTS], { headers });
    const { runner } = runnerOf([planned], { variables: () => ({ guest }) });
    await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() });
    expect(server.headers[0]).toMatchObject({ 'x-guest': 'Ada', 'x-caller': '+15550100001' });
    guest = 'Bo';
    await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() });
    expect(server.headers.at(-1)?.['x-guest']).toBe('Bo');
  });

  it('are told when the caller interrupts', async () => {
    const told = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<void>();
    const wait: FakeTool = {
      name: 'wait',
      run: ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            told.resolve('cancelled');
            resolve('too late');
          });
          begun.resolve();
        }),
    };
    const server = await serve(era, [wait]);
    const { runner } = runnerOf([plannedServer(server.url, [wait])]);
    const interruption = new AbortController();
    const outcome = runner.run(call('desk_wait'), { signal: interruption.signal });
    await begun.promise;
    interruption.abort(new Error('the caller interrupted'));
    expect(await outcome).toMatchObject({ status: 'failed', error: 'the caller interrupted' });
    expect(await told.promise).toBe('cancelled');
    if (era === 'sessions') expect(server.methods).toContain('notifications/cancelled');
  });

  it('have more time with each progress, and fail after a silence', async () => {
    const step = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const at = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: FakeTool = {
      name: 'slow',
      run: async ({ progress }) => {
        await progress(1);
        at[0]?.resolve();
        await step[0]?.promise;
        await progress(2);
        at[1]?.resolve();
        await step[1]?.promise;
        return 'never heard';
      },
    };
    const server = await serve(era, [slow]);
    const clock = new WatchedClock();
    const { runner } = runnerOf([plannedServer(server.url, [slow])], { clock });
    const outcome = runner.run(call('desk_slow'), { signal: never() });
    let isOver = false;
    void outcome.then(() => {
      isOver = true;
    });
    await at[0]?.promise;
    await vi.waitFor(() => expect(clock.startedTimers(5_000)).toBeGreaterThan(1));
    await clock.advance(4_000);
    const before = clock.startedTimers(5_000);
    step[0]?.resolve();
    await at[1]?.promise;
    await vi.waitFor(() => expect(clock.startedTimers(5_000)).toBeGreaterThan(before));
    await clock.advance(4_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    await clock.advance(1_000);
    expect(await outcome).toMatchObject({ status: 'failed', error: 'timed out after 5 s' });
    step[1]?.resolve();
  });

  it('of a changed list are offered as far as they are still as published', async () => {
    const server = await serve(era, [SLOTS]);
    const { runner, clock, serverTools } = runnerOf([plannedServer(server.url, [SLOTS])]);
    serverTools.start();
    await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() });
    server.tools = [{ ...SLOTS, description: 'Deletes a day' }];
    await vi.waitFor(async () => {
      server.tellListChanged();
      await clock.advance(1_000);
      expect(names(runner)).toEqual([]);
    });
    expect(await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() })).toMatchObject({
      status: 'failed',
      error: 'the tool has changed at its server since it was published',
    });
    server.tools = [SLOTS];
    await vi.waitFor(async () => {
      server.tellListChanged();
      await clock.advance(1_000);
      expect(names(runner)).toEqual(['desk_slots']);
    });
  });

  it.each([
    ['a text above 64 KiB is cut and says so', 100_000, 'completed'],
    ['an answer above 2 MiB is not read to its end', 2.5 * 1_048_576, 'failed'],
  ])('%s', async (_title, length, status) => {
    const long: FakeTool = { name: 'long', run: () => 'x'.repeat(length) };
    const server = await serve(era, [long, SLOTS]);
    const { runner } = runnerOf([plannedServer(server.url, [long, SLOTS])]);
    const outcome = await runner.run(call('desk_long'), { signal: never() });
    expect(outcome.status).toBe(status);
    if (status === 'completed') {
      expect(outcome.outputTruncated).toBe(true);
      expect(outcome.modelText).toBe(
        `${'x'.repeat(65_536)}\n[The result is longer than 64 KiB and was cut here.]`,
      );
    } else expect(outcome.error).toBe('the answer is longer than 2097152 bytes');
    const next = await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() });
    expect(next.status).toBe('completed');
  });
});

describe('a tool server', () => {
  it('that is dead is named to the model, and is tried again with growing pauses', async () => {
    const server = await serve('sessions', [SLOTS]);
    server.refusal = 503;
    const { runner, serverTools, clock } = runnerOf([plannedServer(server.url, [SLOTS])]);
    serverTools.start();
    expect(runner.notice).toBeNull();
    expect(names(runner)).toEqual(['desk_slots']);
    await vi.waitFor(() =>
      expect(runner.notice).toBe(
        'The tools of Desk cannot be reached at the moment, so promise nothing that needs them.',
      ),
    );
    expect(names(runner)).toEqual([]);
    expect(await runner.run(call('desk_slots'), { signal: never() })).toMatchObject({
      status: 'failed',
      error: 'the tool server cannot be reached at the moment',
    });
    await clock.advance(999);
    const before = server.headers.length;
    server.refusal = null;
    await clock.advance(1);
    await vi.waitFor(() => expect(runner.notice).toBeNull());
    expect(server.headers.length).toBeGreaterThan(before);
    expect(names(runner)).toEqual(['desk_slots']);
  });

  it('that does not answer is given up after 5 s', async () => {
    const silent = await listenLocally(createServer(() => undefined));
    opened.push(() => silent.close());
    const { runner, serverTools, clock } = runnerOf([
      plannedServer(`http://127.0.0.1:${silent.port}/mcp`, [SLOTS]),
    ]);
    serverTools.start();
    const interruption = new AbortController();
    const interrupted = runner.run(call('desk_slots'), { signal: interruption.signal });
    interruption.abort(new Error('the caller interrupted'));
    expect((await interrupted).error).toBe('the caller interrupted');
    const outcome = runner.run(call('desk_slots'), { signal: never() });
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(4_999);
    expect(names(runner)).toEqual(['desk_slots']);
    await clock.advance(1);
    expect((await outcome).error).toBe('the tool server cannot be reached at the moment');
    expect(names(runner)).toEqual([]);
  });

  it('that has forgotten the session runs the call in a new one', async () => {
    let runs = 0;
    const counted = { ...SLOTS, run: () => `run ${++runs}` };
    const server = await serve('sessions', [counted]);
    const { runner } = runnerOf([plannedServer(server.url, [counted])]);
    await runner.run(call('desk_slots'), { signal: never() });
    server.forgetSessions();
    expect(await runner.run(call('desk_slots'), { signal: never() })).toMatchObject({
      status: 'completed',
      output: 'run 2',
    });
    expect(server.methods.filter((method) => method === 'initialize')).toHaveLength(2);
  });

  it('that knows no session is asked for a new one once, and the call fails', async () => {
    const server = await serve('sessions', [SLOTS]);
    const { runner } = runnerOf([plannedServer(server.url, [SLOTS])]);
    await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() });
    server.refusal = 404;
    expect(await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() })).toMatchObject({
      status: 'failed',
      error: 'the tool server cannot be reached at the moment',
    });
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(2);
  });

  it('on a private address is not connected', async () => {
    const server = await serve('sessions', [SLOTS]);
    const { runner } = runnerOf([plannedServer(server.url, [SLOTS])], { allow: [] });
    await runner.run(call('desk_slots'), { signal: never() });
    expect(names(runner)).toEqual([]);
    expect(server.headers).toEqual([]);
  });

  it('gets no header with characters that HTTP has not, and the reason says so', async () => {
    const server = await serve('sessions', [SLOTS]);
    const planned = plannedServer(server.url, [SLOTS], { headers: [{ name: 'X-Guest', value: 'Łukasz' }] });
    const warnings: unknown[] = [];
    const egress = createEgressGuard({ allow: ['127.0.0.1'], clock: systemClock });
    const tools = new ServerTools({
      servers: [planned],
      values: () => ({ variables: {}, systemVariables: testPlan().system_variables }),
      egress,
      tokens: new McpTokens(systemClock),
      clock: new ManualClock(),
      logger: { warn: (fields: unknown) => warnings.push(fields) } as never,
    });
    opened.push(
      () => egress.close(),
      () => tools.close(),
    );
    tools.start();
    await vi.waitFor(() =>
      expect(warnings[0]).toMatchObject({
        reason: 'the value of a header is too long, or has characters beyond Latin-1',
      }),
    );
    expect(server.headers).toEqual([]);
  });

  it('is told the end of its session when the conversation ends', async () => {
    const server = await serve('sessions', [SLOTS]);
    const { runner } = runnerOf([plannedServer(server.url, [SLOTS])]);
    await runner.run(call('desk_slots', { day: 'Friday' }), { signal: never() });
    expect(server.openSessions).toBe(1);
    runner.close();
    await vi.waitFor(() => expect(server.openSessions).toBe(0));
  });

  it('is told the end of its session also if the conversation ends before it is connected', async () => {
    const server = await serve('sessions', [SLOTS]);
    const egress = createEgressGuard({ allow: ['127.0.0.1'], clock: systemClock });
    const clock = new ManualClock();
    const known = Promise.withResolvers<void>();
    const slow = {
      fetch: async (...request: Parameters<typeof egress.fetch>) => {
        const [, init] = request;
        const isLast = String(init?.body).includes('notifications/initialized');
        if (isLast) {
          known.resolve();
          await clock.sleep(60_000, init?.signal ?? never());
        }
        return egress.fetch(...request);
      },
    };
    const tools = new ServerTools({
      servers: [plannedServer(server.url, [SLOTS])],
      values: () => ({ variables: {}, systemVariables: testPlan().system_variables }),
      egress: slow,
      tokens: new McpTokens(clock),
      clock,
      logger: null,
    });
    opened.push(() => egress.close());
    tools.start();
    await known.promise;
    expect(server.openSessions).toBe(1);
    tools.close();
    await vi.waitFor(() => expect(server.openSessions).toBe(0));
  });
});
