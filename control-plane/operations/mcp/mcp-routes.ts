/** Routes of the MCP server, and of the documentation as text (llmstxt.org). */
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { programVersion } from '#base/program-version.ts';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { AskApi } from './call-tool.ts';
import { type DocPage, llmsText, readPages } from './doc-pages.ts';

const ROOT = join(import.meta.dirname, '../../..');
const OPEN = { config: { access: 'none' as const }, schema: { hide: true } };

/** Methods that send requests to the API, which take turns of their own. */
const ASKING: ReadonlySet<unknown> = new Set(['tools/call', 'resources/read']);

/** Registers `/mcp`, `/llms.txt` and the pages it links to. */
export function registerMcpRoutes(app: ApiServer, context: Pick<Context, 'publicAddress'>): void {
  let read: ReadonlyMap<string, DocPage> | null = null;
  // Half a megabyte that most processes never need.
  const pages = () => {
    read ??= readPages(ROOT);
    return read;
  };
  registerPages(app, context, pages);
  registerServer(app, context, pages);
}

function registerPages(
  app: ApiServer,
  { publicAddress }: Pick<Context, 'publicAddress'>,
  pages: () => ReadonlyMap<string, DocPage>,
): void {
  app.get('/llms.txt', OPEN, (_request, reply) => {
    const text = llmsText(pages(), `${publicAddress.url}/llms/`);
    if (text === null) throw fault('not_found');
    return reply.type('text/plain; charset=utf-8').send(text);
  });
  app.get('/llms/*', OPEN, (request, reply) => {
    const page = pages().get((request.params as Record<string, string>)['*'] ?? '');
    if (!page) throw fault('not_found');
    return reply.type('text/markdown; charset=utf-8').send(page.text);
  });
}

function registerServer(
  app: ApiServer,
  { publicAddress }: Pick<Context, 'publicAddress'>,
  pages: () => ReadonlyMap<string, DocPage>,
): void {
  // Loaded at the first request: the library takes 12 MB.
  const load = async () => {
    const { createMcpAnswers } = await import('./answer-mcp.ts');
    const description = await app.description();
    return createMcpAnswers({ version: programVersion(), description, pages: pages() });
  };
  let answers: ReturnType<typeof load> | null = null;
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    config: {
      bodyOptional: true,
      // The requests to the API are recorded.
      isAudited: false,
      takesTurn: ({ body }) => !ASKING.has((body as { readonly method?: unknown } | null)?.method),
    },
    schema: { hide: true },
    handler: async (request, reply) => {
      answers ??= load().catch((error: unknown) => {
        answers = null;
        throw error;
      });
      const { status, headers, body } = await (await answers)({
        request: toWebRequest(request, publicAddress.url),
        body: request.body,
        host: new URL(publicAddress.url).hostname,
        ask: askAs(app, request),
      });
      // Whether the connection stays open is Fastify's business.
      headers.delete('connection');
      return reply.code(status).headers(Object.fromEntries(headers)).send(body);
    },
  });
}

/** Sends requests to the API with the key, and from the address, of a request. */
function askAs(app: ApiServer, { headers: { authorization = '' }, ip }: FastifyRequest): AskApi {
  return async ({ method, url, headers, payload }) => {
    const answer = await app.inject({
      method,
      url,
      headers: { ...headers, authorization },
      remoteAddress: ip,
      ...(payload && { payload }),
    });
    const retryAfter = answer.headers['retry-after'];
    return {
      status: answer.statusCode,
      retryAfter: retryAfter === undefined ? null : String(retryAfter),
      text: answer.body,
    };
  };
}

/** The request without its body. Its own Host may be anything, so it is not in the address. */
function toWebRequest({ method, url, headers }: FastifyRequest, publicUrl: string): Request {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return new Request(`${new URL(publicUrl).origin}${url}`, { method, headers: given });
}
