/** The timeline of a text session: the items of its turns, read from their own documents. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { type SessionItem, sessionItem } from '#protocol/session-record.ts';
import type { Context } from '../../platform/context.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { openJson, openText, sessionSealer } from './sealed-texts.ts';

type Parts = Pick<Context, 'models' | 'dataKeys'>;

const items = z.array(sessionItem);

/** Everything that was written and done so far, oldest first; empty once the session is erased. */
export async function readTextItems(context: Parts, session: TextSessionDocument): Promise<SessionItem[]> {
  const turns = await context.models.textTurns
    .find({ session_id: session._id })
    .sort({ number: 1 })
    .limit(LIMITS.textSessionTurns)
    .lean<TextTurnDocument[]>();
  const sealer = sessionSealer(context, session);
  return turns.flatMap((turn) => {
    const stored = openJson(sealer, turn.items, 'items', items);
    if (stored) return stored;
    const message = openText(sealer, turn.message, 'message');
    return message === null ? [] : [messageItem(turn, message)];
  });
}

/**
 * What the model is told about the turns before this one: the newest that fit. A turn without an answer is
 * left out, because its message is sent again.
 */
export async function readTold(
  context: Parts,
  session: TextSessionDocument,
  before: number,
): Promise<SessionItem[]> {
  const earlier = { session_id: session._id, number: { $lt: before }, status: 'answered' as const };
  const sizes = await context.models.textTurns
    .find(earlier, { number: 1, items_bytes: 1 })
    .sort({ number: -1 })
    .limit(LIMITS.textSessionTurns)
    .lean<Pick<TextTurnDocument, 'number' | 'items_bytes'>[]>();
  let bytes = 0;
  const tooOld = sizes.findIndex((turn) => {
    bytes += turn.items_bytes;
    return bytes > LIMITS.textHistoryBytes;
  });
  const first = (tooOld === -1 ? sizes : sizes.slice(0, tooOld)).at(-1)?.number ?? before;
  const turns = await context.models.textTurns
    .find({ ...earlier, number: { $gte: first, $lt: before } })
    .sort({ number: 1 })
    .lean<TextTurnDocument[]>();
  const sealer = sessionSealer(context, session);
  return turns.flatMap((turn) => openJson(sealer, turn.items, 'items', items) ?? []);
}

/** A person's message as an item. */
export function messageItem(
  { _id, number, created_at }: Pick<TextTurnDocument, '_id' | 'number' | 'created_at'>,
  content: string,
): SessionItem {
  return {
    type: 'message',
    role: 'user',
    content,
    turn_id: number,
    created_at: created_at.toISOString(),
    id: `${_id}:user`,
  };
}
