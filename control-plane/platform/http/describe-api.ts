/**
 * API description generated from the validation schemas: `/openapi.json` (OpenAPI 3.1) and `/docs`. It is
 * made when it is first asked for, route by route: all at once it would keep calls waiting.
 */
import { setImmediate } from 'node:timers/promises';
import fastifySwagger, { type SwaggerTransform } from '@fastify/swagger';
import fastifySwaggerUi from '@fastify/swagger-ui';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteOptions,
} from 'fastify';
import { jsonSchemaTransform, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { describedWebhooks } from './describe-webhooks.ts';
import { exampleOf, type JsonSchema } from './example-of.ts';
import { errorBody, validationEntry } from './problems.ts';
import { addReferenceTexts } from './reference/reference-texts.ts';
import { REQUEST_EXAMPLES } from './request-examples.ts';

type Server = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

declare module 'fastify' {
  interface FastifyInstance {
    /** The API description, once all routes are registered. */
    description(): Promise<object>;
  }
}

const OPENAPI_VERSION = '3.1.0';

/** Error responses shared by every route, so routes do not declare them. */
const REFUSALS = {
  422: {
    description: 'Invalid fields',
    ...z.toJSONSchema(z.array(validationEntry)),
    examples: [[{ type: 'missing', loc: ['body', 'name'], msg: 'Field required', ctx: {}, in: 'body' }]],
  },
  default: {
    description: 'Any other error',
    ...z.toJSONSchema(errorBody),
    examples: [{ status: 404, message: 'Not found', reason: null }],
  },
};

/** A refusal that may have no body. */
const REFUSAL_401 = {
  description:
    'Missing or malformed Authorization: no body (null here). Invalid or expired key: the error body',
  anyOf: [z.toJSONSchema(errorBody), { type: 'null' }],
  examples: [{ status: 401, message: 'Invalid token', reason: null }],
};
/** A phone call may be refused because of its fields, or by a rule with its own reason. */
const REFUSAL_422_OF_CALLS = {
  description: 'Invalid fields: a list of them. A call that is not allowed: the error body with its reason',
  anyOf: [z.toJSONSchema(z.array(validationEntry)), z.toJSONSchema(errorBody)],
  examples: [
    { status: 422, message: 'Calls to this country are not enabled', reason: 'destination_not_allowed' },
  ],
};
const BARE_415 = {
  type: 'null',
  description: 'Missing body or wrong Content-Type; the answer has no body',
};

/** Non-JSON answers, which the route schemas do not describe. */
const BYTES = { type: 'string', format: 'binary' };
const TEXT = { type: 'string' };

/** Event streams and JSON lines are text. */
function schemaOf(type: string): typeof BYTES | typeof TEXT {
  return type === 'text/event-stream' || type === 'application/x-ndjson' || type === 'text/plain'
    ? TEXT
    : BYTES;
}

const OTHER_ANSWERS: Readonly<
  Record<
    string,
    { readonly description: string; readonly types: readonly string[]; readonly example: string }
  >
> = {
  'POST /v1/tts': {
    description: 'Audio',
    types: ['audio/mpeg', 'audio/wav', 'audio/ogg', 'application/octet-stream'],
    example: '(audio)',
  },
  'POST /v1/tts/stream/with-timestamp': {
    description: 'Server-sent events',
    types: ['text/event-stream'],
    example:
      'event: message\ndata: {"audio_base64":"…","content":"Your table","alignment":null,"chunk_seq":0,' +
      '"chunk_audio_offset_sec":0}\n\n',
  },
  'GET /v1/agent/events': {
    description: 'Server-sent events',
    types: ['text/event-stream'],
    example: 'event: session\ndata: {"session_id":"…","status":"active"}\n\n',
  },
  'GET /v1/agent/sessions/:session_id/flight-log': {
    description: 'One JSON value per line',
    types: ['application/x-ndjson'],
    example: '{"version":3}\n',
  },
  'POST /v1/agent/sessions/:session_id/call-file': {
    description: 'The file: one HTML page with everything inside',
    types: ['text/html'],
    example: '<!doctype html>…',
  },
  'GET /v1/agent/sessions/:session_id/recording/:file': {
    description: 'The track of one speaker',
    types: ['audio/wav'],
    example: '(audio)',
  },
  'GET /model/:id/samples/:index': {
    description: 'The sample as uploaded',
    types: ['application/octet-stream'],
    example: '(audio)',
  },
  'GET /model/:id/cover_image': {
    description: 'The image as uploaded',
    types: ['application/octet-stream'],
    example: '(image)',
  },
  'POST /admin/backup': {
    description: 'A tar of database, secrets and blobs',
    types: ['application/x-tar'],
    example: '(tar)',
  },
  'POST /admin/backup/session-keys': {
    description: 'One JSON value per line; the key of an erased session is null',
    types: ['application/x-ndjson'],
    example: '{"session_id":"…","wrapped_key":"…"}\n',
  },
};

/** Request and response examples of a route in another vendor's protocol. */
export interface CompatAnswers {
  readonly body?: object;
  readonly description: string;
  /** Content types of the answer; they share one example. */
  readonly types: readonly string[];
  readonly answer: unknown;
  readonly refusal: object;
}

/** Looks up a compatibility route by `METHOD /path`; null for one of our own routes. */
export type CompatAnswersOf = (name: string) => CompatAnswers | null;

/** Registers the API description; call it before registering the routes it describes. */
export async function describeApi(
  app: Server,
  context: Context,
  compatAnswersOf: CompatAnswersOf,
): Promise<void> {
  const described = new Map<RouteOptions, ReturnType<SwaggerTransform>>();
  const describe: SwaggerTransform = (document) => {
    const { schema, url } = jsonSchemaTransform(document as Parameters<typeof jsonSchemaTransform>[0]);
    if (schema?.['hide'] === true) return { schema, url };
    return { schema: describedRoute((schema ?? {}) as RouteSchema, document.route, compatAnswersOf), url };
  };
  await app.register(fastifySwagger, {
    openapi: {
      openapi: OPENAPI_VERSION,
      info: {
        title: 'Parley',
        description: 'Real-time voice agents: agents, sessions, phone calls, tools, numbers, wallet.',
        version: '1',
      },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
      security: [{ key: [] }],
    },
    transform: (document) => described.get(document.route) ?? describe(document),
    transformObject: (description) => {
      if (!('openapiObject' in description)) return description.swaggerObject;
      addReferenceTexts(description.openapiObject as Parameters<typeof addReferenceTexts>[0]);
      return description.openapiObject;
    },
  });
  describeWhenAsked(app, described, describe);
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs')) route.config = { ...route.config, access: 'none' };
  });
  // Swagger UI's top bar only selects between descriptions; there is just one.
  const theme = {
    title: 'Parley API',
    css: [{ filename: 'parley.css', content: '.swagger-ui .topbar { display: none; }' }],
  };
  await app.register(fastifySwaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    theme,
    // These routes take the description, and cannot wait for it.
    uiHooks: {
      preHandler: async ({ routeOptions }) => {
        if (/\/(?:json|yaml)$/.test(routeOptions.url ?? '')) await app.description();
      },
    },
  });
  let text: string | null = null;
  app.get(
    '/openapi.json',
    { config: { access: 'none' }, schema: { hide: true } },
    async (_request, reply) => {
      const description = await app.description();
      // A megabyte that never changes, so it is serialised once.
      text ??= JSON.stringify({
        ...description,
        webhooks: describedWebhooks(),
        servers: [{ url: context.publicAddress.url }],
      });
      return reply.type('application/json; charset=utf-8').send(text);
    },
  );
}

