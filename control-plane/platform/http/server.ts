/**
 * The HTTP server without its routes: validation by the routes' zod schemas, authentication, error handler,
 * request ids, body rules and the API description. `register<Resource>Routes(app, context)` adds the routes
 * (routes.ts).
 */
import { randomBytes } from 'node:crypto';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify';
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../context.ts';
import { takeRequestPlaces } from '../limits/request-places.ts';
import { hasTakenTurn, takeTurn } from '../limits/request-turns.ts';
import type { RequestWait } from '../store/request-wait.ts';
import { createAuthentication } from './auth.ts';
import { type CompatAnswersOf, describeApi } from './describe-api.ts';
import { hasMoreValuesThan } from './json-values.ts';
import { refuseMalformed } from './malformed-http.ts';
import { refuseKey } from './once-per-key.ts';
import {
  InvalidRequest,
  invalidField,
  invalidFrom,
  sendBare,
  sendProblem,
  type ValidationEntry,
} from './problems.ts';
import { traceRequest } from './trace-request.ts';

declare module 'fastify' {
  interface FastifyRequest {
    databaseWait: RequestWait | null;
  }
}

/** Largest JSON body: session variables (1 MiB), with room for JSON escapes. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
/** Maximum number of values in a larger body; only audio legitimately makes a body that large. */
const LARGE_BODY_VALUES = 100_000;

/** A streamed answer has eleven: ours, Fastify's and Node's. Node warns of a leak above ten. */
const MOST_LISTENERS = 20;

/** Time limit for receiving a complete request. */
const REQUEST_TIMEOUT_MS = 120_000;

/** A Fastify application with handlers typed by their zod schemas. */
export type ApiServer = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** Options of the server. */
export interface ServerOptions {
  /** Describes the routes that follow other vendors' protocols. */
  readonly compatAnswersOf?: CompatAnswersOf;
  /** PEM certificate and key; enables HTTPS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Creates the server. Register the routes on it before listening. */
export async function createServer(context: Context, options: ServerOptions = {}): Promise<ApiServer> {
  const { TRUST_PROXY: proxies } = context.settings;
  const app = Fastify({
    ...(options.tls ? { https: options.tls } : {}),
    loggerInstance: context.logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: typeof proxies === 'number' ? (_address, hop) => hop < proxies : proxies,
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: () => randomBytes(8).toString('hex'),
    routerOptions: { maxParamLength: 256 },
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    // Idle connections must not delay shutdown; clients that wait for an answer still get it.
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Errors raised before routing, such as an address that cannot be decoded.
    frameworkErrors: sendProblem,
    clientErrorHandler: refuseMalformed(context.refusals),
  }).withTypeProvider<ZodTypeProvider>() as unknown as ApiServer;
  // A missing body reaches the compiler as null.
  app.setValidatorCompiler(({ schema, httpPart }) => (data: unknown) => {
    const parsed = (schema as unknown as z.ZodType).safeParse(
      httpPart === 'body' && data === null ? undefined : data,
    );
    if (parsed.success) return { value: parsed.data };
    return { error: invalidFrom(parsed.error, placeOf(httpPart), fieldsOf(schema)) };
  });
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler((error, request, reply) => {
    sendProblem(error instanceof Error ? error : new Error('thrown value', { cause: error }), request, reply);
  });
  app.setNotFoundHandler(() => {
    throw fault('not_found');
  });
  app.setSchemaErrorFormatter((errors) => (errors instanceof Error ? errors : new InvalidRequest([])));
  parseJsonBodies(app);
  addHooks(app, context);
  await describeApi(app, context, options.compatAnswersOf ?? (() => null));
  return app;
}

/** Takes the place of Fastify's own compilers, which it would load although ours replace them. */
function noCompiler(): never {
  throw new Error('a schema was compiled before the compilers were set');
}

function addHooks(app: ApiServer, context: Context): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('createdSession', null);
  app.decorateRequest('isRepetition', false);
  const authenticate = createAuthentication(context);
  // Repeated at each stage: reading a body takes time, in which other requests may have started.
  const noteActivity = (request: FastifyRequest) =>
    context.noteActivity(
      `${request.method} ${request.routeOptions.url ?? 'no route'} (request ${request.id})`,
    );
  // Entered again after the body, whose last bytes arrive outside the request.
  app.decorateRequest('databaseWait', null);
  app.addHook('onRequest', (request, reply, done) => {
    request.databaseWait = context.database.requestWait(() => reply.raw.headersSent || reply.raw.destroyed);
    request.databaseWait.run(done);
  });
  app.addHook('preValidation', (request, _reply, done) => request.databaseWait?.run(done));
  app.addHook('preParsing', async (request) => noteActivity(request));
  app.addHook('preValidation', async (request) => noteActivity(request));
  app.addHook('preHandler', async (request) => noteActivity(request));
  app.addHook('onRequest', async (request, reply) => {
    noteActivity(request);
    reply.raw.setMaxListeners(MOST_LISTENERS);
    reply.header('X-Request-Id', request.id);
    reply.header('X-Content-Type-Options', 'nosniff');
    if (request.routeOptions.config?.anyOrigin) allowAnyOrigin(reply);
    // An empty body counts as no body, whatever its Content-Type: curl and axios declare theirs a form.
    if (request.headers['content-length'] === '0') delete request.raw.headers['content-type'];
    const refused = await authenticate(request, reply);
    if (!refused) refuseKey(request);
    if (!refused) await takeRequestPlaces(context, request, reply);
    return refused;
  });
  app.addHook('preValidation', async (request, reply) => {
    const { schema, config } = request.routeOptions;
    if (schema?.body && !config.bodyOptional && request.body === undefined) {
      sendBare(reply, 415);
      return reply;
    }
    return undefined;
  });
  // Runs after the body has been read: bodies may arrive slowly, and forms are read by their own hook.
  const turn = async (request: FastifyRequest, reply: FastifyReply) => {
    const { takesTurn = () => true } = request.routeOptions.config;
    if (takesTurn(request)) await takeTurn(context, request, reply);
  };
  app.addHook('onRoute', (route) => {
    context.metrics.routes.add(route.url);
    route.preValidation = [route.preValidation ?? [], turn].flat();
  });
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode < 400 || reply.statusCode >= 500 || hasTakenTurn(request)) return;
    const { refusals } = context;
    const maySend = request.caller ? refusals.take(request.caller.userId) : refusals.takeFor(request.ip);
    if ((await maySend) === false) request.raw.destroy();
  });
  app.addHook('onResponse', async (request, reply) => {
    // Uses the route pattern, not the address, which may contain numbers or tokens.
    const route = request.routeOptions.url ?? 'none';
    const status = `${Math.floor(reply.statusCode / 100)}xx`;
    context.metrics.requests.observe({ method: request.method, route, status }, reply.elapsedTime / 1000);
    traceRequest(context, request, reply);
    request.log.debug(
      { method: request.method, route, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request',
    );
  });
}

