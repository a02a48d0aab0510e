/**
 * The end of a turn: stored first, in one update, then settled: the charge, the session and those who wait.
 * Settling is repeated after a crash.
 */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { type SessionItem, sessionItem } from '#protocol/session-record.ts';
import type { TextTurnResult } from '#protocol/text-turn.ts';
import { openText } from '../../calls/sessions/sealed-contents.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import { messageItem } from '../../calls/texts/text-timeline.ts';
import { type Context, now } from '../../platform/context.ts';
import {
  OPEN_TURNS,
  type TextSessionDocument,
  type TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { queueSms } from './queue-sms.ts';
import { returnCharge } from './text-charge.ts';
import { endTextSession, idleFrom } from './text-session-store.ts';
import { publishTurnOver } from './text-turn-news.ts';

/** Largest record of one turn: beyond it, outputs of tools are cut. */
const MOST_BYTES = 1_048_576;
const CUT_CHARS = 2_000;

/**
 * Stores the result of an attempt and returns the turn; null if the turn is over, or runs in another attempt.
 */
export async function finishTurn(
  context: Context,
  attempt: Pick<TextTurnDocument, '_id' | 'epoch'>,
  result: TextTurnResult,
): Promise<TextTurnDocument | null> {
  const { textTurns, textSessions } = context.models;
  const turn = await textTurns.findById(attempt._id).lean<TextTurnDocument>();
  if (!turn || turn.epoch !== attempt.epoch) return null;
  const session = await textSessions.findById(turn.session_id).lean<TextSessionDocument>();
  const at = now(context);
  return textTurns
    .findOneAndUpdate(
      { _id: turn._id, epoch: attempt.epoch, status: { $in: [...OPEN_TURNS] } },
      {
        $set: {
          status: result.error === null ? 'answered' : 'failed',
          status_at: at,
          finished_at: at,
          instance_id: null,
          is_unsettled: true,
          ends_session: result.has_ended,
          error: result.error,
          usage: result.usage,
          ...sealedContents(context, session, turn, result),
        },
      },
      { returnDocument: 'after' },
    )
    .lean<TextTurnDocument>();
}

/** Applies a turn that is over to its charge and its session, and tells those who wait. Idempotent. */
export async function settleTurn(context: Context, turn: TextTurnDocument): Promise<void> {
  const { textSessions, textTurns } = context.models;
  if (turn.status === 'failed') await returnCharge(context, turn);
  await replyBySms(context, turn);
  const session = await textSessions
    .findOneAndUpdate(
      { _id: turn.session_id, status: 'active' },
      { $set: { last_at: turn.finished_at ?? now(context), idle_at: idleFrom(context) } },
      { returnDocument: 'after' },
    )
    .lean<TextSessionDocument>();
  if (turn.ends_session) await endTextSession(context, turn.session_id, 'agent');
  else if (session && session.turns >= LIMITS.textSessionTurns && turn.number >= session.turns)
    await endTextSession(context, turn.session_id, 'message_limit');
  const { modifiedCount } = await textTurns.updateOne(
    { _id: turn._id, is_unsettled: true },
    { $set: { is_unsettled: false } },
  );
  if (modifiedCount > 0) context.metrics.textTurns.inc({ outcome: turn.status });
  publishTurnOver(context, turn._id);
}

/** Sends the answer of a conversation by SMS, or the apology for none. */
async function replyBySms(context: Context, turn: TextTurnDocument): Promise<void> {
  const session = await context.models.textSessions.findById(turn.session_id).lean<TextSessionDocument>();
  const text = session?.sms && openText(sealerOf(context, session), turn.reply, 'reply');
  if (!session?.sms || !text || (await repeatsApology(context, session, turn))) return;
  const { number_id, person } = session.sms;
  const { team_id } = session;
  await queueSms(context, { id: turn._id, number_id, team_id, person, session_id: session._id, text });
}

/** True for an apology after an apology and before an answer: one is enough. */
async function repeatsApology(
  context: Context,
  session: TextSessionDocument,
  { session_id, number, status }: TextTurnDocument,
): Promise<boolean> {
  if (status !== 'failed') return false;
  const { textTurns } = context.models;
  const answered = await textTurns
    .findOne({ session_id, status: 'answered', number: { $lt: number } }, { number: 1 })
    .sort({ number: -1 })
    .lean<Pick<TextTurnDocument, 'number'>>();
  const since = { $lt: number, ...(answered && { $gt: answered.number }) };
  const failed = await textTurns
    .find({ session_id, status: 'failed', number: since }, { reply: 1 })
    .lean<Pick<TextTurnDocument, 'reply'>[]>();
  const sealer = sealerOf(context, session);
  // A message that was refused, as without credit, had none.
  return failed.some(({ reply }) => openText(sealer, reply, 'reply'));
}

/** Nothing is kept of a session that was erased meanwhile. */
function sealedContents(
  context: Context,
  session: TextSessionDocument | null,
  turn: TextTurnDocument,
  result: TextTurnResult,
): Partial<TextTurnDocument> {
  const sealer = session && sealerOf(context, session);
  if (!sealer) return { message: null };
  const message = openText(sealer, turn.message, 'message');
  const items = [...(message === null ? [] : [messageItem(turn, message)]), ...result.items];
  const content = withinLimit(items);
  return {
    items: sealer.seal(content, 'items'),
    items_bytes: Buffer.byteLength(content),
    reply: sealer.seal(result.reply, 'reply'),
  };
}

/** The items as JSON; of a turn with more, what tools got and answered is cut. */
function withinLimit(items: readonly SessionItem[]): string {
  const whole = JSON.stringify(items);
  if (Buffer.byteLength(whole) <= MOST_BYTES) return whole;
  const cut = items.map((item): SessionItem => {
    if (item.type === 'tool_call') return { ...item, input: item.input.slice(0, CUT_CHARS) };
    if (item.type !== 'tool_result') return item;
    return { ...item, output: item.output?.slice(0, CUT_CHARS) ?? null, output_truncated: true };
  });
  return JSON.stringify(z.array(sessionItem).parse(cut));
}
