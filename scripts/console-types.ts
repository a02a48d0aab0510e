/**
 * `npm run console:types`: generates the console's types of the API from the schemas its routes validate with
 * (`/openapi.json`), and the bounds of the conversation settings, so that nothing is written twice.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { agentConfig } from '#config/agent-config.ts';
import { openTestApi } from '#test/control-plane/test-api.ts';

/** The console's type names for the responses of routes. */
const ANSWERS = {
  Account: 'get /v1/account',
  Agent: 'get /v1/agent/agents/{agent_id}',
  AgentConfig: 'get /v1/agent/agents/{agent_id}/config',
  AgentLimits: 'get /v1/agent/agents/{agent_id}/limits',
  AgentSuggestion: 'post /v1/agent/agent-suggestions',
  AgentTest: 'get /v1/agent/tests/{test_id}',
  Analytics: 'get /v1/agent/analytics',
  AvailableNumbers: 'get /v1/agent/available-phone-numbers',
  BatchCall: 'get /v1/agent/batch-calls/{batch_call_id}',
  BatchCallList: 'get /v1/agent/batch-calls',
  BatchRowList: 'get /v1/agent/batch-calls/{batch_call_id}/rows',
  CreatedKey: 'post /v1/keys',
  Deliveries: 'get /v1/agent/deliveries',
  DoNotCallList: 'get /v1/agent/do-not-call',
  KeyList: 'get /v1/keys',
  KnowledgeList: 'get /v1/agent/knowledge-sources',
  Learning: 'get /v1/agent/agents/{agent_id}/learning',
  Ledger: 'get /wallet/{user_id}/ledger',
  Models: 'get /v1/agent/models',
  ParticipantGrant: 'post /v1/agent/sessions/{session_id}/participants',
  PhoneNumber: 'patch /v1/agent/phone-numbers/{phone_number_id}',
  PinnedToolServers: 'get /v1/agent/agents/{agent_id}/tool-servers',
  PreviewSession: 'post /v1/agent/agents/{agent_id}/preview-sessions',
  ReadToolServer: 'post /v1/agent/tool-servers/{tool_server_id}/refresh',
  Recording: 'get /v1/agent/sessions/{session_id}/recording',
  Refusals: 'get /v1/agent/refusals',
  Regret: 'get /v1/agent/agents/{agent_id}/regret',
  Rehearsal: 'get /v1/agent/agents/{agent_id}/rehearsals/{rehearsal_id}',
  RehearsalEstimate: 'post /v1/agent/agents/{agent_id}/rehearsals/estimate',
  ReplayedCall: 'post /v1/agent/sessions/{session_id}/replay',
  Scorecard: 'get /v1/agent/agents/{agent_id}/scorecard',
  ScorecardAlerts: 'get /v1/agent/agents/{agent_id}/scorecard/alerts',
  ScoredCalls: 'get /v1/agent/agents/{agent_id}/scorecard/calls',
  SessionDetail: 'get /v1/agent/sessions/{session_id}',
  SessionList: 'get /v1/agent/sessions',
  SipPhone: 'get /v1/agent/sip-phones/{sip_phone_id}',
  SipRegistration: 'get /v1/agent/sip-registrations/{sip_registration_id}',
  Share: 'get /v1/agent/agents/{agent_id}/share',
  SpeechModels: 'get /admin/speech-models',
  TestBatch: 'get /v1/agent/agents/{agent_id}/test-batches/{batch_id}',
  TestRun: 'get /v1/agent/test-runs/{run_id}',
  TestTools: 'get /v1/agent/agents/{agent_id}/test-tools',
  TextAnswer: 'post /v1/agent/text-sessions/{text_session_id}/messages',
  TextSession: 'post /v1/agent/text-sessions',
  TextSessionDetail: 'get /v1/agent/text-sessions/{text_session_id}',
  TextSessionList: 'get /v1/agent/text-sessions',
  Tool: 'get /v1/agent/tools/{tool_id}',
  ToolList: 'get /v1/agent/tools',
  ToolServer: 'get /v1/agent/tool-servers/{tool_server_id}',
  ToolServerList: 'get /v1/agent/tool-servers',
  TriedRequest: 'post /v1/agent/tools/{tool_id}/test',
  Tuning: 'get /v1/agent/agents/{agent_id}/tuning',
  Version: 'get /v1/agent/agents/{agent_id}/versions/{version_number}',
  VersionList: 'get /v1/agent/agents/{agent_id}/versions',
  Wallet: 'get /wallet/{user_id}/api-credit',
} as const;

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
}

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> }>
  >;
}

