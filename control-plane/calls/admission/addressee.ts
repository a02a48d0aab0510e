/**
 * Whose call an INVITE is: the number that was dialled, and whether its caller passes every factor that
 * number has. Several teams may have imported one number while none has proved it: the call is for the first
 * whose factors it passes, and nobody else learns of it.
 */
import { parseAllowList } from '#base/public-address.ts';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import { findCalledNumbers } from '../../catalogue/numbers/number-store.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import {
  checkDigest,
  type DigestScope,
  type DigestVerdict,
  digestChallenges,
  NONCE_USE_MS,
} from './sip-digest.ts';

/**
 * What became of the question. `holder`: who is told of a refusal; null where several claim the number, as
 * none may learn of another's calls.
 */
export type Addressee =
  | { readonly is: 'nobody' }
  | { readonly is: 'number'; readonly number: NumberDocument }
  | { readonly is: 'source_refused'; readonly holder: NumberDocument | null }
  /** `isWrong`: an answer was given, and proves nothing. */
  | {
      readonly is: 'challenged';
      readonly holder: NumberDocument | null;
      readonly isWrong: boolean;
      readonly challenges: string[];
    };

/** Finds it out. */
export async function findAddressee(context: Context, request: AdmissionRequest): Promise<Addressee> {
  const claims = await findCalledNumbers(context, request.to_user);
  const [first] = claims;
  if (!first) return { is: 'nobody' };
  const holder = claims.length === 1 ? first : null;
  const open = claims.filter((number) => isSourceAllowed(context, number, request.source_address));
  if (open.length === 0) return { is: 'source_refused', holder };
  const verdicts: (DigestVerdict['is'] | 'none')[] = [];
  // Who names this source meant it; who takes any source has a password to tell their callers by.
  for (const number of [...open.filter(namesSources), ...open.filter((each) => !namesSources(each))]) {
    const verdict = await proofOf(context, number, request);
    if (verdict === 'right') return { is: 'number', number };
    verdicts.push(verdict);
    // The answer tells whose call it is.
    if (verdict === 'none') break;
  }
  const isStale = verdicts.includes('stale');
  const isWrong = !isStale && !verdicts.includes('none');
  return {
    is: 'challenged',
    holder,
    isWrong,
    challenges: digestChallenges(scopeOf(context, first), isStale),
  };
}

/**
 * Managed numbers are called by the carrier, imported ones by whom their owner lists; SIP_TRUSTED does not
 * count for the latter.
 */
function isSourceAllowed(context: Context, number: NumberDocument, address: string): boolean {
  if (number.sip === null) return parseAllowList(context.settings.SIP_TRUSTED).allowsAddress(address, 0);
  return (
    !namesSources(number) || parseAllowList(number.sip.inbound_allowed_addresses).allowsAddress(address, 0)
  );
}

function namesSources({ sip }: NumberDocument): boolean {
  return sip === null || sip.inbound_allowed_addresses.length > 0;
}

/**
 * Whether the caller has proved the number's password, where it has one. Each answer passes once, in the
 * whole deployment.
 */
async function proofOf(
  context: Context,
  number: NumberDocument,
  request: AdmissionRequest,
): Promise<DigestVerdict['is'] | 'none'> {
  const { inbound_auth_username: username, inbound_auth_password: sealed } = number.sip ?? {};
  if (!username || !sealed) return 'right';
  const answer = request.headers['proxy-authorization'] ?? request.headers['authorization'];
  if (answer === undefined) return 'none';
  const credentials = { username, password: context.secretBox.open(sealed) };
  const verdict = checkDigest(answer, credentials, {
    ...scopeOf(context, number),
    requestUri: request.request_uri,
  });
  if (verdict.is !== 'right') return verdict.is;
  return (await isFirstUse(context, verdict.use)) ? 'right' : 'stale';
}

/** Without the store the replicas share a call goes on, as it does without their limits. */
async function isFirstUse({ coordination, logger }: Context, use: string): Promise<boolean> {
  try {
    return await coordination.claim(`sip-digest:${use}`, NONCE_USE_MS);
  } catch (error) {
    logger.warn({ err: error }, 'the use of a digest could not be noted');
    return true;
  }
}

/** Whoever claims the number can check the nonce; only who knows the password can be proved to. */
function scopeOf({ settings, credentials, clock }: Context, number: NumberDocument): DigestScope {
  return {
    phoneNumber: number.phone_number,
    algorithms: settings.SIP_DIGEST,
    key: credentials.masterKey,
    wallTimeMs: clock.wallTime(),
  };
}
