/** An answer as Server-Sent Events: `delta` and `tool` while the agent writes, then `done` or `error`. */
import type { FastifyReply } from 'fastify';
import type { TextTurnEvent } from '#protocol/text-turn.ts';
import type { Context } from '../../platform/context.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { answerOf, beginTurn } from './answer-turn.ts';
import { awaitTurn } from './await-turn.ts';
import { problemOf, toClientEvent } from './client-event.ts';

/** A comment at this interval keeps proxies from closing a stream while a tool runs. */
const HEARTBEAT_MS = 15_000;
/** A client that has stopped reading can ask again with its key. */
const MAX_UNREAD_BYTES = 1_048_576;

/** Writes the answer of a turn; resolves when the stream has ended, and never rejects. */
export async function streamAnswer(
  context: Context,
  reply: FastifyReply,
  {
    session,
    turn,
    stopping,
  }: {
    readonly session: TextSessionDocument;
    readonly turn: TextTurnDocument;
    /** Aborts when this process ends. */
    readonly stopping: AbortSignal;
  },
): Promise<void> {
  const { raw: response } = reply;
  reply.hijack();
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const send = (text: string) => {
    if (gone.signal.aborted) return;
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else response.write(text);
  };
  const event = (name: string, data: unknown) => send(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
  });
  // Node would wait for the first event, which may be a minute away.
  response.flushHeaders();
  const heartbeat = context.clock.every(HEARTBEAT_MS, () => send(': here\n\n'));
  try {
    const over = awaitTurn(context, turn._id, {
      signal: AbortSignal.any([gone.signal, stopping]),
      onEvent: (told: TextTurnEvent) => {
        const { type, ...data } = toClientEvent(told);
        event(type, data);
      },
      onReady: () => beginTurn(context, turn),
    });
    event('done', await answerOf(context, session, await over));
  } catch (error) {
    if (!gone.signal.aborted) event('error', problemOf(context, error));
  } finally {
    heartbeat.cancel();
    response.end();
  }
}
