/** Answers requests to `/mcp` in both protocol eras, without sessions: any control plane takes the next. */
import {
  createMcpHandler,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { type ApiDescription, type ApiTool, toolsOf } from './api-tools.ts';
import type { AskApi } from './call-tool.ts';
import type { DocPage } from './doc-pages.ts';
import { createMcpServer } from './mcp-server.ts';

/** A request to `/mcp`. */
interface Asked {
  /** Without its body. */
  readonly request: Request;
  /** The parsed body; undefined without one. */
  readonly body: unknown;
  /** Host of the public address: pages from there and from this machine may ask, no others. */
  readonly host: string;
  readonly ask: AskApi;
}

/** Makes the function that answers requests. `version` is the program's, `description` the API's. */
export function createMcpAnswers({
  version,
  description,
  pages,
}: {
  readonly version: string;
  readonly description: object;
  readonly pages: ReadonlyMap<string, DocPage>;
}): (asked: Asked) => Promise<Response> {
  const tools = toolsOf(description as ApiDescription);
  return async ({ request, body, host, ask }) => {
    const refused = originValidationResponse(request, [host, ...localhostAllowedOrigins()]);
    if (refused) return refused;
    if (Array.isArray(body)) return refuse('send one request at a time: batches are not supported');
    const chosen = inSections(tools, request);
    if (chosen.length === 0) return refuse(`no such section; there are: ${sectionsOf(tools).join(', ')}`);
    const offer = { version, tools: chosen, pages };
    const handler = createMcpHandler(() => createMcpServer(offer, ask));
    return handler.fetch(request, body === undefined ? {} : { parsedBody: body });
  };
}

function sectionsOf(tools: readonly ApiTool[]): string[] {
  return [...new Set(tools.flatMap(({ sections }) => sections))];
}

/** An invalid request (JSON-RPC 2.0, section 5.1). */
function refuse(message: string): Response {
  const error = { code: -32_600, message };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 });
}

/** `?sections=agents,sessions` offers fewer tools, which leaves a model more room. */
function inSections(tools: readonly ApiTool[], { url }: Request): readonly ApiTool[] {
  const wanted = new URL(url).searchParams.get('sections')?.split(',');
  return wanted ? tools.filter(({ sections }) => sections.some((each) => wanted.includes(each))) : tools;
}
