/**
 * Erases one person, identified by a team's own id or a phone number. Destroys the keys of all their sessions
 * first, then deletes what was encrypted with them, and the link to the person last, so that an interrupted
 * erasure can be repeated. A running call continues and leaves nothing behind.
 */
import { addFields } from '#base/add-fields.ts';
import { isE164 } from '#telephony/e164.ts';
import { flightLogPrefix, recordingPrefix } from '../../calls/recordings/recording-store.ts';
import { forgetCalls } from '../../jobs/rehearsals/forget-calls.ts';
import type { Context } from '../../platform/context.ts';
import { inBatches } from '../../platform/store/in-batches.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import {
  archivedMonths,
  type SessionCollection,
  updateEverywhere,
} from '../../platform/store/session-archive.ts';
import { OUTBOX_DONE } from '../../platform/store/session-due.ts';
import { eraseTexts } from './erase-texts.ts';
import { settleAll } from './settle-all.ts';

/** How many records an erasure deleted, by kind. */
export interface ErasureCounts {
  readonly sessions: number;
  readonly recording_segments: number;
  readonly flight_log_chunks: number;
  /** Plans and large timeline entries. */
  readonly attachments: number;
  readonly deliveries: number;
  /** Absent if there were none. */
  readonly text_sessions?: number;
}

type Parts = Pick<Context, 'models' | 'blobs' | 'held' | 'clock'>;

/** Sessions erased at once: a remote bucket answers late. */
const AT_ONCE = 10;

/** Counts of what belongs to sessions. */
type SessionCounts = Omit<ErasureCounts, 'text_sessions'>;

const NOTHING: SessionCounts = {
  sessions: 0,
  recording_segments: 0,
  flight_log_chunks: 0,
  attachments: 0,
  deliveries: 0,
};

/** Partial indexes on strings serve only queries that state the type. */
const TEXT = { $type: 'string' } as const;

/** Every personal field of a session, empty. */
const FORGOTTEN = {
  wrapped_key: null,
  timeline: [],
  chain: [],
  chain_head: null,
  tracks: [],
  dialog: null,
  person: null,
  sip_headers: null,
  'analysis.result': null,
  outbox: [],
  name: null,
  sip_call_id: null,
  metadata: '{}',
};

/** The person to erase; at least one field is set. */
export interface Person {
  readonly endUserId: string | undefined;
  /** E.164 */
  readonly phoneNumber: string | undefined;
}

/** Erases what a team stores about this person. Idempotent. */
export async function erasePerson(context: Parts, teamId: string, person: Person): Promise<ErasureCounts> {
  // The caller number belongs to the person in both directions, and is stored as the carrier sent it.
  const numbers = person.phoneNumber === undefined ? [] : formsOf(person.phoneNumber);
  const isTheirs = (field: 'caller_number' | 'to_number') => [
    ...(person.endUserId === undefined
      ? []
      : [{ team_id: teamId, end_user_id: { $eq: person.endUserId, ...TEXT } }]),
    ...(numbers.length === 0 ? [] : [{ team_id: teamId, [field]: { $in: numbers, ...TEXT } }]),
  ];
  const sessions = await sessionsOf(context, isTheirs('caller_number'));
  const called = sessions.flatMap(({ caller_number: number }) => spellingsOf(number ?? ''));
  await eraseRefusals(context, teamId, [...numbers, ...called]);
  const ids = sessions.map(({ _id }) => _id);
  await inBatches(context.clock, ids, (some) =>
    updateEverywhere(context, some, { $set: FORGOTTEN, ...OUTBOX_DONE }),
  );
  await forgetCalls(context, teamId, ids);
  let total = NOTHING;
  for (let first = 0; first < ids.length; first += AT_ONCE)
    total = addFields(total, await removeSessions(context, ids.slice(first, first + AT_ONCE)));
  await eraseRows(context, { $or: isTheirs('to_number') });
  const written = await eraseTexts(context, teamId, { endUserId: person.endUserId, numbers });
  if (written.text_sessions === 0) return total;
  const { attachments, deliveries, text_sessions } = written;
  return { ...addFields(total, { ...NOTHING, attachments, deliveries }), text_sessions };
}

/** The sessions that meet one of these conditions, one query for each: each has an index. */
async function sessionsOf(context: Parts, conditions: readonly object[]): Promise<Theirs[]> {
  const found = new Map<string, Theirs>();
  const findIn = async ({ collection }: { readonly collection: SessionCollection }) => {
    for (const condition of conditions)
      for (const session of (await collection
        .find(condition as never, { projection: { caller_number: 1 } })
        .toArray()) as unknown as Theirs[])
        found.set(session._id, session);
  };
  await findIn(context.models.sessions);
  for (const month of await archivedMonths(context)) await findIn(month);
  return [...found.values()];
}

type Theirs = Pick<SessionDocument, '_id' | 'caller_number'>;

/** A number as carriers write it: with its plus, without, and after the international prefix. */
function formsOf(phoneNumber: string): string[] {
  const digits = phoneNumber.slice(1);
  return [phoneNumber, digits, `00${digits}`];
}

/**
 * A carrier's caller id in all spellings that mean the same person; empty if it does not identify one person,
 * such as `anonymous`. Without the international prefix it may be a national number, which with a plus would
 * belong to another person.
 */
function spellingsOf(given: string): string[] {
  if (!/^\+?\d+$/.test(given) || !/[1-9]/.test(given)) return [];
  const number = given.replace(/^00/, '+');
  return isE164(number) ? [given, ...formsOf(number)] : [given];
}

/** Their refused calls. */
async function eraseRefusals({ models }: Parts, teamId: string, numbers: readonly string[]): Promise<void> {
  if (numbers.length > 0)
    await models.refusals.deleteMany({ team_id: teamId, numbers: { $in: [...new Set(numbers)] } });
}

/**
 * Rows of batches: a waiting one is no longer called. Entries of the do-not-call list stay, in the person's
 * interest.
 */
async function eraseRows({ models }: Parts, theirs: object): Promise<void> {
  await models.batchRows.updateMany({ ...theirs, state: 'waiting' }, { $set: { state: 'cancelled' } });
  await models.batchRows.updateMany(theirs, {
    $set: { to_number: '', to_extension: null, variables: '{}', metadata: '{}', end_user_id: null },
  });
}

/** Deletes what the keys of sessions could have opened, then their link to the person. */
async function removeSessions(
  { models, blobs, held }: Parts,
  ids: readonly string[],
): Promise<SessionCounts> {
  for (const id of ids) held.forget(id);
  const theirs = { session_id: { $in: ids } };
  const [segments = 0, chunks = 0, attachments = 0, deliveries = 0] = await settleAll([
    removeBlobs(blobs, ids.map(recordingPrefix)),
    removeBlobs(blobs, ids.map(flightLogPrefix)),
    models.sessionAttachments.deleteMany(theirs).then(({ deletedCount }) => deletedCount),
    models.deliveries.deleteMany(theirs).then(({ deletedCount }) => deletedCount),
  ]);
  await models.scoredCalls.deleteMany({ _id: { $in: [...ids] } });
  await updateEverywhere({ models }, ids, { $set: { end_user_id: null, caller_number: null } });
  return {
    sessions: ids.length,
    recording_segments: segments,
    flight_log_chunks: chunks,
    attachments,
    deliveries,
  };
}

async function removeBlobs(blobs: Context['blobs'], prefixes: readonly string[]): Promise<number> {
  const counts = await settleAll(prefixes.map((prefix) => blobs.deletePrefix(prefix)));
  return counts.reduce((total, count) => total + count, 0);
}
