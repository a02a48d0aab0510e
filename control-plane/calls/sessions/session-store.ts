/**
 * Applies changes of the session machine to stored sessions. One guarded update writes the new status, the
 * amount due and the events to send. The guard is status, its time, epoch and last_seq (for additions to a
 * call that is over, not its time); on a conflict the session is read again and the change recomputed.
 */

import { OTHER } from '#base/meters.ts';
import type { Sealer } from '#base/sealer.ts';
import type { WebhookAnalysis } from '#protocol/webhook-events.ts';
import type { Context } from '../../platform/context.ts';
import { updateTogether } from '../../platform/store/gathered-updates.ts';
import {
  type OutboxEvent,
  type SessionDocument,
  type SessionHead,
  toBuffer,
  WITHOUT_LISTS,
} from '../../platform/store/models/session-model.ts';
import { findOneSession, restoreArchived } from '../../platform/store/session-archive.ts';
import { dueUpdate } from '../../platform/store/session-due.ts';
import { hasEnded, isLive } from '../../platform/store/session-status.ts';
import { identityOf, payloadOf } from '../outbox/payload.ts';
import { measureQuality } from './measure-quality.ts';
import { publishSessionChange } from './publish-session-change.ts';
import { type SessionChange, type SessionEvent, step } from './session-machine.ts';
import { traceSession } from './trace-session.ts';

/** Data written together with a change: more fields, more list entries, or a report's sequence number. */
export interface Amendment {
  readonly set?: Partial<SessionDocument>;
  readonly push?: Readonly<Record<string, readonly unknown[]>>;
  readonly lastSeq?: number;
  /** The finished analysis for a `call.analyzed` event. */
  readonly analysis?: WebhookAnalysis;
}

/** Parts of the context needed to change a stored session. */
export type SessionParts = Pick<
  Context,
  'models' | 'clock' | 'coordination' | 'dataKeys' | 'metrics' | 'tracing' | 'reported'
>;

/** Reads a session without its growing lists, archived or not. */
export function loadSessionHead(
  context: Pick<Context, 'models'>,
  sessionId: string,
): Promise<SessionHead | null> {
  return findOneSession(context, { _id: sessionId }, WITHOUT_LISTS);
}

/** A session without its growing lists. */
export function headOf(session: SessionDocument): SessionHead {
  const {
    timeline: _,
    turns: _t,
    silences: _s,
    overlaps: _o,
    lines: _l,
    usage: _u,
    chain: _c,
    ...head
  } = session;
  return head;
}

/** Reads a stored session, archived or not. */
export function loadSession(
  context: Pick<Context, 'models'>,
  sessionId: string,
): Promise<SessionDocument | null> {
  return findOneSession(context, { _id: sessionId });
}

/**
 * Applies an event, retrying after conflicts; null when the session does not exist, the event changes nothing
 * or does not apply (any more).
 */
export async function changeSession(
  context: SessionParts,
  sessionId: string,
  event: SessionEvent,
  applies: (session: SessionDocument) => boolean = () => true,
): Promise<SessionDocument | null> {
  for (;;) {
    const session = await loadSession(context, sessionId);
    const change = session && applies(session) && step(session, event);
    if (!session || !change) return null;
    const changed = await storeChange(context, session, change);
    if (changed) return changed;
  }
}

/**
 * Like `changeSession`, but starts from a session just read or written: one database round trip unless there
 * is a conflict.
 */
export async function changeKnownSession(
  context: SessionParts,
  session: SessionHead,
  event: SessionEvent,
): Promise<SessionDocument | null> {
  const change = step(session, event);
  const changed = change && (await storeChange(context, session, change));
  return changed ?? changeSession(context, session._id, event);
}

/**
 * Like `changeKnownSession`, for the first change of a session inserted by this process. If the guard
 * matches, the stored state is known and is not read back.
 */
export async function changeNewSession(
  context: SessionParts,
  draft: SessionDocument,
  event: SessionEvent,
): Promise<SessionDocument | null> {
  const change = step(draft, event);
  if (change && change.events.length === 0) {
    const guarded = { _id: draft._id, ...guardOf(draft) };
    const { matchedCount } = await context.models.sessions.collection.updateOne(guarded as never, {
      $set: change.set,
      ...dueUpdate(draft, { ...draft, ...change.set }, false),
    });
    const stored = { ...draft, ...change.set };
    if (matchedCount === 1) {
      publishSessionChange(context, stored);
      return stored;
    }
  }
  return changeSession(context, draft._id, event);
}

/** Stores a change computed from `session`; null when the session has changed since it was read. */
export async function storeChange(
  context: SessionParts,
  session: SessionHead,
  change: SessionChange,
  amendment: Amendment = {},
): Promise<SessionDocument | null> {
  const set = { ...change.set, ...amendment.set, ...uncountedAfter(session, change.set, amendment) };
  const outbox = outboxEntries(context, { ...session, ...set }, change.events, amendment.analysis ?? null);
  const push = { ...amendment.push, ...(outbox.length > 0 ? { outbox } : {}) };
  const update = {
    ...(Object.keys(set).length > 0 || amendment.lastSeq !== undefined
      ? { $set: { ...set, ...(amendment.lastSeq === undefined ? {} : { last_seq: amendment.lastSeq }) } }
      : {}),
    ...(Object.keys(push).length > 0
      ? {
          $push: Object.fromEntries(
            Object.entries(push).map(([field, entries]) => [field, { $each: entries }]),
          ),
        }
      : {}),
    ...dueUpdate(session, { ...session, ...set }, outbox.length > 0),
  };
  const guarded = { _id: session._id, ...guardOf(session) };
  // Not by mongoose, which would copy and cast everything, on several changes of every call.
  const found = await context.models.sessions.collection.findOneAndUpdate(guarded as never, update as never, {
    returnDocument: 'after',
  });
  const stored = found as unknown as SessionDocument | null;
  if (!stored) return missed(context, session);
  publishSessionChange(context, stored);
  context.reported.refresh(headOf(stored));
  if (session.started_at === null && stored.started_at !== null) countJoin(context, stored);
  if (set.status === 'completed' || set.status === 'failed') {
    countEnd(context, stored);
    traceSession(context, stored);
  }
  return stored;
}

