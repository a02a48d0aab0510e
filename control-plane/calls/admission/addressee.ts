/**
 * Finds the number an INVITE is for, and checks that the caller passes all of that number's checks. Several
 * teams may have imported the same unproven number: the call goes to the first whose checks it passes, and
 * the other teams do not learn about it. A call of a PBX at which this platform is registered is for the
 * number of that registration.
 */
import { parseAllowList } from '#base/public-address.ts';
import { type AdmissionRequest, digestAnswer } from '#protocol/sip-admission.ts';
import { findCalledNumbers } from '../../catalogue/numbers/number-store.ts';
import {
  checkDigest,
  type DigestScope,
  type DigestVerdict,
  digestChallenges,
  digestSecrets,
  NONCE_USE_MS,
} from '../../catalogue/numbers/sip-digest.ts';
import {
  findCalledRegistration,
  numbersRegisteredAt,
} from '../../catalogue/registrations/registration-store.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';

/**
 * Result of the lookup. `holder` is the number whose team sees the refusal; null when several teams claim the
 * number, because none may learn of another's calls.
 */
export type Addressee =
  | { readonly is: 'unknown_number' }
  | { readonly is: 'number'; readonly number: NumberDocument }
  /** A registration without a number. */
  | { readonly is: 'no_number' }
  | { readonly is: 'source_refused'; readonly holder: NumberDocument | null }
  /** `hasWrongCredentials`: the caller sent credentials, and they were invalid. */
  | {
      readonly is: 'challenged';
      readonly holder: NumberDocument | null;
      readonly hasWrongCredentials: boolean;
      readonly challenges: string[];
    };

/** Finds the addressee of an INVITE. */
export async function findAddressee(context: Context, request: AdmissionRequest): Promise<Addressee> {
  const called = await findCalledNumbers(context, request.to_user);
  const claims = called.filter((number) => !number.media_stream || isCalledBySip(number));
  if (claims.length === 0) return (await calledByPbx(context, request)).addressee;
  // Bought: no PBX calls it.
  if (claims.every(({ sip }) => sip === null)) return amongClaims(context, claims, request);
  // Accounts of carriers are often named by a number. A team that imports it later does not get their calls.
  const { addressee: pbx, since } = await calledByPbx(context, request);
  if (pbx.is !== 'number') return amongClaims(context, claims, request);
  const before = claims.filter(({ created_at, is_proven }) => is_proven || created_at < since);
  const claimed = before.length === 0 ? pbx : await amongClaims(context, before, request);
  return claimed.is === 'number' ? claimed : pbx;
}

/** The first of these numbers whose checks the call passes. */
async function amongClaims(
  context: Context,
  claims: readonly NumberDocument[],
  request: AdmissionRequest,
): Promise<Addressee> {
  const [first] = claims;
  if (!first) return { is: 'unknown_number' };
  const holder = claims.length === 1 ? first : null;
  const imported = claims.filter(({ sip }) => sip !== null).map(({ _id }) => _id);
  const registered = await numbersRegisteredAt(context, imported, request.source_address);
  // The server at which a number is registered needs no other proof.
  const isNamed = (number: NumberDocument) => registered.has(number._id) || namesSources(number);
  const open = claims.filter(
    (number) => registered.has(number._id) || isSourceAllowed(context, number, request),
  );
  if (open.length === 0) return { is: 'source_refused', holder };
  const verdicts: (DigestVerdict['is'] | 'none')[] = [];
  // Numbers that list this source take precedence; numbers open to any source identify their callers by
  // password.
  for (const number of [...open.filter(isNamed), ...open.filter((each) => !isNamed(each))]) {
    const verdict = registered.has(number._id) ? 'right' : await proofOf(context, number, request);
    if (verdict === 'right') return { is: 'number', number };
    verdicts.push(verdict);
    // Without credentials, the owner can only be identified from the answer to a challenge.
    if (verdict === 'none') break;
  }
  const isStale = verdicts.includes('stale');
  const hasWrongCredentials = !isStale && !verdicts.includes('none');
  return {
    is: 'challenged',
    holder,
    hasWrongCredentials,
    challenges: digestChallenges(scopeOf(context, first), isStale),
  };
}

