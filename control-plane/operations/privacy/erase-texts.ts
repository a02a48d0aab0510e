/** Erases what a person has written: text sessions and text messages. */
import type { Context } from '../../platform/context.ts';
import { inBatches } from '../../platform/store/in-batches.ts';

/** The person: your id, and all spellings of their number. */
interface Writer {
  readonly endUserId: string | undefined;
  readonly numbers: readonly string[];
}

/** How many records were deleted. */
export interface ErasedTexts {
  readonly text_sessions: number;
  readonly attachments: number;
  readonly deliveries: number;
}

/** Fields of a text session whose contents are gone for good. */
export const KEYLESS = { wrapped_key: null, 'analysis.result': null } as const;

/** Removes the contents of text sessions; returns the number of deleted attachments. */
export async function emptyTextSessions(
  { textTurns, sessionAttachments }: Pick<Context['models'], 'textTurns' | 'sessionAttachments'>,
  ids: readonly string[],
): Promise<number> {
  const ofSessions = { session_id: { $in: [...ids] } };
  await textTurns.updateMany(ofSessions, { $set: { message: null, items: null, reply: null } });
  return (await sessionAttachments.deleteMany(ofSessions)).deletedCount;
}

/** First the keys, then what they opened, then the link to the person. Idempotent. */
export async function eraseTexts(
  { models, clock }: Pick<Context, 'models' | 'clock'>,
  teamId: string,
  { endUserId, numbers }: Writer,
): Promise<ErasedTexts> {
  const theirs = [
    ...(endUserId === undefined ? [] : [{ team_id: teamId, end_user_id: endUserId }]),
    ...(numbers.length === 0 ? [] : [{ team_id: teamId, 'sms.person': { $in: [...numbers] } }]),
  ];
  const found = await models.textSessions.find({ $or: theirs }, { _id: 1 }).lean<{ _id: string }[]>();
  const ids = found.map(({ _id }) => _id);
  const forgotten = { ...KEYLESS, metadata: '{}' };
  await inBatches(clock, ids, (some) =>
    models.textSessions.updateMany({ _id: { $in: some } }, { $set: forgotten }),
  );
  const attachments = await emptyTextSessions(models, ids);
  const deliveries = await models.deliveries.deleteMany({ session_id: { $in: ids } });
  await eraseMessages(models, teamId, numbers, ids);
  await models.textSessions.updateMany({ _id: { $in: ids } }, { $set: { end_user_id: null, sms: null } });
  return {
    text_sessions: ids.length,
    attachments,
    deliveries: deliveries.deletedCount,
  };
}

/** A wish for no more messages stays, in the person's interest. */
async function eraseMessages(
  models: Context['models'],
  teamId: string,
  numbers: readonly string[],
  sessionIds: readonly string[],
): Promise<void> {
  await models.smsMessages.deleteMany({ session_id: { $in: [...sessionIds] } });
  if (numbers.length === 0) return;
  const theirs = { team_id: teamId, person: { $in: [...numbers] } };
  await models.smsMessages.deleteMany(theirs);
  await models.smsThreads.deleteMany({ ...theirs, stopped_at: null });
  await models.smsThreads.updateMany(theirs, { $set: { session_id: null } });
}
