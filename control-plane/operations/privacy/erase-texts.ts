/** Erases what a person has written: text sessions. */
import type { Context } from '../../platform/context.ts';
import { inBatches } from '../../platform/store/in-batches.ts';

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
  { endUserId }: { readonly endUserId: string | undefined },
): Promise<ErasedTexts> {
  if (endUserId === undefined) return { text_sessions: 0, attachments: 0, deliveries: 0 };
  const theirs = { team_id: teamId, end_user_id: endUserId };
  const found = await models.textSessions.find(theirs, { _id: 1 }).lean<{ _id: string }[]>();
  const ids = found.map(({ _id }) => _id);
  const forgotten = { wrapped_key: null, metadata: '{}', 'analysis.result': null };
  await inBatches(clock, ids, (some) =>
    models.textSessions.updateMany({ _id: { $in: some } }, { $set: forgotten }),
  );
  const ofSessions = { session_id: { $in: ids } };
  await models.textTurns.updateMany(ofSessions, { $set: { message: null, items: null, reply: null } });
  const attachments = await models.sessionAttachments.deleteMany(ofSessions);
  const deliveries = await models.deliveries.deleteMany(ofSessions);
  await models.textSessions.updateMany({ _id: { $in: ids } }, { $set: { end_user_id: null } });
  return {
    text_sessions: ids.length,
    attachments: attachments.deletedCount,
    deliveries: deliveries.deletedCount,
  };
}
