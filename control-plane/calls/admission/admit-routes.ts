/**
 * Admission requests from signalling for a new INVITE (protocol/sip-admission.ts): `POST
 * /internal/sip/admit`, and the same request in drachtio-server's form.
 */
import type { IncomingMessage } from 'node:http';
import { fault } from '#config/errors.ts';
import { type AdmissionAnswer, admissionAnswer, admissionRequest } from '#protocol/sip-admission.ts';
import type { Context } from '../../platform/context.ts';
import { isBearer } from '../../platform/http/bearer.ts';
import { workersOnly } from '../../platform/http/internal-access.ts';
import { sendBare } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { admitCall } from './admit-call.ts';
import { bearerOfBasic, drachtioQuery, drachtioServer, readDrachtioQuestion } from './drachtio-question.ts';

/** Maximum size of a UDP datagram. */
const MAX_INVITE_BYTES = 65_535;

/** Registers the routes. */
export function registerAdmitRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/internal/sip/admit',
    {
      config: { access: 'none' },
      onRequest: workersOnly(context),
      schema: { hide: true, body: admissionRequest, response: { 200: admissionAnswer } },
    },
    async (request) => {
      const { answer } = await admitCall(context, request.body, isAwaited(request));
      return request.body.worker_tags === undefined ? withSingleHeaders(answer) : answer;
    },
  );
  app.register((scope, _options, done) => {
    registerDrachtioRoute(scope as unknown as ApiServer, context);
    done();
  });
}

/**
 * Registered in its own scope, because only this route accepts plain text. The path ends in a slash because
 * drachtio-server appends one to the configured address, before the query. The last part of that address may
 * name the server.
 */
function registerDrachtioRoute(app: ApiServer, context: Context): void {
  app.addContentTypeParser(
    'text/plain',
    { parseAs: 'string', bodyLimit: MAX_INVITE_BYTES },
    (_request, body, done) => done(null, body),
  );
  for (const path of ['/internal/sip/drachtio/', '/internal/sip/drachtio/:server/'])
    app.post(
      path,
      {
        config: { access: 'none', bodyOptional: true },
        onRequest: async (request, reply) => {
          if (isBearer(bearerOfBasic(request.headers.authorization), context.credentials.workerToken))
            return undefined;
          sendBare(reply, 401);
          return reply;
        },
        schema: {
          hide: true,
          querystring: drachtioQuery,
          params: drachtioServer,
          response: { 200: admissionAnswer },
        },
      },
      async (request) => {
        const question = readDrachtioQuestion(String(request.body ?? ''), request.query, request.params);
        if (!question) throw fault('malformed_json');
        return (await admitCall(context, question, isAwaited(request))).answer;
      },
    );
}

/**
 * Signalling of the last release, which does not name its workers, reads no list of values. It gets the
 * first, such as the algorithm of digest authentication that the operator prefers.
 */
function withSingleHeaders(answer: AdmissionAnswer): AdmissionAnswer {
  if (answer.action !== 'reject' || !answer.data.headers) return answer;
  const headers = Object.fromEntries(
    Object.entries(answer.data.headers).flatMap(([name, values]) =>
      [values]
        .flat()
        .slice(0, 1)
        .map((value) => [name, value] as const),
    ),
  );
  return { ...answer, data: { ...answer.data, headers } };
}

/** A client that no longer waits for the answer closes the connection. */
function isAwaited({ raw }: { readonly raw: IncomingMessage }): () => boolean {
  return () => !raw.socket.destroyed;
}
