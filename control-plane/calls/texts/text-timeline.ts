/** The timeline of a text session: the items of its turns, read from their own documents. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { type SessionItem, sessionItem } from '#protocol/session-record.ts';
import type { Context } from '../../platform/context.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { openJson, openText } from '../sessions/sealed-contents.ts';
import { sealerOf } from '../sessions/session-store.ts';

type Parts = Pick<Context, 'models' | 'dataKeys'>;

const items = z.array(sessionItem);

/**
 * The items of the conversation so far, oldest first; the newest if it is very long, and none once the
 * session is erased.
 */
export async function readTextItems(context: Parts, session: TextSessionDocument): Promise<SessionItem[]> {
  const turns = await newestTurns(context, { session_id: session._id }, LIMITS.textTimelineBytes);
  const sealer = sealerOf(context, session);
  return turns.flatMap((turn) => {
    const stored = openJson(sealer, turn.items, 'items', items);
    if (stored) return stored;
    const message = openText(sealer, turn.message, 'message');
    return message === null ? [] : [messageItem(turn, message)];
  });
}

/**
 * The items that the model gets of the turns before this one: the newest that fit. A turn without an answer
 * is left out, because its message is sent again.
 */
export async function readTold(
  context: Parts,
  session: TextSessionDocument,
  before: number,
): Promise<SessionItem[]> {
  const earlier = { session_id: session._id, number: { $lt: before }, status: 'answered' as const };
  const turns = await newestTurns(context, earlier, LIMITS.textHistoryBytes);
  const sealer = sealerOf(context, session);
  return turns.flatMap((turn) => openJson(sealer, turn.items, 'items', items) ?? []);
}

/**
 * The newest turns whose items fit together, oldest first; at least the newest one. Their sizes are read
 * before they are.
 */
async function newestTurns(
  { models }: Parts,
  filter: Readonly<Record<string, unknown>>,
  mostBytes: number,
): Promise<TextTurnDocument[]> {
  const sizes = await models.textTurns
    .find(filter, { number: 1, items_bytes: 1 })
    .sort({ number: -1 })
    .limit(LIMITS.textSessionTurns)
    .lean<Pick<TextTurnDocument, '_id' | 'items_bytes'>[]>();
  let bytes = 0;
  const tooOld = sizes.findIndex((turn, index) => {
    bytes += turn.items_bytes;
    return index > 0 && bytes > mostBytes;
  });
  const ids = (tooOld === -1 ? sizes : sizes.slice(0, tooOld)).map(({ _id }) => _id);
  return models.textTurns
    .find({ _id: { $in: ids } })
    .sort({ number: 1 })
    .lean<TextTurnDocument[]>();
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