/**
 * Adds `app.description`, which fills `described` for the plugin, one route in each turn of the event loop.
 * The map keeps its entries: for YAML the plugin reads every route again.
 */
function describeWhenAsked(
  app: Server,
  described: Map<RouteOptions, ReturnType<SwaggerTransform>>,
  describe: SwaggerTransform,
): void {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    // Fastify adds one for each GET, which is not described.
    if (route.method !== 'HEAD') routes.push(route);
  });
  const openapiObject = { openapi: OPENAPI_VERSION };
  const describeAll = async () => {
    for (const route of routes) {
      const { schema = {}, url } = route;
      described.set(route, describe({ schema, url, route, openapiObject }));
      await setImmediate();
    }
    return app.swagger() as object;
  };
  let description: Promise<object> | null = null;
  app.decorate('description', () => {
    description ??= describeAll().catch((error: unknown) => {
      description = null;
      throw error;
    });
    return description;
  });
}

type RouteSchema = Record<string, unknown> & {
  readonly response?: Readonly<Record<string, JsonSchema>>;
  readonly body?: JsonSchema;
};

/**
 * Adds to a route's schemas: who may call it, an example of each body and answer, and the error responses.
 */
function describedRoute(
  schema: RouteSchema,
  route: Pick<RouteOptions, 'method' | 'url' | 'config'>,
  compatAnswersOf: CompatAnswersOf,
): Record<string, unknown> {
  const { access = 'key', bodyOptional } = route.config ?? {};
  const name = `${[route.method].flat()[0]} ${route.url}`;
  const compat = compatAnswersOf(name);
  if (compat) return describedCompat(schema, compat, { name, isOpen: access === 'none' });
  const other = OTHER_ANSWERS[name];
  const body = schema.body && withExample(schema.body, REQUEST_EXAMPLES[name] ?? {});
  const answers = Object.entries(schema.response ?? {}).map(([status, answer]) => [
    status,
    hasBody(answer) ? withExample(answer, exampleOf(answer)) : answer,
  ]);
  const content =
    other &&
    Object.fromEntries(other.types.map((type) => [type, { schema: schemaOf(type), example: other.example }]));
  return {
    ...schema,
    operationId: operationId(name),
    ...(body ? { body } : {}),
    ...(access === 'none' ? { security: [] } : access === 'optional' ? { security: [{ key: [] }, {}] } : {}),
    response: {
      ...Object.fromEntries(answers),
      ...(other ? { 200: { description: other.description, content } } : {}),
      ...(access === 'none' ? {} : { 401: REFUSAL_401 }),
      ...(body && !bodyOptional ? { 415: BARE_415 } : {}),
      ...REFUSALS,
      ...(name === 'POST /v1/agent/phone-calls' ? { 422: REFUSAL_422_OF_CALLS } : {}),
    },
  };
}

