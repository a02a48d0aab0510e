/** The tools of the MCP server, made from the description of the API: one for each operation. */

import { outlineOf, type Schema } from './outline.ts';

/** The parts of an OpenAPI document that tools are made from. */
export interface ApiDescription {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses?: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema?: object }>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: object;
  readonly description?: string;
}

/** An operation of the API as a tool. */
export interface ApiTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [keyword: string]: unknown };
  /** Names of what a call may have. */
  readonly known: readonly string[];
  readonly annotations: { readonly readOnlyHint: true } | { readonly destructiveHint: boolean };
  /** The whole schema of the body; `inputSchema` may have only its outline. */
  readonly bodySchema: Schema;
  /** Sections of the API it belongs to. */
  readonly sections: readonly string[];
  readonly method: Method;
  /** With `{name}` for each path parameter. */
  readonly path: string;
  readonly query: readonly string[];
  /** Whether a repeated call with the same `idempotency_key` acts once. */
  readonly isIdempotent: boolean;
  readonly body: 'json' | 'form' | null;
  /** Whether a call needs `confirm: true`. */
  readonly isConfirmed: boolean;
  /** A field of the body that spends money; a call with it needs `confirm: true`. Null without one. */
  readonly spendsBy: string | null;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Sections of the API that an assistant needs to build and debug an agent. */
const TAGS: ReadonlySet<string> = new Set([
  'agents',
  'tools',
  'tests',
  'knowledge',
  'phone numbers',
  'sessions',
  'phone calls',
  'batch calls',
  'refusals',
  'privacy',
  'audit',
  'wallet',
]);
const FURTHER: ReadonlySet<string> = new Set(['GET /v1/account']);

/** Changes that reach no call, no other person and no other system; every other change is confirmed. */
const UNCONFIRMED: ReadonlySet<string> = new Set([
  'POST /v1/agent/agents',
  'PATCH /v1/agent/agents/{agent_id}/config',
  'POST /v1/agent/tools',
  'PATCH /v1/agent/tools/{tool_id}',
  'POST /v1/agent/tool-servers',
  'PATCH /v1/agent/tool-servers/{tool_server_id}',
  'POST /v1/agent/tests',
  'PATCH /v1/agent/tests/{test_id}',
  'PUT /v1/agent/agents/{agent_id}/tests/{test_id}',
  'POST /v1/agent/agents/{agent_id}/tests/run',
  'POST /v1/agent/knowledge-sources',
  'PATCH /v1/agent/knowledge-sources/{source_id}',
  'POST /v1/agent/sessions/{session_id}/replay',
  'POST /v1/agent/agents/{agent_id}/rehearsals',
  'POST /v1/agent/agents/{agent_id}/rehearsals/estimate',
]);

/** Fields with which a change that is not confirmed otherwise asks language models. */
const SPENDING: ReadonlyMap<string, string> = new Map([
  ['POST /v1/agent/agents/{agent_id}/rehearsals', 'judge'],
]);

const CONFIRM = {
  type: 'boolean',
  description: 'true once the person who gave you the task has agreed to exactly this call.',
};

const IDEMPOTENCY_KEY = {
  type: 'string',
  description: 'Any text of your own. A repeated call with the same text and body acts once within 24 hours.',
};

/** Address of the resource with the whole schema of a tool's body. */
export function schemaUri(tool: string): string {
  return `parley://schemas/${tool}`;
}

/** Makes the tools of a description, in its order. Throws if two would have one name. */
export function toolsOf({ paths = {} }: ApiDescription): ApiTool[] {
  const tools = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const tool = toolOf(method.toUpperCase() as Method, path, operation);
      return tool ? [tool] : [];
    }),
  );
  const twice = tools.find(({ name }, index) => tools.findIndex((other) => other.name === name) !== index);
  if (twice) throw new Error(`two operations would be the tool ${twice.name}`);
  return tools;
}

function toolOf(method: Method, path: string, operation: Operation): ApiTool | null {
  const { tags = [], summary = '', description = summary } = operation;
  const route = `${method} ${path}`;
  const isWanted = tags.some((tag) => TAGS.has(tag)) || FURTHER.has(route);
  // An offer of WebRTC is the browser's business.
  if (!isWanted || path.endsWith('/webrtc') || !answersJson(operation)) return null;
  const name = nameOf(summary);
  const body = bodyOf(operation);
  const parameters = (operation.parameters ?? []).filter((each) => each.in === 'path' || each.in === 'query');
  const isIdempotent = (operation.parameters ?? []).some(
    (each) => each.in === 'header' && each.name === 'idempotency-key',
  );
  const isConfirmed = method !== 'GET' && !UNCONFIRMED.has(route);
  const spendsBy = SPENDING.get(route) ?? null;
  const properties = {
    ...Object.fromEntries(parameters.map((each) => [each.name, described(each)])),
    ...(body && { body: outlineOf(body.schema, `Whole schema: ${schemaUri(name)}`) }),
    ...(isIdempotent && { idempotency_key: IDEMPOTENCY_KEY }),
    ...((isConfirmed || spendsBy !== null) && { confirm: CONFIRM }),
  };
  return {
    name,
    title: summary,
    description: [description.replace(/\.?$/, '.'), route, ...needOf(isConfirmed, spendsBy)].join('\n'),
    inputSchema: {
      type: 'object',
      properties,
      required: [
        ...parameters.filter((each) => each.required === true).map((each) => each.name),
        ...(body?.isRequired ? ['body'] : []),
      ],
      additionalProperties: false,
    },
    annotations: method === 'GET' ? { readOnlyHint: true } : { destructiveHint: isConfirmed },
    known: Object.keys(properties),
    bodySchema: body?.schema ?? {},
    sections: tags,
    method,
    path,
    query: parameters.filter((each) => each.in === 'query').map((each) => each.name),
    isIdempotent,
    body: body?.encoding ?? null,
    isConfirmed,
    spendsBy,
  };
}

function needOf(isConfirmed: boolean, spendsBy: string | null): string[] {
  if (isConfirmed) return ['Needs `confirm: true`.'];
  if (spendsBy === null) return [];
  return [`With \`${spendsBy}\` it costs up to its \`max_cost\` and needs \`confirm: true\`.`];
}

function bodyOf({ requestBody }: Operation): {
  readonly schema: Schema;
  readonly encoding: 'json' | 'form';
  readonly isRequired: boolean;
} | null {
  const { content = {}, required: isRequired = false } = requestBody ?? {};
  const json = content['application/json'];
  const form = content['multipart/form-data'];
  const schema = ((json ?? form)?.schema ?? {}) as Schema;
  return json || form ? { schema, encoding: json ? 'json' : 'form', isRequired } : null;
}

/** `Get an agent's draft configuration` is `get_agent_draft_configuration`. */
function nameOf(summary: string): string {
  return summary
    .toLowerCase()
    .replaceAll(/['’]s?\b/g, '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !['a', 'an', 'the'].includes(word))
    .join('_')
    .slice(0, 64);
}

function described({ schema = {}, description }: Parameter): object {
  return description === undefined ? schema : { ...schema, description };
}

/** False for audio, event streams and pages of lines. */
function answersJson({ responses = {} }: Operation): boolean {
  const types = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content = {} }]) => Object.keys(content));
  return types.length === 0 || types.includes('application/json');
}
