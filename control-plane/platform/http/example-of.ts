/**
 * Generates example answers from the response schemas, with the same value for each kind of field everywhere.
 */

/** The subset of JSON Schema that the route schemas use. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** Ids shared by request and response examples. */
export const EXAMPLE_IDS = {
  agent_id: 'a4c1f0d29b7e4f0c8d5a3b6e1f207c94',
  tool_id: '70d3b58c1e9a4c62b4f7d8a05e2c6b13',
  tool_server_id: '1c6e84f0a2d94b37850be9d17c3fa462',
  knowledge_source_id: 'c97e20b4d6f1483aa5b8e3f60d1c7294',
  phone_number_id: '5be0c4a7f39d4e1286d0b7c3a9f18e52',
  session_id: 'e8d2a6b05f7c41939c4be7d016f3a82b',
  test_id: '91fc7e3ab2d0458c9e64a1d5b08f2c37',
  user_id: '3d6b9f1e0c8a4275b1e4d7f92a50c863',
} as const;
const OTHER_ID = '0f4b8d2c6e1a4f73958dc0b7a2e6f914';
const TIMESTAMP = '2026-03-02T15:04:05.000Z';

/** Example values by field name, where the type alone is not specific enough. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  ...EXAMPLE_IDS,
  source_id: EXAMPLE_IDS.knowledge_source_id,
  _id: OTHER_ID,
  api_key: 'pk_0123456789abcdef0123456789abcdef0123456789abcdef',
  name: 'Front desk',
  agent_name: 'Front desk',
  description: 'Answers the phone of the restaurant',
  title: 'Warm alto',
  system_prompt: 'You take table reservations for Luigi’s.',
  first_message: 'Luigi’s, good evening!',
  url: 'https://crm.example.com/hooks/calls',
  phone_number: '+14155550123',
  caller_number: '+14155550123',
  dialed_number: '+15550100001',
  country_code: 'US',
  region: 'CA',
  locality: 'San Francisco',
  timezone: 'America/Los_Angeles',
  language: 'en',
  languages: 'en',
  speaking_language: 'en',
  config_hash: 'sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef',
  credit: '9.94',
  cumulative_top_up: '10.00',
  balance: '9.94',
  amount: '0.06',
  daily_price: '0.04',
  monthly_price: '1.20',
  token: 'st_9f1c7b52d60e4a83b7d8e0f3a6c25b14',
  webrtc_url: `https://voice.example.com/v1/agent/sessions/${EXAMPLE_IDS.session_id}/webrtc`,
  livekit_url: 'wss://livekit.example.com',
  sdp: 'v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n',
  text: 'A table for two at eight, please.',
  content: 'A table for two at eight, please.',
  summary: 'The caller reserved a table for two at eight.',
  file_name: 'menu.md',
  msg: 'Field required',
  message: 'Not found',
  loc: 'name',
  key: '1',
  event: 'call.ended',
  model: 's2.1-pro',
  version_title: 'Evening menu',
  next_cursor: 'WzE3NzI0NjM4NDUwMDAsImE0YzFmMGQyIl0',
};

/** Generates an example for a schema; `name` is the name of its field. Null where only null is valid. */
export function exampleOf(schema: JsonSchema, name = ''): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return exampleOf(branches.find((branch) => branch.type !== 'null') ?? {}, name);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => exampleOf(part, name)));
  switch (Array.isArray(schema.type) ? schema.type.find((type) => type !== 'null') : schema.type) {
    case 'object':
      return objectExample(schema);
    case 'array':
      return schema.items ? [exampleOf(schema.items, name)] : [];
    case 'string':
      return stringExample(schema, name);
    case 'integer':
    case 'number':
      return numberExample(schema);
    case 'boolean':
      return schema.default ?? false;
    case 'null':
      return null;
    default:
      return {};
  }
}

function objectExample(schema: JsonSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => [name, exampleOf(field, name)]),
  );
}

function numberExample({
  default: usual,
  minimum = 0,
  maximum = Number.POSITIVE_INFINITY,
  exclusiveMaximum,
}: JsonSchema): number {
  if (typeof usual === 'number') return usual;
  const least = Math.min(maximum, Math.max(minimum, 1));
  return exclusiveMaximum !== undefined && least >= exclusiveMaximum ? exclusiveMaximum / 2 : least;
}

function stringExample(schema: JsonSchema, name: string): string {
  if (schema.format === 'date-time') return TIMESTAMP;
  if (typeof schema.default === 'string') return schema.default;
  const named = BY_NAME[name];
  if (typeof named === 'string' && (schema.pattern === undefined || new RegExp(schema.pattern).test(named)))
    return named;
  if (name.endsWith('_id')) return OTHER_ID;
  if (name.endsWith('_at')) return TIMESTAMP;
  if (name.endsWith('_url')) return 'https://voice.example.com/';
  return schema.pattern === undefined ? 'text' : 'name';
}
