/**
 * MCP servers on a real socket, made with the official libraries: one with the sessions of 2025, one without
 * sessions as of 2026-07-28. Their tools are the test's.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { Server as SessionServer } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, Server as StatelessServer } from '@modelcontextprotocol/server';
import { listenLocally } from './local-server.ts';

/** What a tool may use while it runs. */
export interface FakeToolCall {
  readonly input: Record<string, unknown>;
  /** Aborted when the client cancels. */
  readonly signal: AbortSignal;
  progress(done: number): Promise<void>;
}

/** A tool of the server. */
export interface FakeTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: { readonly type: 'object'; readonly [key: string]: unknown };
  run(call: FakeToolCall): Promise<string> | string;
}

/** A running server. */
export interface FakeMcpServer {
  readonly url: string;
  /** Headers of every request, in order. */
  readonly headers: readonly IncomingMessage['headers'][];
  /** JSON-RPC methods of the requests, in order. */
  readonly methods: readonly string[];
  tools: readonly FakeTool[];
  /** Status that refuses every request while it is set. */
  refusal: number | null;
  /** While it is set, requests need this token, which this issuer grants (RFC 9728). */
  oauth: { readonly token: string; readonly issuer: string } | null;
  /** Tells the connected clients that the list has changed. */
  tellListChanged(): void;
  /** Sessions that have not been ended. */
  readonly openSessions: number;
  /** Forgets every session, as a server does that was started again. */
  forgetSessions(): void;
  close(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
const listed = (tools: readonly FakeTool[]) => ({
  tools: tools.map(({ name, description, inputSchema = { type: 'object' as const } }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { ...inputSchema },
  })),
});

/** Starts a server of one era. */
export async function startMcpServer(
  era: 'sessions' | 'stateless',
  tools: readonly FakeTool[],
): Promise<FakeMcpServer> {
  const headers: IncomingMessage['headers'][] = [];
  const methods: string[] = [];
  const state = { tools, refusal: null as number | null, oauth: null as FakeMcpServer['oauth'] };
  const { answer, open, tellListChanged } = era === 'sessions' ? sessions(state) : stateless(state);
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      if (state.oauth && !isAuthorised(request, response, state.oauth)) return undefined;
      headers.push(request.headers);
      if (body !== undefined) methods.push((body as { method?: string }).method ?? 'response');
      if (state.refusal === null) return answer(request, response, body);
      response.writeHead(state.refusal).end();
      return undefined;
    });
  });
  const { port, close } = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    headers,
    methods,
    get tools() {
      return state.tools;
    },
    set tools(value) {
      state.tools = value;
    },
    get refusal() {
      return state.refusal;
    },
    set refusal(value) {
      state.refusal = value;
    },
    get oauth() {
      return state.oauth;
    },
    set oauth(value) {
      state.oauth = value;
    },
    tellListChanged,
    get openSessions() {
      return open.size;
    },
    forgetSessions: () => open.clear(),
    close,
  };
}

/** Answers a request without the token itself: with the metadata of the resource, or with 401. */
function isAuthorised(
  { url, headers }: IncomingMessage,
  response: ServerResponse,
  { token, issuer }: NonNullable<FakeMcpServer['oauth']>,
): boolean {
  if (headers.authorization === `Bearer ${token}`) return true;
  const base = `http://${headers.host}`;
  const metadata = '/.well-known/oauth-protected-resource';
  if (url?.startsWith(metadata)) {
    const resource = { resource: `${base}/mcp`, authorization_servers: [issuer] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(resource));
  } else
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${base}${metadata}"` }).end();
  return false;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  return body === '' ? undefined : JSON.parse(body);
}

function toolNamed(tools: readonly FakeTool[], name: string): FakeTool {
  const tool = tools.find((each) => each.name === name);
  if (!tool) throw new Error(`there is no tool ${name}`);
  return tool;
}

interface Era {
  readonly answer: Answer;
  /** Open sessions, by id. */
  readonly open: Map<string, unknown>;
  tellListChanged(): void;
}

function sessions(state: { readonly tools: readonly FakeTool[] }): Era {
  const open = new Map<string, { server: SessionServer; transport: StreamableHTTPServerTransport }>();
  const begin = async () => {
    const server = new SessionServer(
      { name: 'fake', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => listed(state.tools));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
      const token = extra._meta?.progressToken;
      const progress = async (done: number) => {
        if (token === undefined) return;
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken: token, progress: done },
        });
      };
      const tool = toolNamed(state.tools, params.name);
      return text(await tool.run({ input: params.arguments ?? {}, signal: extra.signal, progress }));
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void open.set(id, { server, transport }),
      onsessionclosed: (id) => void open.delete(id),
    });
    // Its own type lacks `undefined` where exact optional properties want it.
    await server.connect(transport as never);
    return transport;
  };
  return {
    open,
    answer: async (request, response, body) => {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? open.get(id) : undefined;
      if (id !== undefined && !known) response.writeHead(404).end();
      else await (known?.transport ?? (await begin())).handleRequest(request, response, body);
    },
    tellListChanged: () => {
      for (const { server } of open.values()) void server.sendToolListChanged();
    },
  };
}

function stateless(state: { readonly tools: readonly FakeTool[] }): Era {
  const handler = createMcpHandler(() => {
    const server = new StatelessServer(
      { name: 'fake', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler('tools/list', () => listed(state.tools));
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const token = mcpReq._meta?.progressToken;
      const progress = async (done: number) => {
        if (token === undefined) return;
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: token, progress: done },
        });
      };
      const tool = toolNamed(state.tools, params.name);
      return text(await tool.run({ input: params.arguments ?? {}, signal: mcpReq.signal, progress }));
    });
    return server;
  });
  return {
    open: new Map(),
    answer: async (request, response, body) => {
      const gone = new AbortController();
      response.on('close', () => gone.abort());
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
      const { method = 'GET' } = request;
      const asked = new Request(`http://127.0.0.1${request.url}`, {
        method,
        headers: headers as [string, string][],
        signal: gone.signal,
      });
      const answer = await handler.fetch(asked, body === undefined ? {} : { parsedBody: body });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.flushHeaders();
      if (answer.body)
        Readable.fromWeb(answer.body as never)
          .on('error', () => undefined)
          .pipe(response);
      else response.end();
    },
    tellListChanged: () => handler.notify.toolsChanged(),
  };
}
