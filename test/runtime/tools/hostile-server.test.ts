/** MCP servers that attack the worker: floods, endless reconnections, silent issuers. Over sockets. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { LIMITS } from '#config/limits.ts';
import type { PlannedToolServer } from '#protocol/call-plan.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import { ServerTools } from '#runtime/tools/server-tools.ts';
import { listenLocally } from '#test/fakes/local-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import type { FakeTool } from '#test/fakes/mcp-server.ts';
import { testPlan } from '../test-plan.ts';
import { plannedServer } from './planned-server.ts';

const ATTACK: FakeTool = { name: 'attack', run: () => '' };

/** A message as it came. */
interface Message {
  readonly id?: number;
  readonly method?: string;
}

type Handler = (response: ServerResponse, message: Message, request: IncomingMessage) => void;

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function result(response: ServerResponse, { id }: Message, value: object): void {
  json(response, { jsonrpc: '2.0', id, result: value });
}

async function messageOf(request: IncomingMessage): Promise<Message> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return (text.startsWith('{') ? JSON.parse(text) : {}) as Message;
}

/** A server of the 2025 revisions, written by hand, because no library attacks; `attack` sees all first. */
async function startHostile(attack: (message: Message, request: IncomingMessage) => Handler | null) {
  const seen: (Message & { readonly http: string })[] = [];
  const server = createServer(async (request, response) => {
    const message = await messageOf(request);
    seen.push({ ...message, http: request.method ?? '' });
    const handler = attack(message, request);
    if (handler) handler(response, message, request);
    else if (message.method === 'initialize')
      result(response, message, {
        protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'hostile', version: '1' },
      });
    else if (message.method === 'tools/list')
      result(response, message, { tools: [{ name: 'attack', inputSchema: { type: 'object' } }] });
    else if (message.method === 'server/discover')
      json(response, { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'unknown' } });
    else response.writeHead(request.method === 'GET' ? 405 : 202).end();
  });
  const { port, close } = await listenLocally(server);
  opened.push(close);
  return { url: `http://127.0.0.1:${port}/mcp`, server, seen };
}

function toolsOf(url: string, changes: Partial<PlannedToolServer> = {}) {
  const egress = createEgressGuard({ allow: ['127.0.0.1'], clock: systemClock });
  const clock = new ManualClock();
  const tools = new ServerTools({
    servers: [plannedServer(url, [ATTACK], changes)],
    values: () => ({ variables: {}, systemVariables: testPlan().system_variables }),
    egress,
    tokens: new McpTokens(clock),
    clock,
    logger: null,
  });
  opened.push(
    () => egress.close(),
    () => tools.close(),
  );
  const attack = tools.find('desk_attack');
  if (!attack) throw new Error('the plan has the tool');
  const run = () => tools.run(attack, {}, new AbortController().signal);
  return { tools, clock, run };
}

describe('a hostile tool server', () => {
  it('that asks back thousands of times gets no more requests at once than the limit', async () => {
    let held = 0;
    const { url } = await startHostile(({ method }) => {
      if (method === 'tools/call')
        return (response, { id }) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          for (let each = 0; each < 5_000; each++)
            response.write(`data: {"jsonrpc":"2.0","id":"p${each}","method":"ping"}\n\n`);
          setTimeout(() => {
            const answer = { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } };
            response.end(`data: ${JSON.stringify(answer)}\n\n`);
          }, 300);
        };
      // An answer to a ping is held open for ever.
      if (method === undefined)
        return () => {
          held += 1;
        };
      return null;
    });
    const { run } = toolsOf(url);
    expect((await run()).output).toBe('done');
    await vi.waitFor(() => expect(held).toBeGreaterThan(0));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(held).toBeLessThanOrEqual(LIMITS.serverOpenRequests);
  });

  it('that ends its stream and wants it opened again at once waits for at least a second', async () => {
    const { url, seen } = await startHostile((_message, { method }) =>
      method === 'GET'
        ? (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 0\n\n')
        : null,
    );
    const streams = () => seen.filter(({ http }) => http === 'GET').length;
    const { tools, clock } = toolsOf(url);
    tools.start();
    await vi.waitFor(() => expect(streams()).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await clock.advance(999);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(streams()).toBe(1);
    await clock.advance(1);
    await vi.waitFor(() => expect(streams()).toBe(2));
  });

  it('that sends without end on its stream is not read further', async () => {
    const closed = Promise.withResolvers<void>();
    const { url } = await startHostile((_message, { method }) =>
      method === 'GET'
        ? (response) => {
            response.on('close', () => closed.resolve());
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            response.write(': nothing\n'.repeat(LIMITS.serverStreamBytes / 5));
          }
        : null,
    );
    toolsOf(url).tools.start();
    await closed.promise;
  });

  it('that answers with a batch fails before its messages are read', async () => {
    const { url } = await startHostile(({ method }) =>
      method === 'tools/call'
        ? (response, { id }) => json(response, [{ jsonrpc: '2.0', id, result: { content: [] } }])
        : null,
    );
    await expect(toolsOf(url).run()).rejects.toThrow('the server answered with a batch');
  });

  it('that answers with thousands of blocks of no known type is not checked block by block', async () => {
    const { url } = await startHostile(({ method }) =>
      method === 'tools/call'
        ? (response, message) =>
            result(response, message, { content: Array.from({ length: 150_000 }, () => ({ type: 'x' })) })
        : null,
    );
    await expect(toolsOf(url).run()).rejects.toThrow('the answer has too many parts or levels');
  });

  it('that lists more than a megabyte on its pages together is not read further', async () => {
    const { url, seen } = await startHostile(({ method }) =>
      method === 'tools/list'
        ? (response, message) =>
            result(response, message, {
              tools: [{ name: 'big', description: 'x'.repeat(400_000), inputSchema: { type: 'object' } }],
              nextCursor: 'more',
            })
        : null,
    );
    await expect(toolsOf(url).run()).rejects.toThrow('cannot be reached at the moment');
    expect(seen.filter(({ method }) => method === 'tools/list')).toHaveLength(3);
  });

  it('whose issuer never answers holds no request after the time to connect', async () => {
    const closed = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const { url } = await startHostile((_message, { url: path }) =>
      path === '/mcp'
        ? (response) => response.writeHead(401).end()
        : (response) => {
            response.on('close', () => closed.resolve());
            begun.resolve();
          },
    );
    const { origin } = new URL(url);
    const { run, clock } = toolsOf(url, {
      oauth: { issuer: origin, client_id: 'parley', client_secret: 'hush', scope: '' },
    });
    const failed = expect(run()).rejects.toThrow('cannot be reached at the moment');
    await begun.promise;
    await clock.advance(LIMITS.serverConnectMs);
    await failed;
    await closed.promise;
  });
});
