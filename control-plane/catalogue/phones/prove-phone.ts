/**
 * Whether a request comes from a phone that has an account here (RFC 3261 §22). A guess is answered alike
 * whether or not its username exists, and guesses are counted for each network and each username.
 */
import { randomBytes } from 'node:crypto';
import { networkOf } from '#base/client-network.ts';
import { type Context, now } from '../../platform/context.ts';
import type { WindowState } from '../../platform/store/coordination.ts';
import type { SipPhoneDocument } from '../../platform/store/models/sip-phone-model.ts';
import {
  checkDigest,
  type DigestScope,
  type DigestSecrets,
  type DigestVerdict,
  digestChallenges,
  digestSecrets,
  isToFreshChallenge,
  NONCE_USE_MS,
  usernameOf,
} from '../numbers/sip-digest.ts';
import { isPhoneUsername } from './phone-store.ts';

const MINUTE_MS = 60_000;
/** Answers to challenges in a minute, right or wrong, from networks where the phone was not registered. */
const GUESSES_OF_NETWORK = 60;
const GUESSES_OF_USERNAME = 20;
/** Of a username that does not exist: nobody knows its password. */
const NOBODY = digestSecrets('', randomBytes(16).toString('hex'));

/** libre before version 3 gives up at a challenge by SHA-256. */
const MD5_ONLY = /^baresip v[0-2]\./;

/** A request of a phone. */
export interface PhoneRequest {
  readonly method: 'REGISTER' | 'INVITE';
  readonly requestUri: string | undefined;
  /** `Authorization` or `Proxy-Authorization`. */
  readonly answer: string | undefined;
  readonly sourceAddress: string;
  /** The name that the device gives itself; empty if it gives none. */
  readonly userAgent: string;
}

/** The result. */
export type PhoneProof =
  | { readonly is: 'proven'; readonly phone: SipPhoneDocument }
  | { readonly is: 'challenged'; readonly challenges: string[] }
  | { readonly is: 'too_many'; readonly seconds: number };

/** Checks the answer of a request to its challenge, or challenges it. */
export async function provePhone(context: Context, request: PhoneRequest): Promise<PhoneProof> {
  const username = usernameOf(request.answer);
  const scope = scopeOf(context, request);
  const challenged = (isStale: boolean): PhoneProof => ({
    is: 'challenged',
    challenges: digestChallenges({ ...scope, algorithms: offeredTo(request, scope.algorithms) }, isStale),
  });
  if (username === null) return challenged(false);
  // Only one who has got the challenge makes work here, and is counted.
  if (!isToFreshChallenge(request.answer, scope)) return challenged(true);
  const phone = isPhoneUsername(username)
    ? await context.models.sipPhones.findOne({ username }).lean<SipPhoneDocument>()
    : null;
  const waitMs = await waitOf(context, request, { username, phone });
  const { phoneLogins } = context.metrics;
  if (waitMs > 0) {
    phoneLogins.inc({ outcome: 'too_many' });
    await throttle(context, request);
    return { is: 'too_many', seconds: Math.ceil(waitMs / 1_000) };
  }
  const verdict = verdictOf(context, request, { scope, username, phone });
  if (phone && verdict.is === 'right') {
    const isFirstUse = await context.coordination.claim(`sip-digest:${verdict.use}`, NONCE_USE_MS);
    if (!isFirstUse) return challenged(true);
    phoneLogins.inc({ outcome: 'proven' });
    return { is: 'proven', phone };
  }
  phoneLogins.inc({ outcome: 'wrong' });
  await throttle(context, request);
  // In the background: how long the answer takes must not tell that there is such a phone.
  if (phone) noteGuess(context, phone, request.sourceAddress);
  return challenged(false);
}

/** Calls only: workers limit what they pass on, and a REGISTER that waits would hold one of their places. */
async function throttle({ refusals }: Context, { method, sourceAddress }: PhoneRequest): Promise<void> {
  if (method === 'INVITE') await refusals.throttleCall(networkOf(sourceAddress));
}

function verdictOf(
  { secretBox }: Pick<Context, 'secretBox'>,
  { method, requestUri, answer }: PhoneRequest,
  of: { readonly scope: DigestScope; readonly username: string; readonly phone: SipPhoneDocument | null },
): DigestVerdict {
  const { scope, username, phone } = of;
  const secrets = phone ? (JSON.parse(secretBox.open(phone.secrets)) as DigestSecrets) : NOBODY;
  const verdict = checkDigest(answer, { username, secrets }, { ...scope, method, requestUri });
  return phone ? verdict : { is: 'wrong' };
}

/** A device that gives up when it sees a challenge by SHA-256 beside one by MD5 gets the latter only. */
function offeredTo(
  { userAgent }: PhoneRequest,
  algorithms: DigestScope['algorithms'],
): DigestScope['algorithms'] {
  const known = algorithms.filter((name) => name === 'MD5');
  return MD5_ONLY.test(userAgent) && known.length > 0 ? known : algorithms;
}

/** A nonce is for the address that got it: nobody can register the address of somebody else. */
function scopeOf(
  { settings, credentials, clock }: Context,
  { sourceAddress }: Pick<PhoneRequest, 'sourceAddress'>,
): DigestScope {
  return {
    boundTo: `phone:${sourceAddress}`,
    algorithms: settings.SIP_DIGEST,
    key: credentials.deploymentKey,
    wallTimeMs: clock.wallTime(),
  };
}

/**
 * How long a guess has to wait; 0: not at all. One from a network where the phone is or was last registered
 * need not: a stranger who guesses at its password cannot lock it out, and a whole office may start at once
 * after a power failure that was longer than its registrations.
 */
async function waitOf(
  { coordination }: Context,
  { sourceAddress }: PhoneRequest,
  { username, phone }: { readonly username: string; readonly phone: SipPhoneDocument | null },
): Promise<number> {
  const network = networkOf(sourceAddress);
  if (phone?.bindings.some(({ address }) => networkOf(address) === network)) return 0;
  const ofNetwork = await coordination.countInWindow(
    `phone-network:${network}`,
    GUESSES_OF_NETWORK,
    MINUTE_MS,
  );
  // A guess that is not checked does not count against the username, and a name of no phone is not counted.
  if (!ofNetwork.allowed || !isPhoneUsername(username)) return waitFor(ofNetwork);
  return waitFor(await coordination.countInWindow(`phone-user:${username}`, GUESSES_OF_USERNAME, MINUTE_MS));
}

function waitFor({ allowed, resetMs }: WindowState): number {
  return allowed ? 0 : resetMs;
}

/** Notes a guess for the phone's holder; at most one write per phone and minute. */
function noteGuess(context: Context, { _id }: SipPhoneDocument, address: string): void {
  const { coordination, logger, models } = context;
  const note = async () => {
    if (!(await coordination.claim(`phone-refused:${_id}`, MINUTE_MS))) return;
    await models.sipPhones.updateOne({ _id }, { $set: { last_refused: { at: now(context), address } } });
  };
  note().catch((error: unknown) =>
    logger.warn({ err: error, phoneId: _id }, 'a wrong password was not noted'),
  );
}
