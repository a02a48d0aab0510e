/** A part of the API with another vendor's protocol: keys, errors and unknown paths follow that vendor. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Fault, fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { bearerToken, type Caller, callerOfKey } from '../../platform/http/auth.ts';
import { retryAfter } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { takeRequestPlaces } from '../../platform/limits/request-places.ts';
import { compatFault, generalError, voiceVendorError } from './compat-errors.ts';

/** How a vendor's clients send their key and expect errors. */
export interface CompatStyle {
  readonly keyHeader: string;
  keyOf(headers: IncomingHttpHeaders): string | null;
  errorBody(problem: Fault): unknown;
}

/** The general vendor's and the model router's. */
export const GENERAL_STYLE: CompatStyle = {
  keyHeader: 'Authorization: Bearer <key>',
  keyOf: ({ authorization }) => bearerToken(authorization),
  errorBody: generalError,
};

/** The voice vendor's; also accepts a bearer key. */
export const VOICE_VENDOR_STYLE: CompatStyle = {
  keyHeader: 'xi-api-key',
  keyOf: (headers) =>
    typeof headers['xi-api-key'] === 'string' ? headers['xi-api-key'] : bearerToken(headers.authorization),
  errorBody: voiceVendorError,
};

/** Registers routes below a path in this style. Their config is `OWN_KEY`, or `access: 'none'`. */
export async function registerCompatScope(
  app: ApiServer,
  context: Context,
  { prefix, style, routes }: { prefix: string; style: CompatStyle; routes: (scope: ApiServer) => void },
): Promise<void> {
  await app.register(
    (plain, _options, done) => {
      const scope = plain as unknown as ApiServer;
      scope.addHook('onRequest', async (request, reply) => {
        if (request.is404 || request.routeOptions.config.access === 'none') return;
        if (request.method === 'POST') reply.header('X-Generation-Id', request.id);
        request.caller = await requireCaller(context, style, style.keyOf(request.headers));
        await takeRequestPlaces(context, request, reply);
      });
      scope.setErrorHandler((error, request, reply) => {
        const problem = compatFault(error);
        if (problem.status === 500) request.log.error({ err: error }, 'request failed');
        if (problem.status === 401) reply.header('WWW-Authenticate', 'Bearer');
        return reply
          .code(problem.status)
          .headers(retryAfter(problem))
          .type('application/json')
          .send(style.errorBody(problem));
      });
      const unknown = () => {
        throw fault('not_found');
      };
      scope.setNotFoundHandler(unknown);
      // Without this handler, the console would answer a GET to an unknown path.
      scope.get('/*', { config: { access: 'none' }, schema: { hide: true } }, unknown);
      routes(scope);
      done();
    },
    { prefix },
  );
}

/** Options of every route with a key in such a scope. The schema refuses a missing body. */
export const OWN_KEY = { access: 'own', bodyOptional: true } as const;

/** Options of a route for synthesis or recognition. */
export const OWN_KEY_SPEECH = { ...OWN_KEY, isSpeech: true, isAudited: false } as const;

/** The account of a key. Throws `key_missing`, `invalid_token` or `token_expired`. */
export async function requireCaller(
  context: Context,
  style: CompatStyle,
  key: string | null,
): Promise<Caller> {
  if (key === null || key === '') throw fault('key_missing', { header: style.keyHeader });
  return callerOfKey(context, key);
}