/** Describes a route in another vendor's protocol, with that vendor's answers and errors. */
function describedCompat(
  schema: RouteSchema,
  compat: CompatAnswers,
  { name, isOpen }: { name: string; isOpen: boolean },
): Record<string, unknown> {
  const content = compat.types.map((type) => [
    type,
    { schema: typeof compat.answer === 'string' ? schemaOf(type) : {}, example: compat.answer },
  ]);
  return {
    ...schema,
    operationId: operationId(name),
    ...(schema.body ? { body: withExample(schema.body, compat.body) } : {}),
    ...(isOpen ? { security: [] } : {}),
    response: {
      200: { description: compat.description, content: Object.fromEntries(content) },
      default: {
        description: 'An error in the vendor’s format',
        content: { 'application/json': { schema: {}, example: compat.refusal } },
      },
    },
  };
}

/**
 * Method name in generated clients: `GET /v1/agent/agents/:agent_id/config` becomes
 * `getAgentsByAgentIdConfig`.
 */
function operationId(name: string): string {
  const [method = '', path = ''] = name.split(' ');
  const words = path
    .replace(/^\/v1\/(agent\/)?/, '/')
    .replaceAll(':', 'by_')
    .split(/[/_.-]+/);
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function withExample(
  schema: JsonSchema,
  example: unknown,
): JsonSchema & { readonly examples: readonly unknown[] } {
  return { ...schema, examples: [example] };
}

/** An empty answer gets no example. */
function hasBody(schema: JsonSchema): boolean {
  return (
    schema.type !== undefined ||
    schema.anyOf !== undefined ||
    schema.oneOf !== undefined ||
    schema.allOf !== undefined
  );
}
