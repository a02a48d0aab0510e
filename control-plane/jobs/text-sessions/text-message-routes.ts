/**
 * `POST /v1/agent/text-sessions/{id}/messages`: one message and its answer, whole or as Server-Sent Events
 * while the agent writes.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { acceptMessage } from './accept-message.ts';
import { answerOf, beginTurn } from './answer-turn.ts';
import { awaitTurn } from './await-turn.ts';
import { textAnswer } from './text-session-record.ts';
import { messageBody, messageKey } from './text-session-request.ts';
import { findTextSession } from './text-session-store.ts';
import { streamAnswer } from './text-stream.ts';

const sessionPath = z.object({ text_session_id: z.string().max(64) });
const EVENT_STREAM = 'text/event-stream';

/** Registers the route. */
export function registerTextMessageRoutes(app: ApiServer, context: Context): void {
  const stopping = new AbortController();
  // A turn takes minutes, and goes on without this process.
  app.addHook('preClose', (done) => {
    stopping.abort(fault('draining'));
    done();
  });
  app.post(
    '/v1/agent/text-sessions/:text_session_id/messages',
    {
      schema: {
        tags: ['text sessions'],
        params: sessionPath,
        headers: z.looseObject({ 'idempotency-key': messageKey.optional() }),
        body: messageBody,
        response: { 200: textAnswer },
      },
    },
    async (request, reply) => {
      const { teamId } = callerOf(request);
      const isStreamed = request.body.stream || acceptsEvents(request);
      const session = await findTextSession(context, teamId, request.params.text_session_id);
      const turn = await acceptMessage(context, session, {
        content: request.body.content ?? null,
        key: request.headers['idempotency-key'] ?? null,
        isStreamed,
      });
      if (isStreamed) {
        await streamAnswer(context, reply, { session, turn, stopping: stopping.signal });
        return reply;
      }
      const over = await awaitTurn(context, turn._id, {
        signal: AbortSignal.any([clientSignal(reply), stopping.signal]),
        onReady: () => beginTurn(context, turn),
      });
      return answerOf(context, session, over);
    },
  );
}

function acceptsEvents({ headers }: FastifyRequest): boolean {
  return headers.accept?.split(',').some((type) => type.trim().startsWith(EVENT_STREAM)) ?? false;
}

/** Aborts when the client is gone; the turn goes on, and its key finds the answer. */
function clientSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const abort = () => gone.abort(fault('bad_request', { detail: 'the client disconnected' }));
  raw.once('close', abort);
  if (raw.destroyed) abort();
  return gone.signal;
}
