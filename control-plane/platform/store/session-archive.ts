/**
 * Sessions that were archived, by the month of their creation. A session that is moved is first in both
 * places, and then in the archive alone: whatever reads sessions asks the sessions first and the archive
 * afterwards, and takes the first of two with the same id. A change of an archived session puts it back among
 * the sessions; its old copy stays in the archive, is hidden by it, and is replaced when it is moved again.
 */
import type { Collection } from 'mongoose';
import type { Clock } from '#base/clock.ts';
import { isDuplicateKey } from './duplicate-key.ts';
import { SESSION_INDEXES } from './models/session-indexes.ts';
import type { SessionDocument } from './models/session-model.ts';
import type { Models } from './models.ts';
import { readStored } from './read-stored.ts';
import { OUTBOX_DONE } from './session-due.ts';

const MONTH = /^\d{4}-\d{2}$/;
/** A replica may know the months as they were this long ago. */
const KNOWN_MS = 10_000;
/** The document that is no month. */
export const ARCHIVE_STATE = { _id: 'state' } as const;
/**
 * A month is announced for this long before the first session is moved to it, and a time before sessions that
 * were created until then are moved, so that all replicas know both.
 */
export const ANNOUNCED_MS = 60_000;

type Parts = { readonly models: Pick<Models, 'sessions' | 'sessionArchives'> };
/** Fields of a session, or all of them. */
type Fields = Readonly<Record<string, 0 | 1>>;

/** Sessions as the driver has them: nothing is cast. */
export type SessionCollection = Collection;

/** An archived month. */
export interface Month {
  readonly name: string;
  /** Its sessions were created from here on, and before `endMs`; ms since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly collection: SessionCollection;
}

/** The month of a session that was created at this time. */
export function monthOf(at: Date): string {
  return at.toISOString().slice(0, 7);
}

/** A month by its name. */
export function monthNamed({ models }: Parts, name: string): Month {
  const startMs = Date.parse(`${name}-01T00:00:00Z`);
  const start = new Date(startMs);
  const endMs = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1);
  return {
    name,
    startMs,
    endMs,
    collection: models.sessions.db.collection(`sessions_${name.replace('-', '_')}`),
  };
}

/** The archived months, the newest first. Ask for them after asking the sessions. */
export async function archivedMonths(parts: Parts): Promise<Month[]> {
  const known = await parts.models.sessionArchives.collection
    .find({ since: { $ne: null } } as never, { projection: { _id: 1 } })
    .toArray();
  return known
    .map(({ _id }) => String(_id))
    .filter((name) => MONTH.test(name))
    .sort()
    .reverse()
    .map((name) => monthNamed(parts, name));
}

/** The archive as lists need to know it. */
export interface KnownArchive {
  readonly months: Month[];
  /** No archived session was created at this time or later; ms since 1970. */
  readonly beforeMs: number;
}

const archives = new WeakMap<Models['sessionArchives'], KnownArchive & { readonly atMs: number }>();

/** The archive as of some seconds ago: for lists, which ask with every page. */
export async function knownArchive(
  parts: Parts & { readonly clock: Pick<Clock, 'now'> },
): Promise<KnownArchive> {
  const { sessionArchives } = parts.models;
  const atMs = parts.clock.now();
  const before = archives.get(sessionArchives);
  if (before && atMs - before.atMs < KNOWN_MS) return before;
  const months = await archivedMonths(parts);
  const state = months.length > 0 ? await sessionArchives.findById(ARCHIVE_STATE._id).lean() : null;
  const archive = { atMs, months, beforeMs: state?.before?.getTime() ?? Number.POSITIVE_INFINITY };
  archives.set(sessionArchives, archive);
  return archive;
}

/** Finds a session by its id and further conditions, archived or not. */
export async function findOneSession(
  parts: Parts,
  filter: { readonly _id: string } & Readonly<Record<string, unknown>>,
  fields: Fields = {},
): Promise<SessionDocument | null> {
  const stored = parts.models.sessions.collection;
  const found = await stored.findOne(filter as never, { projection: fields });
  if (found) return found as unknown as SessionDocument;
  for (const { collection } of await archivedMonths(parts)) {
    const archived = await collection.findOne(filter as never, { projection: fields });
    if (archived) return archived as unknown as SessionDocument;
  }
  return null;
}

