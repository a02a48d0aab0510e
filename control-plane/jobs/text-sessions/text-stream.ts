/** An answer as Server-Sent Events: `delta` and `tool` while the agent writes, then `done` or `error`. */
import type { FastifyReply } from 'fastify';
import type { TextTurnEvent } from '#protocol/text-turn.ts';
import type { Context } from '../../platform/context.ts';
import {
  beginEventStream,
  eventText,
  HEARTBEAT,
  HEARTBEAT_MS,
  MAX_UNREAD_BYTES,
} from '../../platform/http/event-stream.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { answerOf, beginTurn } from './answer-turn.ts';
import { awaitTurn } from './await-turn.ts';
import { problemOf, toClientEvent } from './client-event.ts';

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
    // It can ask again with its key.
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else response.write(text);
  };
  const event = (name: string, data: unknown) => send(eventText(name, data));
  beginEventStream(response);
  const heartbeat = context.clock.every(HEARTBEAT_MS, () => send(HEARTBEAT));
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