/** Path of the types. */
export const API_TYPES = join(import.meta.dirname, '../web/console/src/api/types.ts');

/** Returns the generated text. Throws if a route is not described in the API. */
export async function apiTypes(): Promise<string> {
  const api = await openTestApi();
  const { body } = await api.request('GET', '/openapi.json');
  await api.close();
  const types = Object.entries(ANSWERS).map(([name, route]) => {
    const [method = '', path = ''] = route.split(' ');
    const operation = body.paths[path]?.[method] as Operation | undefined;
    const success = Object.entries(operation?.responses ?? {}).find(([status]) =>
      status.startsWith('2'),
    )?.[1];
    const schema = success?.content?.['application/json']?.schema;
    if (!schema) throw new Error(`${route} is not described`);
    return (
      `/** Response of \`${method.toUpperCase()} ${path}\`. */\nexport type ${name} = ` +
      `${typeOf(schema)};\n`
    );
  });
  return (
    '/** Generated by `npm run console:types` from the schemas of the routes; do not edit. ' +
    `*/\n\n${types.join('\n')}\n${conversationBounds()}`
  );
}

/** Bounds of the conversation settings: `minimum` and `maximum` of a number, `maxItems` of a list. */
function conversationBounds(): string {
  const schema = z.toJSONSchema(agentConfig) as JsonSchema;
  const bounds = Object.entries(schema.properties?.['conversation']?.properties ?? {}).flatMap(
    ([name, { anyOf, ...own }]) => {
      const { type, minimum, maximum, maxItems } = anyOf?.[0] ?? own;
      if (type === 'integer') return [`  ${name}: { minimum: ${minimum}, maximum: ${maximum} },`];
      return type === 'array' ? [`  ${name}: { maxItems: ${maxItems} },`] : [];
    },
  );
  return (
    '/** Bounds of the conversation settings. */\nexport const CONVERSATION_BOUNDS = ' +
    `{\n${bounds.join('\n')}\n} as const;\n`
  );
}

/** A JSON schema as a TypeScript type. */
function typeOf(schema: JsonSchema, indent = ''): string {
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return union(options.map((option) => typeOf(option, indent)));
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, indent)).join(' & ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (Array.isArray(schema.type))
    return union(schema.type.map((type: string) => typeOf({ ...schema, type }, indent)));
  switch (schema.type) {
    case 'object':
      return objectType(schema, indent);
    case 'array': {
      const { items = {} } = schema;
      const item = typeOf(items, indent);
      return items.anyOf || items.oneOf || items.enum ? `(${item})[]` : `${item}[]`;
    }
    case 'integer':
      return 'number';
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return schema.type;
    default:
      return 'unknown';
  }
}

function objectType({ properties, required = [], additionalProperties }: JsonSchema, indent: string): string {
  if (!properties)
    return (
      'Record<string, ' +
      `${typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown'}>`
    );
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(
    ([name, field]) =>
      `${inner}${/^\w+$/.test(name) ? name : JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ` +
      `${typeOf(field, inner)};`,
  );
  return `{\n${fields.join('\n')}\n${indent}}`;
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

if (import.meta.main) writeFileSync(API_TYPES, await apiTypes());