/** Finds sessions by their ids, archived or not, in any order. */
export async function findSessions<Read extends { readonly _id: string }>(
  parts: Parts,
  ids: readonly string[],
  fields: Fields,
): Promise<Read[]> {
  if (ids.length === 0) return [];
  const wanted = { _id: { $in: ids } };
  const found = await readStored<SessionDocument, Read>(parts.models.sessions, wanted, {
    projection: fields,
  });
  const missing = new Set(ids);
  for (const { _id } of found) missing.delete(_id);
  if (missing.size === 0) return found;
  for (const { collection } of await archivedMonths(parts)) {
    const archived = await collection
      .find({ _id: { $in: [...missing] } } as never, { projection: fields })
      .toArray();
    found.push(...(archived as unknown as Read[]));
    for (const { _id } of archived as unknown as Read[]) missing.delete(_id);
    if (missing.size === 0) break;
  }
  return found;
}

/**
 * Changes sessions by their ids wherever they are, also where one hides the other; those that are put back
 * among the sessions meanwhile, too.
 */
export async function updateEverywhere(parts: Parts, ids: readonly string[], update: object): Promise<void> {
  const filter = { _id: { $in: ids } };
  await parts.models.sessions.updateMany(filter, update);
  const months = await archivedMonths(parts);
  for (const { collection } of months) await collection.updateMany(filter as never, update as never);
  if (months.length > 0) await parts.models.sessions.updateMany(filter, update);
}

/** Puts an archived session back among the sessions, for a change; does nothing if it is there. */
export async function restoreArchived(parts: Parts, id: string): Promise<void> {
  const { collection } = parts.models.sessions;
  if (await collection.findOne({ _id: id } as never, { projection: { _id: 1 } })) return;
  for (const month of await archivedMonths(parts)) {
    const archived = (await month.collection.findOne({ _id: id } as never)) as SessionDocument | null;
    if (!archived) continue;
    await collection.insertOne(archived as never).catch((error: unknown) => {
      if (!isDuplicateKey(error)) throw error;
    });
    // Contents that were erased in the archive since it was read must not be here.
    if (await month.collection.findOne(asCopied(archived) as never, { projection: { _id: 1 } })) return;
    const newer = (await month.collection.findOne({ _id: id } as never)) as SessionDocument | null;
    if (newer) await eraseAs(parts, newer);
    return;
  }
}

/** Erases of a session what an erasure or the retention has emptied in its archived copy. */
export async function eraseAs({ models }: Parts, copy: SessionDocument): Promise<void> {
  const { outbox: _, ...fields } = erasable(copy);
  // Unless it is erased the session may be newer: only what is empty is taken, and its events stay.
  const update =
    copy.wrapped_key === null
      ? { $set: erasable(copy), ...OUTBOX_DONE }
      : { $set: Object.fromEntries(Object.entries(fields).filter(([, value]) => isEmpty(value))) };
  await models.sessions.collection.updateOne({ _id: copy._id } as never, update as never);
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : (value ?? null) === null;
}

/**
 * Matches a finished session unless it has changed since it was read: a later report raises its number, work
 * makes it due, an erasure or the retention empties one of the fields.
 */
export function asCopied(session: SessionDocument): object {
  const { _id, epoch, last_seq, turns } = session;
  return {
    _id,
    epoch,
    last_seq,
    due: { $not: { $gt: 0 } },
    uncounted: { $ne: true },
    turns: lengthOf(turns),
    // An analysis that is repeated without a worker leaves the rest as it was.
    'analysis.at': session.analysis.at,
    ...Object.fromEntries(
      Object.entries(erasable(session)).map(([field, value]) => [field, conditionOf(value)]),
    ),
  };
}

/** The fields that erasures and the retention empty. */
function erasable(session: SessionDocument): Readonly<Record<string, unknown>> {
  return {
    wrapped_key: session.wrapped_key,
    timeline: session.timeline,
    ...(session.chain && { chain: session.chain }),
    chain_head: session.chain_head ?? null,
    tracks: session.tracks,
    dialog: session.dialog ?? null,
    person: session.person ?? null,
    sip_headers: session.sip_headers ?? null,
    'analysis.result': session.analysis.result ?? null,
    outbox: session.outbox,
    name: session.name,
    sip_call_id: session.sip_call_id,
    metadata: session.metadata,
    end_user_id: session.end_user_id,
    caller_number: session.caller_number,
  };
}

function conditionOf(value: unknown): unknown {
  if (Array.isArray(value)) return lengthOf(value);
  return (value ?? null) === null ? null : { $ne: null };
}

function lengthOf(list: readonly unknown[] | undefined): object {
  return list === undefined ? { $exists: false } : { $size: list.length };
}

/** Creates the indexes of a month: those of the sessions that find ended ones. */
export async function createMonthIndexes({ collection }: Month): Promise<void> {
  await collection.createIndexes(
    SESSION_INDEXES.filter(({ ofEnded = true }) => ofEnded).map(({ key, only }) => ({
      key,
      name: Object.entries(key).flat().join('_'),
      ...(only && { partialFilterExpression: only }),
    })) as never,
  );
}
