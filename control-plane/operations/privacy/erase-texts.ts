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
  const forgotten = { wrapped_key: null, metadata: '{}', 'analysis.result': null };
  await inBatches(clock, ids, (some) =>
    models.textSessions.updateMany({ _id: { $in: some } }, { $set: forgotten }),
  );
  const ofSessions = { session_id: { $in: ids } };
  await models.textTurns.updateMany(ofSessions, { $set: { message: null, items: null, reply: null } });
  const attachments = await models.sessionAttachments.deleteMany(ofSessions);
  const deliveries = await models.deliveries.deleteMany(ofSessions);
  await eraseMessages(models, teamId, numbers, ids);
  await models.textSessions.updateMany({ _id: { $in: ids } }, { $set: { end_user_id: null, sms: null } });
  return {
    text_sessions: ids.length,
    attachments: attachments.deletedCount,
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
