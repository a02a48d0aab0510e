/**
 * Erasing one person, known by the id a team gave them or by their phone number: the keys of all their
 * sessions are destroyed first, then what was sealed with them is removed, and the link to the person goes
 * last: an erasure that was cut short is completed by asking again. A call still running goes on and leaves
 * nothing behind.
 */
import { isE164 } from '#telephony/e164.ts';
import { flightLogPrefix, recordingPrefix } from '../../calls/recordings/recording-store.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** What an erasure removed. */
export interface ErasureCounts {
  readonly sessions: number;
  readonly recording_segments: number;
  readonly flight_log_chunks: number;
  /** Plans and large timeline entries. */
  readonly attachments: number;
  readonly deliveries: number;
}

type Parts = Pick<Context, 'models' | 'blobs'>;

const NOTHING: ErasureCounts = {
  sessions: 0,
  recording_segments: 0,
  flight_log_chunks: 0,
  attachments: 0,
  deliveries: 0,
};

/** Everything of a session that tells of a person, emptied. */
const FORGOTTEN = {
  wrapped_key: null,
  timeline: [],
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

/** Whom to erase; at least one of the two. */
export interface Person {
  readonly endUserId: string | undefined;
  /** E.164 */
  readonly phoneNumber: string | undefined;
}

/** Erases what a team has of this person; again, it finds nothing more. */
export async function erasePerson(context: Parts, teamId: string, person: Person): Promise<ErasureCounts> {
  // The caller's number is the person's, whoever dialled, and stands as the carrier gave it.
  const numbers = person.phoneNumber === undefined ? [] : formsOf(person.phoneNumber);
  const isTheirs = (field: 'caller_number' | 'to_number') => [
    ...(person.endUserId === undefined ? [] : [{ team_id: teamId, end_user_id: person.endUserId }]),
    ...(numbers.length === 0 ? [] : [{ team_id: teamId, [field]: { $in: numbers, $type: 'string' } }]),
  ];
  const theirs = { $or: isTheirs('caller_number') };
  const sessions = await context.models.sessions
    .find(theirs, { caller_number: 1 })
    .lean<Pick<SessionDocument, '_id' | 'caller_number'>[]>();
  const called = sessions.flatMap(({ caller_number: number }) => spellingsOf(number ?? ''));
  await eraseRefusals(context, teamId, [...numbers, ...called]);
  let total = NOTHING;
  for (const { _id } of sessions) total = sum(total, await eraseSession(context, _id));
  await eraseRows(context, { $or: isTheirs('to_number') });
  return total;
}

/** A number as carriers write it: with its plus, without, and behind the international prefix. */
function formsOf(phoneNumber: string): string[] {
  const digits = phoneNumber.slice(1);
  return [phoneNumber, digits, `00${digits}`];
}

/**
 * What a carrier gave as the caller, in all spellings that mean the same person; none when it is no number of
 * one person, such as `anonymous`. Without the international prefix it may be a national number, which with a
 * plus would be somebody else's.
 */
function spellingsOf(given: string): string[] {
  if (!/^\+?\d+$/.test(given) || !/[1-9]/.test(given)) return [];
  const number = given.replace(/^00/, '+');
  return isE164(number) ? [given, ...formsOf(number)] : [given];
}

/** Calls of theirs that were refused. */
async function eraseRefusals({ models }: Parts, teamId: string, numbers: readonly string[]): Promise<void> {
  if (numbers.length > 0)
    await models.refusals.deleteMany({ team_id: teamId, numbers: { $in: [...new Set(numbers)] } });
}

/**
 * Rows of batches: one that waits is not called any more. What says that somebody is not to be called stays:
 * it is theirs.
 */
async function eraseRows({ models }: Parts, theirs: object): Promise<void> {
  await models.batchRows.updateMany({ ...theirs, state: 'waiting' }, { $set: { state: 'cancelled' } });
  await models.batchRows.updateMany(theirs, {
    $set: { to_number: '', variables: '{}', metadata: '{}', end_user_id: null },
  });
}

async function eraseSession(context: Parts, id: string): Promise<ErasureCounts> {
  const { models, blobs } = context;
  await models.sessions.updateOne({ _id: id }, { $set: FORGOTTEN });
  const [segments, chunks, attachments, deliveries] = await Promise.all([
    removeBlobs(blobs, recordingPrefix(id)),
    removeBlobs(blobs, flightLogPrefix(id)),
    models.sessionAttachments.deleteMany({ session_id: id }),
    models.deliveries.deleteMany({ session_id: id }),
  ]);
  await models.sessions.updateOne({ _id: id }, { $set: { end_user_id: null, caller_number: null } });
  return {
    sessions: 1,
    recording_segments: segments,
    flight_log_chunks: chunks,
    attachments: attachments.deletedCount,
    deliveries: deliveries.deletedCount,
  };
}

async function removeBlobs(blobs: Context['blobs'], prefix: string): Promise<number> {
  const { length } = await blobs.list(prefix);
  await blobs.deletePrefix(prefix);
  return length;
}

function sum(a: ErasureCounts, b: ErasureCounts): ErasureCounts {
  return {
    sessions: a.sessions + b.sessions,
    recording_segments: a.recording_segments + b.recording_segments,
    flight_log_chunks: a.flight_log_chunks + b.flight_log_chunks,
    attachments: a.attachments + b.attachments,
    deliveries: a.deliveries + b.deliveries,
  };
}
