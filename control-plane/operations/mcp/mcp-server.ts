/**
 * The MCP server: what a coding assistant needs to build and debug agents. An instance serves one request of
 * one caller, in the protocol of 2026-07-28 or of 2025. https://modelcontextprotocol.io/specification
 */
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server';
import { AGENT_TEMPLATES, type AgentTemplate } from '#protocol/agent-templates.ts';
import { type ApiTool, schemaUri } from './api-tools.ts';
import { type AskApi, callTool } from './call-tool.ts';
import type { DocPage } from './doc-pages.ts';
import { PROMPTS } from './prompts.ts';

const INSTRUCTIONS = [
  'Parley runs voice agents. An agent has a draft, which these tools change, and published versions, which',
  'take calls. What reaches calls, people or other systems needs confirm: true: ask the person first.',
  'Start with parley://docs/concepts.md.',
].join(' ');

const DOCS = 'parley://';
const TEMPLATES = 'parley://templates/';
const TRANSCRIPT = /^parley:\/\/sessions\/([\w-]{1,64})\/transcript$/;

/** The tools and documentation pages of the server. */
export interface McpOffer {
  readonly version: string;
  readonly tools: readonly ApiTool[];
  readonly pages: ReadonlyMap<string, DocPage>;
}

/** Makes the server of one request; `ask` acts as its caller. */
export function createMcpServer({ version, tools, pages }: McpOffer, ask: AskApi): Server {
  const server = new Server(
    { name: 'parley', title: 'Parley', version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: tools.map(({ name, title, description, inputSchema, annotations }) => ({
      name,
      title,
      description,
      inputSchema,
      annotations,
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool ${params.name}`);
    return callTool(tool, params.arguments ?? {}, ask);
  });
  offerResources(server, { tools, pages }, ask);
  offerPrompts(server);
  return server;
}

function offerResources(
  server: Server,
  { tools, pages }: Pick<McpOffer, 'tools' | 'pages'>,
  ask: AskApi,
): void {
  server.setRequestHandler('resources/list', () => ({
    resources: [
      ...[...pages.values()].map(({ path, title }) => ({
        uri: `${DOCS}${path}`,
        name: path,
        title,
        mimeType: 'text/markdown',
      })),
      ...AGENT_TEMPLATES.map(({ id, title, description }) => ({
        uri: `${TEMPLATES}${id}`,
        name: `template ${id}`,
        title,
        description,
        mimeType: 'application/json',
      })),
    ],
  }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: 'parley://sessions/{session_id}/transcript',
        name: 'transcript',
        title: 'What was said in a call',
        mimeType: 'text/plain',
      },
      {
        uriTemplate: schemaUri('{tool}'),
        name: 'schema',
        title: 'Whole schema of the body of a tool',
        mimeType: 'application/schema+json',
      },
    ],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const page = uri.startsWith(DOCS) ? pages.get(uri.slice(DOCS.length)) : undefined;
    if (page) return { contents: [{ uri, mimeType: 'text/markdown', text: page.text }] };
    const template = AGENT_TEMPLATES.find(({ id }) => uri === `${TEMPLATES}${id}`);
    if (template) return { contents: [{ uri, mimeType: 'application/json', text: bodiesOf(template) }] };
    const tool = tools.find(({ name }) => uri === schemaUri(name));
    if (tool) {
      const text = JSON.stringify(tool.bodySchema);
      return { contents: [{ uri, mimeType: 'application/schema+json', text }] };
    }
    const sessionId = TRANSCRIPT.exec(uri)?.[1];
    if (sessionId === undefined) throw new ResourceNotFoundError(uri);
    const answer = await ask({ method: 'GET', url: `/v1/agent/sessions/${sessionId}`, headers: {} });
    if (answer.status !== 200) throw new ResourceNotFoundError(uri, answer.text);
    return { contents: [{ uri, mimeType: 'text/plain', text: transcriptOf(JSON.parse(answer.text)) }] };
  });
}

/** A template as the bodies of the calls that create its agent and its tests. */
function bodiesOf({ title, description, config, tests }: AgentTemplate): string {
  return JSON.stringify({ create_agent: { name: title, description, config }, create_agent_test: tests });
}

function offerPrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: PROMPTS.map(({ name, title, description, arguments: parameters }) => ({
      name,
      title,
      description,
      arguments: [...parameters],
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = PROMPTS.find(({ name }) => name === params.name);
    const values = params.arguments ?? {};
    const missing = prompt?.arguments.find(({ name }) => !values[name]);
    if (!prompt || missing)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        prompt ? `${prompt.name} needs ${missing?.name}` : `there is no prompt ${params.name}`,
      );
    const { description } = prompt;
    const text = prompt.text(values);
    return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
}

/** One line for each message of a session's timeline. */
function transcriptOf({ items = [] }: { readonly items?: readonly Record<string, unknown>[] }): string {
  return items
    .filter(({ role, content }) => role !== undefined && typeof content === 'string')
    .map(({ role, content }) => `${role}: ${content}`)
    .join('\n');
}