/**
 * A PBX calls the Contact that was registered with it. Its name cannot be guessed, but it is seen by every
 * phone that the PBX connects, so that the source counts too. `since`: when the registration was made.
 */
async function calledByPbx(
  context: Context,
  { to_user: calledUser, source_address: sourceAddress }: AdmissionRequest,
): Promise<{ readonly addressee: Addressee; readonly since: Date }> {
  const registration = await findCalledRegistration(context, { calledUser, sourceAddress });
  if (!registration) return { addressee: { is: 'unknown_number' }, since: new Date(0) };
  const { phone_number_id: numberId, team_id, state, created_at: since } = registration;
  const number =
    numberId === null
      ? null
      : await context.models.numbers
          .findOne({ _id: numberId, team_id, status: 'active' })
          .lean<NumberDocument>();
  const listed = parseAllowList(number?.sip?.inbound_allowed_addresses ?? []);
  const isFromThere = [state.address, ...state.addresses].includes(sourceAddress);
  if (!isFromThere && !listed.allowsAddress(sourceAddress, 0))
    return { addressee: { is: 'source_refused', holder: number }, since };
  return { addressee: number ? { is: 'number', number } : { is: 'no_number' }, since };
}

/**
 * Managed numbers accept calls from the carrier (SIP_TRUSTED), imported ones only from the addresses their
 * owner lists.
 */
function isSourceAllowed(context: Context, number: NumberDocument, request: AdmissionRequest): boolean {
  const { source_address: address } = request;
  if (number.sip === null) return isTrusted(context, request);
  return (
    !namesSources(number) || parseAllowList(number.sip.inbound_allowed_addresses).allowsAddress(address, 0)
  );
}

/**
 * Where the loopback is trusted, so is an INVITE that came in on the loopback, whatever its source: a
 * softphone of this machine sends from the network card's address. A signalling that others can reach never
 * says so, since a tenant could have it call its own public address.
 */
function isTrusted({ settings }: Context, { source_address: address, is_local }: AdmissionRequest): boolean {
  const trusted = parseAllowList(settings.SIP_TRUSTED);
  if (trusted.allowsAddress(address, 0)) return true;
  const trustsLoopback = trusted.allowsAddress('127.0.0.1', 0) || trusted.allowsAddress('::1', 0);
  return trustsLoopback && is_local === true;
}

/** False for a number without a trunk, whose calls come as media streams only: no INVITE is for it. */
function isCalledBySip({ sip }: NumberDocument): boolean {
  return sip !== null && (sip.inbound_auth_username !== null || sip.inbound_allowed_addresses.length > 0);
}

function namesSources({ sip }: NumberDocument): boolean {
  return sip === null || sip.inbound_allowed_addresses.length > 0;
}

/**
 * Whether the caller has proved the number's password, if it has one. Each digest answer is accepted once
 * across the whole deployment.
 */
async function proofOf(
  context: Context,
  number: NumberDocument,
  request: AdmissionRequest,
): Promise<DigestVerdict['is'] | 'none'> {
  const { inbound_auth_username: username, inbound_auth_password: sealed } = number.sip ?? {};
  if (!username || !sealed) return 'right';
  const answer = digestAnswer(request);
  if (answer === undefined) return 'none';
  const credentials = { username, secrets: digestSecrets(username, context.secretBox.open(sealed)) };
  const verdict = checkDigest(answer, credentials, {
    ...scopeOf(context, number),
    method: 'INVITE',
    requestUri: request.request_uri,
  });
  if (verdict.is !== 'right') return verdict.is;
  const isFirstUse = await context.coordination.claim(`sip-digest:${verdict.use}`, NONCE_USE_MS);
  return isFirstUse ? 'right' : 'stale';
}

/** The nonce key is the same for all teams that claim the number; only the password identifies a team. */
function scopeOf({ settings, credentials, clock }: Context, number: NumberDocument): DigestScope {
  return {
    boundTo: number.phone_number,
    algorithms: settings.SIP_DIGEST,
    key: credentials.deploymentKey,
    wallTimeMs: clock.wallTime(),
  };
}
