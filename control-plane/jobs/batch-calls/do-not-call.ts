/** Numbers that a team's batches do not call: added by the team, or by the callee. */
import { fault } from '#config/errors.ts';
import { type Context, now } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { DoNotCallDocument } from '../../platform/store/models/batch-call-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** How a number got onto the list. */
export type ListedBy = Pick<DoNotCallDocument, 'source' | 'note' | 'session_id'>;

/** Adds a number; an existing entry stays unchanged. */
export async function addToDoNotCall(
  context: Pick<Context, 'models' | 'clock'>,
  entry: { readonly teamId: string; readonly phoneNumber: string } & ListedBy,
): Promise<DoNotCallDocument> {
  const { teamId, phoneNumber, source, note, session_id } = entry;
  const document: DoNotCallDocument = {
    _id: idOf(teamId, phoneNumber),
    team_id: teamId,
    phone_number: phoneNumber,
    source,
    note,
    session_id,
    created_at: now(context),
  };
  try {
    await context.models.doNotCall.create(document);
    return document;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return (await context.models.doNotCall.findById(document._id).lean<DoNotCallDocument>()) ?? document;
  }
}

/** Removes a number. Throws `not_found`. */
export async function removeFromDoNotCall(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  phoneNumber: string,
): Promise<void> {
  const { deletedCount } = await models.doNotCall.deleteOne({ _id: idOf(teamId, phoneNumber) });
  if (deletedCount === 0) throw fault('not_found');
}

/** Whether a number is on the team's do-not-call list. */
export async function isDoNotCall(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  phoneNumber: string,
): Promise<boolean> {
  return (await models.doNotCall.exists({ _id: idOf(teamId, phoneNumber) })) !== null;
}

/** Adds the callee of this session to the list. Idempotent. */
export async function optOut(
  context: Pick<Context, 'models' | 'clock'>,
  session: Pick<SessionDocument, '_id' | 'team_id' | 'caller_number'>,
  by: 'voice' | 'key',
): Promise<void> {
  // The callee's number of an outbound call; an erased session has none.
  if (session.caller_number === null) return;
  await addToDoNotCall(context, {
    teamId: session.team_id,
    phoneNumber: session.caller_number,
    source: by,
    note: '',
    session_id: session._id,
  });
  await context.models.batchRows.updateOne({ session_id: session._id }, { $set: { opted_out: true } });
}

function idOf(teamId: string, phoneNumber: string): string {
  return `${teamId}:${phoneNumber}`;
}
