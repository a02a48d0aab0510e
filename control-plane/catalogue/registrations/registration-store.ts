/**
 * SIP registrations in the store: created, changed, deleted, and found for a call. The password is sealed,
 * and kept only for the servers that it was given for.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { isOtherHost } from '#config/credential-host.ts';
import { fault } from '#config/errors.ts';
import { newRegistration, renewed } from '#telephony/registration/registration-state.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import { type Context, now } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { SipRegistrationDocument } from '../../platform/store/models/sip-registration-model.ts';
import { findNumber } from '../numbers/number-store.ts';
import { tenantHostProblem } from '../numbers/sip-config.ts';
import type { RegistrationInput, RegistrationPatch } from './registration-record.ts';

const CHANGE_ATTEMPTS = 10;
const TOKEN_BYTES = 15;
/** A PBX may call until its clock, too, says that the registration is over. */
const GRACE_MS = 60_000;

/** Finds a registration of a team. Throws `not_found`. */
export async function findRegistration(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  id: string,
): Promise<SipRegistrationDocument> {
  const registration = await models.sipRegistrations
    .findOne({ _id: id, team_id: teamId, deleting_at: null })
    .lean<SipRegistrationDocument>();
  if (!registration) throw fault('not_found');
  return registration;
}

/** Creates a registration, which begins at once. Throws `InvalidRequest`, `not_found`, `quota_reached`. */
export async function createRegistration(
  context: Context,
  owner: { readonly teamId: string; readonly workspaceId: string },
  input: RegistrationInput,
  id: string,
): Promise<SipRegistrationDocument> {
  await checkHosts(context, input);
  await checkNumber(context, owner.teamId, input.phone_number_id);
  const at = now(context);
  const registration: SipRegistrationDocument = {
    ...input,
    _id: id,
    team_id: owner.teamId,
    workspace_id: owner.workspaceId,
    password: context.secretBox.seal(input.password),
    token: randomBytes(TOKEN_BYTES).toString('hex'),
    call_id: randomUUID(),
    from_tag: randomBytes(6).toString('hex'),
    cseq: 0,
    state: newRegistration(at.getTime()),
    due_at: at,
    lease_by: null,
    lease_until: null,
    rev: 0,
    created_at: at,
    updated_at: at,
  };
  await withinQuota(context, { kind: 'sipRegistrations', owner: owner.teamId, id }, () =>
    context.models.sipRegistrations.create(registration).catch(explained(context, registration)),
  );
  context.workSignals.notify('sip-registrations');
  return registration;
}

/**
 * Changes a registration and registers anew, unless only its label or its number has changed. Throws
 * `not_found`, `InvalidRequest`.
 */
export async function patchRegistration(
  context: Context,
  teamId: string,
  id: string,
  patch: RegistrationPatch,
): Promise<SipRegistrationDocument> {
  const { password, ...given } = Object.fromEntries(
    Object.entries(patch).filter(([, value]) => value !== undefined),
  ) as RegistrationPatch;
  await checkHosts(context, { outbound_proxy: given.outbound_proxy ?? null });
  await checkNumber(context, teamId, given.phone_number_id ?? null);
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS; attempt++) {
    const before = await findRegistration(context, teamId, id);
    if (password === undefined && sendsElsewhere(before, given))
      throw invalidField(['password'], 'must be given again for another outbound_proxy');
    const at = now(context);
    const { label: _label, phone_number_id: _number, ...account } = given;
    const isAnew = password !== undefined || Object.keys(account).length > 0;
    const change = {
      ...given,
      ...(password === undefined ? {} : { password: context.secretBox.seal(password) }),
      ...(isAnew ? { state: renewed(before.state, at.getTime()), due_at: at } : {}),
      updated_at: at,
    };
    const saved = await context.models.sipRegistrations
      .findOneAndUpdate(
        { _id: id, rev: before.rev, deleting_at: null },
        { $set: change, $inc: { rev: 1 } },
        { returnDocument: 'after' },
      )
      .lean<SipRegistrationDocument>()
      .catch(explained(context, { _id: id, phone_number_id: given.phone_number_id ?? null }));
    if (!saved) continue;
    context.workSignals.notify('sip-registrations');
    return saved;
  }
  throw fault('database_unavailable');
}

/** Deletes a registration. The registrar is told in the background. Throws `not_found`. */
export async function deleteRegistration(context: Context, teamId: string, id: string): Promise<void> {
  await removeFromQuota(context, { kind: 'sipRegistrations', owner: teamId, id }, async () => {
    const at = now(context);
    const { matchedCount } = await context.models.sipRegistrations.updateOne(
      { _id: id, team_id: teamId, deleting_at: null },
      { $set: { deleting_at: at, due_at: at, phone_number_id: null }, $inc: { rev: 1 } },
    );
    if (matchedCount === 0) throw fault('not_found');
  });
  context.workSignals.notify('sip-registrations');
}

