/** From an accepted message to its answer. */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { outsideRequest } from '../../platform/store/request-wait.ts';
import { type TextAnswer, toTextAnswer } from './text-session-record.ts';
import { startTurn } from './text-turn-runner.ts';

/** Starts a turn without waiting for a worker; if that fails, the background loop starts it. */
export function beginTurn(context: Context, turn: Pick<TextTurnDocument, '_id' | 'status'>): void {
  if (turn.status !== 'queued') return;
  outsideRequest(() => startTurn(context, turn._id)).catch((error: unknown) =>
    context.logger.error({ err: error, turnId: turn._id }, 'failed to start a text turn'),
  );
}

/** The answer of a turn that is over, with the session as it is now. Throws `text_turn_failed`. */
export async function answerOf(
  context: Context,
  { _id }: Pick<TextSessionDocument, '_id'>,
  turn: TextTurnDocument,
): Promise<TextAnswer> {
  if (turn.status === 'failed') throw fault('text_turn_failed', { detail: turn.error ?? 'unknown' });
  const session = await context.models.textSessions.findById(_id).lean<TextSessionDocument>();
  if (!session) throw fault('not_found');
  return toTextAnswer(context, session, turn);
}