function countJoin(
  { metrics, tracing }: SessionParts,
  { _id, channel, created_at, started_at }: SessionDocument,
): void {
  metrics.callsJoined.inc({ channel });
  const setUpMs = (started_at ?? created_at).getTime() - created_at.getTime();
  metrics.setUps.observe({ channel }, Math.max(0, setUpMs) / 1000, tracing && _id);
}

function countEnd(
  { metrics, tracing }: SessionParts,
  { _id, channel, end_reason, started_at, ended_at, media_quality: quality }: SessionDocument,
): void {
  metrics.callsEnded.inc({ channel, reason: end_reason ?? OTHER });
  // Workers report it in mid-call too: the last report is of the whole call.
  if (quality) measureQuality(metrics, quality, tracing && _id);
  if (started_at === null || ended_at === null) return;
  metrics.durations.observe({ channel }, Math.max(0, ended_at.getTime() - started_at.getTime()) / 1000);
}

/**
 * Stores a report's additions that do not change the session's status. Returns the updated session, or null
 * when it has changed since it was read. If the guard matches, the stored state is known and is not read
 * back. Several arrive per turn of every call: they bypass Mongoose, and those of several calls are sent
 * together.
 */
export async function storeAddition(
  context: SessionParts,
  session: SessionHead,
  { set, push = {}, lastSeq }: Amendment & { readonly lastSeq: number },
): Promise<SessionHead | null> {
  const changed = { ...set, ...uncountedAfter(session, {}, { push }), last_seq: lastSeq };
  const lists = Object.entries(push).map(([field, entries]) => [field, { $each: entries }]);
  const update = { $set: changed, ...(lists.length > 0 ? { $push: Object.fromEntries(lists) } : {}) };
  const guarded = {
    _id: session._id,
    ...(isLive(session.status) ? guardOf(session) : guardOfEnded(session)),
  };
  const isStored = await updateTogether(context.models.sessions, {
    filter: guarded,
    update,
    mark: { epoch: session.epoch, last_seq: lastSeq },
  });
  if (!isStored) return missed(context, session);
  const stored = { ...session, ...changed };
  publishSessionChange(context, stored);
  return stored;
}

/** A session may have been archived: it can be changed again after this. */
async function missed(context: Pick<Context, 'models'>, { _id, status }: SessionHead): Promise<null> {
  if (hasEnded(status)) await restoreArchived(context, _id);
  return null;
}

/** The mark of a listed call that ends, or gets a turn afterwards: the sums of the statistics lack it. */
function uncountedAfter(
  session: SessionHead,
  set: Partial<SessionDocument>,
  { push }: Amendment,
): Partial<SessionDocument> {
  const { status, is_listed: isListed } = { ...session, ...set };
  const hasChanged = !hasEnded(session.status) || push?.['turns'] !== undefined;
  return isListed && hasEnded(status) && hasChanged ? { uncounted: true } : {};
}

/** The sealer for this session's data; null once its key has been destroyed. */
export function sealerOf(
  context: Pick<Context, 'dataKeys'>,
  session: Pick<SessionDocument, '_id' | 'wrapped_key'>,
): Sealer | null {
  return session.wrapped_key ? context.dataKeys.open(session._id, toBuffer(session.wrapped_key)) : null;
}

/** Sealing context that binds a payload to its event. */
export function payloadContext(outboxId: string): string {
  return `payload:${outboxId}`;
}

function guardOf(session: SessionHead): Record<string, unknown> {
  return {
    ...guardOfEnded(session),
    // It may have become `unknown` again since: its deadline then starts anew.
    status_at: session.status_at,
    'billing.state': session.billing.state,
    'analysis.state': session.analysis.state,
    // A worker that only seemed dead has withdrawn its death: it keeps the session.
    ...(session.died_epochs?.length ? { died_epochs: { $all: session.died_epochs } } : {}),
  };
}

/** Guard of additions to an ended call, which need not know its billing or its analysis. */
function guardOfEnded({ wrapped_key: key, status, epoch, last_seq }: SessionHead): Record<string, unknown> {
  return {
    // Do not store data sealed with a key that has been destroyed in the meantime.
    ...(key === null ? {} : { wrapped_key: { $ne: null } }),
    status,
    epoch,
    last_seq,
  };
}

function outboxEntries(
  context: SessionParts,
  session: SessionHead,
  events: readonly OutboxEvent['event'][],
  analysis: WebhookAnalysis | null,
): OutboxEvent[] {
  if (events.length === 0 || session.endpoints.length === 0) return [];
  const sealer = sealerOf(context, session);
  if (!sealer) return [];
  return events.map((event) => {
    const { id, rank } = identityOf(event, session);
    return {
      id,
      event,
      rank,
      at: new Date(context.clock.wallTime()),
      payload: sealer.seal(payloadOf(event, session, analysis), payloadContext(id)),
    };
  });
}
