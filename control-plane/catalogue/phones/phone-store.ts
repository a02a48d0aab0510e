/**
 * Phones in the store: created, changed, deleted. Username and password are made here: a person would choose
 * ones that can be guessed.
 */
import { randomInt } from 'node:crypto';
import { fault } from '#config/errors.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import type { SipPhoneDocument } from '../../platform/store/models/sip-phone-model.ts';
import { digestSecrets } from '../numbers/sip-digest.ts';
import { checkExtension, explainTaken } from './extensions.ts';
import type { PhoneInput, PhonePatch } from './phone-record.ts';

/** Easy to type on the keys of a telephone or read aloud: no letters that look like digits. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
/** 31^10 are 2^49 usernames; 31^20 are 2^99 passwords. */
const USERNAME_CHARS = 10;
const PASSWORD_CHARS = 20;
const USERNAME = /^ph-[a-z2-9]{10}$/;

/** A phone with its password, which is stored nowhere. */
export interface NewPhone {
  readonly phone: SipPhoneDocument;
  readonly password: string;
}

/** Whether this can be the username of a phone, whether or not there is one. */
export function isPhoneUsername(name: string): boolean {
  return USERNAME.test(name);
}

/** Finds a phone of a team. Throws `not_found`. */
export async function findPhone(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  id: string,
): Promise<SipPhoneDocument> {
  const phone = await models.sipPhones.findOne({ _id: id, team_id: teamId }).lean<SipPhoneDocument>();
  if (!phone) throw fault('not_found');
  return phone;
}

/** Creates a phone. Throws `InvalidRequest` if the extension is taken, `quota_reached`. */
export async function createPhone(
  context: Context,
  owner: { readonly teamId: string; readonly workspaceId: string },
  input: PhoneInput,
): Promise<NewPhone> {
  const id = newId();
  await checkExtension(context, owner.teamId, { extension: input.extension, id });
  const username = `ph-${randomText(USERNAME_CHARS)}`;
  const password = randomText(PASSWORD_CHARS);
  const at = now(context);
  const phone: SipPhoneDocument = {
    ...input,
    _id: id,
    team_id: owner.teamId,
    workspace_id: owner.workspaceId,
    username,
    secrets: sealedSecrets(context, username, password),
    bindings: [],
    rev: 0,
    created_at: at,
    updated_at: at,
  };
  await withinQuota(context, { kind: 'sipPhones', owner: owner.teamId, id }, () =>
    context.models.sipPhones.create(phone).catch(explainTaken('phone')),
  );
  return { phone, password };
}

/** Changes a phone. Throws `not_found`, `InvalidRequest`. */
export async function patchPhone(
  context: Context,
  teamId: string,
  id: string,
  patch: PhonePatch,
): Promise<SipPhoneDocument> {
  if (patch.extension !== undefined)
    await checkExtension(context, teamId, { extension: patch.extension, id });
  return changed(context, teamId, id, { $set: { ...patch, updated_at: now(context) } });
}

/** Gives a phone a new password; whatever registered with the old one is forgotten. Throws `not_found`. */
export async function renewPassword(context: Context, teamId: string, id: string): Promise<NewPhone> {
  const { username } = await findPhone(context, teamId, id);
  const password = randomText(PASSWORD_CHARS);
  const secrets = sealedSecrets(context, username, password);
  const phone = await changed(context, teamId, id, {
    $set: { secrets, bindings: [], updated_at: now(context) },
    $inc: { rev: 1 },
  });
  return { phone, password };
}

/** Deletes a phone. Throws `not_found`. */
export async function deletePhone(context: Context, teamId: string, id: string): Promise<void> {
  await removeFromQuota(context, { kind: 'sipPhones', owner: teamId, id }, async () => {
    const { deletedCount } = await context.models.sipPhones.deleteOne({ _id: id, team_id: teamId });
    if (deletedCount === 0) throw fault('not_found');
  });
}

async function changed(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  id: string,
  change: Record<string, unknown>,
): Promise<SipPhoneDocument> {
  const phone = await models.sipPhones
    .findOneAndUpdate({ _id: id, team_id: teamId }, change, { returnDocument: 'after' })
    .lean<SipPhoneDocument>()
    .catch(explainTaken('phone'));
  if (!phone) throw fault('not_found');
  return phone;
}

function sealedSecrets(
  { secretBox }: Pick<Context, 'secretBox'>,
  username: string,
  password: string,
): string {
  return secretBox.seal(JSON.stringify(digestSecrets(username, password)));
}

/** Each letter is as likely as any other. */
function randomText(length: number): string {
  return Array.from({ length }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}