/** A call whose registration is looked for. */
interface RegisteredCall {
  readonly calledUser: string;
  readonly sourceAddress: string;
}

/**
 * The registration that an INVITE is for: the one whose Contact it names, or, as some PBXs address their
 * calls, the only one with this username at the server that the call comes from. Null if there is none.
 */
export async function findCalledRegistration(
  context: Pick<Context, 'models' | 'clock'>,
  { calledUser, sourceAddress }: RegisteredCall,
): Promise<SipRegistrationDocument | null> {
  if (calledUser === '') return null;
  const byName = { username: calledUser, ...registeredAt(context, sourceAddress) };
  const found = await context.models.sipRegistrations
    .find({ $or: [{ token: calledUser, deleting_at: null }, byName] })
    // The one with the token, and two of the same name.
    .limit(3)
    .lean<SipRegistrationDocument[]>();
  const [only, another] = found;
  return found.find(({ token }) => token === calledUser) ?? (only && !another ? only : null);
}

/** Those of these numbers whose registration is at the server that a call comes from. */
export async function numbersRegisteredAt(
  context: Pick<Context, 'models' | 'clock'>,
  numberIds: readonly string[],
  sourceAddress: string,
): Promise<ReadonlySet<string | null>> {
  if (numberIds.length === 0) return new Set();
  const found = await context.models.sipRegistrations
    .find(
      { phone_number_id: { $in: [...numberIds] }, ...registeredAt(context, sourceAddress) },
      { phone_number_id: 1 },
    )
    .lean<Pick<SipRegistrationDocument, 'phone_number_id'>[]>();
  return new Set(found.map(({ phone_number_id }) => phone_number_id));
}

/** Only the server that has accepted an account may call without naming its Contact. */
function registeredAt({ clock }: Pick<Context, 'clock'>, sourceAddress: string) {
  return {
    deleting_at: null,
    'state.address': sourceAddress,
    'state.registeredUntilMs': { $gt: clock.wallTime() - GRACE_MS },
  };
}

/** The registration of a number; null without one. */
export async function findRegistrationOf(
  { models }: Pick<Context, 'models'>,
  numberId: string,
): Promise<SipRegistrationDocument | null> {
  return models.sipRegistrations
    .findOne({ phone_number_id: numberId, deleting_at: null })
    .lean<SipRegistrationDocument>();
}

/** Those of these numbers that have a registration: calls can go out from them. */
export async function registeredNumbers(
  { models }: Pick<Context, 'models'>,
  numberIds: readonly string[],
): Promise<ReadonlySet<string | null>> {
  const found = await models.sipRegistrations
    .find({ phone_number_id: { $in: [...numberIds] }, deleting_at: null }, { phone_number_id: 1 })
    .lean<Pick<SipRegistrationDocument, 'phone_number_id'>[]>();
  return new Set(found.map(({ phone_number_id }) => phone_number_id));
}

function sendsElsewhere(
  { registrar, outbound_proxy }: SipRegistrationDocument,
  given: RegistrationPatch,
): boolean {
  if (given.outbound_proxy === undefined) return false;
  return isOtherHost(outbound_proxy ?? registrar, given.outbound_proxy ?? registrar);
}

/** Throws `InvalidRequest` for a host that tenants must not have called. */
async function checkHosts(
  context: Context,
  hosts: Partial<Pick<RegistrationInput, 'registrar' | 'outbound_proxy'>>,
): Promise<void> {
  for (const field of ['registrar', 'outbound_proxy'] as const) {
    const host = hosts[field];
    const problem = host ? await tenantHostProblem(context, `sip:${host}`) : null;
    if (problem !== null) throw invalidField([field], problem);
  }
}

async function checkNumber(context: Context, teamId: string, numberId: string | null): Promise<void> {
  if (numberId === null) return;
  const number = await findNumber(context, teamId, numberId);
  if (number.provider !== 'sip')
    throw invalidField(['phone_number_id'], 'must be an imported number: a bought one has its carrier');
}

/** Throws `InvalidRequest` if the store refused a number that belongs to another registration. */
function explained(
  { models }: Pick<Context, 'models'>,
  { _id, phone_number_id }: Pick<SipRegistrationDocument, '_id' | 'phone_number_id'>,
): (error: unknown) => Promise<never> {
  return async (error) => {
    const other = { phone_number_id, _id: { $ne: _id } };
    const isTaken =
      isDuplicateKey(error) && phone_number_id !== null && (await models.sipRegistrations.exists(other));
    throw isTaken ? invalidField(['phone_number_id'], 'this number has another registration') : error;
  };
}
