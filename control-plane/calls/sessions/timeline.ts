/**
 * A session's timeline: the items its worker reported, sealed with the session's key, large ones kept beside
 * the session.
 */
import type { SessionItem } from '#protocol/session-record.ts';
import type { Context } from '../../platform/context.ts';
import type { Sealer } from '../../platform/secrets/secret-box.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { insertWhole } from '../../platform/store/insert-whole.ts';
import {
  type SessionAttachment,
  type SessionDocument,
  type TimelineEntry,
  toBuffer,
} from '../../platform/store/models/session-model.ts';
import { sealerOf } from './session-store.ts';

/**
 * Larger reports stand in a document of their own: a session's document stays small enough to be rewritten at
 * every turn.
 */
const INLINE_BYTES = 16 * 1024;

/** Where a timeline entry comes in when two have the same time. */
const TYPE_ORDER = {
  participant: 0,
  message: 1,
  knowledge_retrieval: 2,
  tool_call: 3,
  tool_result: 4,
  'llm.endpoint_error': 5,
} as const;

/** Seals a report's items; a large one is stored first, under an id that makes storing it again the same. */
export async function sealItems(
  context: Pick<Context, 'models'>,
  sealer: Sealer,
  of: { readonly sessionId: string; readonly epoch: number; readonly seq: number },
  items: readonly SessionItem[],
): Promise<TimelineEntry> {
  const sealed = sealer.seal(JSON.stringify(items), 'items');
  if (sealed.length <= INLINE_BYTES) return { sealed, document_id: null };
  const id = `${of.sessionId}:items:${of.epoch}:${of.seq}`;
  await attach(context, { _id: id, session_id: of.sessionId, sealed });
  return { sealed: null, document_id: id };
}

/** Reads a session's timeline in its order; empty once its key has been destroyed. */
export async function readTimeline(
  context: Pick<Context, 'models' | 'dataKeys'>,
  session: SessionDocument,
): Promise<SessionItem[]> {
  const sealer = sealerOf(context, session);
  if (!sealer) return [];
  const ids = session.timeline.flatMap((entry) => entry.document_id ?? []);
  const large =
    ids.length === 0
      ? []
      : await context.models.sessionAttachments.find({ _id: { $in: ids } }).lean<SessionAttachment[]>();
  const byId = new Map(large.map((document) => [document._id, document.sealed]));
  return session.timeline
    .flatMap((entry) => {
      const sealed = entry.sealed ?? byId.get(entry.document_id ?? '');
      return sealed
        ? (JSON.parse(sealer.open(toBuffer(sealed), 'items').toString('utf8')) as SessionItem[])
        : [];
    })
    .sort((a, b) => a.created_at.localeCompare(b.created_at) || TYPE_ORDER[a.type] - TYPE_ORDER[b.type]);
}

/** Stores something sealed beside its session; storing it again changes nothing. */
export async function attach(context: Pick<Context, 'models'>, attachment: SessionAttachment): Promise<void> {
  try {
    await insertWhole(context.models.sessionAttachments, attachment);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}
