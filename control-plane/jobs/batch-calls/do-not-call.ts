/** The numbers a team's batches do not call: put there by the team, or by whoever was called. */
import { fault } from '#config/errors.ts';
import { type Context, now } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { DoNotCallDocument } from '../../platform/store/models/batch-call-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** How a number comes onto the list. */
export type ListedBy = Pick<DoNotCallDocument, 'source' | 'note' | 'session_id'>;

/** Puts a number on the list, or leaves it as it stands there. */
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

/** Takes a number off the list. Throws `not_found`. */
export async function removeFromDoNotCall(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  phoneNumber: string,
): Promise<void> {
  const { deletedCount } = await models.doNotCall.deleteOne({ _id: idOf(teamId, phoneNumber) });
  if (deletedCount === 0) throw fault('not_found');
}

/** True for a number that a team does not call. */
export async function isDoNotCall(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  phoneNumber: string,
): Promise<boolean> {
  return (await models.doNotCall.exists({ _id: idOf(teamId, phoneNumber) })) !== null;
}

/** Whoever was called by this session wants no more calls. Can be repeated. */
export async function optOut(
  context: Pick<Context, 'models' | 'clock'>,
  session: Pick<SessionDocument, '_id' | 'team_id' | 'caller_number'>,
  by: 'voice' | 'key',
): Promise<void> {
  // Numbers of an outbound call are told from the person's side; an erased session has none any more.
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
