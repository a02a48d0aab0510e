/**
 * A session's timeline: the items reported by its worker, encrypted with the session's key. Large reports are
 * stored in separate documents.
 */
import type { Sealer } from '#base/sealer.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { Context } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { insertDocument } from '../../platform/store/insert-documents.ts';
import {
  type SessionAttachment,
  type SessionDocument,
  type TimelineEntry,
  toBuffer,
} from '../../platform/store/models/session-model.ts';
import { sealerOf } from './session-store.ts';

/**
 * Larger reports get their own document, so that the session document, rewritten at every turn, stays small.
 */
const INLINE_BYTES = 16 * 1024;

/** Order of timeline entries with the same time. */
const TYPE_ORDER = {
  participant: 0,
  message: 1,
  knowledge_retrieval: 2,
  tool_call: 3,
  tool_result: 4,
  'llm.endpoint_error': 5,
} as const;

/**
 * Encrypts a report's items. A large report is stored in its own document first, under a deterministic id
 * that makes a repetition harmless.
 */
export async function sealItems(
  context: Pick<Context, 'models'>,
  sealer: Sealer,
  report: { readonly sessionId: string; readonly epoch: number; readonly seq: number },
  items: readonly SessionItem[],
): Promise<TimelineEntry> {
  const { sessionId, epoch, seq } = report;
  const sealed = sealer.seal(JSON.stringify(items), 'items');
  if (sealed.length <= INLINE_BYTES) return { sealed, document_id: null, epoch, seq };
  const id = `${sessionId}:items:${epoch}:${seq}`;
  await attach(context, { _id: id, session_id: sessionId, sealed });
  return { sealed: null, document_id: id, epoch, seq };
}

/** An item, and its place in the reports of the session. */
export interface PlacedItem {
  readonly item: SessionItem;
  /** Of an entry of an earlier version: epoch 0, and its place in the timeline. */
  readonly epoch: number;
  readonly seq: number;
  /** Its place in the report. */
  readonly entry: number;
}

/** Reads a session's timeline in order; empty once its key has been destroyed. */
export async function readTimeline(
  context: Pick<Context, 'models' | 'dataKeys'>,
  session: SessionDocument,
): Promise<SessionItem[]> {
  return (await readPlacedTimeline(context, session)).map(({ item }) => item);
}

/** Like `readTimeline`, with the places of the items. */
export async function readPlacedTimeline(
  context: Pick<Context, 'models' | 'dataKeys'>,
  session: SessionDocument,
): Promise<PlacedItem[]> {
  const sealer = sealerOf(context, session);
  if (!sealer) return [];
  const ids = session.timeline.flatMap((entry) => entry.document_id ?? []);
  const large =
    ids.length === 0
      ? []
      : await context.models.sessionAttachments.find({ _id: { $in: ids } }).lean<SessionAttachment[]>();
  const byId = new Map(large.map((document) => [document._id, document.sealed]));
  return session.timeline
    .flatMap(({ sealed: inline, document_id: id, epoch = 0, seq }, index) => {
      const sealed = inline ?? byId.get(id ?? '');
      if (!sealed) return [];
      const items = JSON.parse(sealer.open(toBuffer(sealed), 'items').toString('utf8')) as SessionItem[];
      return items.map((item, entry) => ({ item, epoch, seq: seq ?? index, entry }));
    })
    .sort(
      ({ item: a }, { item: b }) =>
        a.created_at.localeCompare(b.created_at) || TYPE_ORDER[a.type] - TYPE_ORDER[b.type],
    );
}

/** Stores an encrypted attachment of a session. Idempotent. */
export async function attach(context: Pick<Context, 'models'>, attachment: SessionAttachment): Promise<void> {
  try {
    await insertDocument(context.models.sessionAttachments, attachment);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}