/** CORS headers that let any page read the answer, without credentials. */
function allowAnyOrigin(reply: { header(name: string, value: string): unknown }): void {
  reply.header('Access-Control-Allow-Origin', '*');
  reply.header('Access-Control-Expose-Headers', 'X-Request-Id');
}

/** Answers the CORS preflight of a route with `config.anyOrigin`; requires no key. */
export function answerPreflight(app: ApiServer, url: string, methods: string): void {
  app.options(
    url,
    { config: { access: 'none', anyOrigin: true }, schema: { hide: true } },
    (_request, reply) => {
      reply
        .header('Access-Control-Allow-Methods', methods)
        .header('Access-Control-Allow-Headers', 'Authorization, Content-Type')
        .header('Access-Control-Max-Age', '600')
        .code(204)
        .send();
    },
  );
}

function parseJsonBodies(app: ApiServer): void {
  app.removeContentTypeParser(['application/json', 'text/plain']);
  const parse = app.getDefaultJsonParser('error', 'ignore');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    // An empty body counts as no body: a bare 415 if one is required, otherwise ignored.
    if (body.length === 0) done(null, undefined);
    else if (body.length > BODY_LIMIT_BYTES && hasMoreValuesThan(String(body), LARGE_BODY_VALUES))
      done(new SyntaxError('too many values'));
    else
      void parse(request, String(body), (error, value) =>
        done(error ? refusalOf(String(body)) : null, value),
      );
  });
}

/** Why a text was refused: it is not JSON, or it has a key that would set an object's prototype. */
function refusalOf(text: string): Error {
  try {
    JSON.parse(text);
    return invalidField([], 'no key may be called __proto__');
  } catch {
    return new SyntaxError('malformed JSON');
  }
}

/** The fields that an object schema knows. */
function fieldsOf(schema: unknown): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function placeOf(httpPart: string | undefined): ValidationEntry['in'] {
  if (httpPart === 'querystring') return 'query';
  if (httpPart === 'params') return 'path';
  return httpPart === 'headers' ? 'header' : 'body';
}
