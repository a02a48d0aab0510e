/**
 * Digest authentication of callers (RFC 3261 §22, RFC 7616, RFC 8760): builds challenges and checks answers.
 * A nonce is random, carries its own timestamp and MAC, and is bound to the called number, or to the address
 * of the phone: no challenge is stored, and no two callers share one.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { isSameSecret } from '#base/same-secret.ts';
import { isForSameUser } from '#telephony/sip-address.ts';

const REALM = 'parley';
/** Longer than a caller needs to answer a challenge. */
const NONCE_SECONDS = 60;
/**
 * A nonce is accepted within NONCE_SECONDS of its timestamp in either direction (a replica's clock may be
 * behind), so its uses are remembered for twice that.
 */
export const NONCE_USE_MS = 2 * NONCE_SECONDS * 1000;
const NONCE_BYTES = 8;

const HASHES = { MD5: 'md5', 'SHA-256': 'sha256' } as const;
/** Supported digest algorithms. */
export type DigestAlgorithm = keyof typeof HASHES;

/**
 * The hash of username, realm and password for each algorithm (`H(A1)`, RFC 7616 §3.4.2). It proves a
 * password without being one.
 */
export type DigestSecrets = Readonly<Record<DigestAlgorithm, string>>;

/** The credentials a caller must prove. */
export interface DigestCredentials {
  readonly username: string;
  readonly secrets: DigestSecrets;
}

/** The secrets of a password. */
export function digestSecrets(username: string, password: string): DigestSecrets {
  const secretBy = (name: DigestAlgorithm) => hash(name, `${username}:${REALM}:${password}`);
  return { MD5: secretBy('MD5'), 'SHA-256': secretBy('SHA-256') };
}

/** Inputs for creating and checking a nonce. */
export interface DigestScope {
  /** The called number, or the phone's place; a nonce is valid for this one only. */
  readonly boundTo: string;
  /** Allowed algorithms in the order they are offered (`SIP_DIGEST`). */
  readonly algorithms: readonly DigestAlgorithm[];
  readonly key: Uint8Array;
  readonly wallTimeMs: number;
}

/**
 * Values of a fresh challenge for `Proxy-Authenticate` or `WWW-Authenticate`, one header row each (RFC 3261
 * §7.3.1). `isStale`: the password was right but the nonce was not (RFC 7616 §3.3).
 */
export function digestChallenges(scope: DigestScope, isStale = false): string[] {
  const nonce = newNonce(scope);
  const stale = isStale ? ', stale=true' : '';
  return scope.algorithms.map(
    (name) => `Digest realm="${REALM}", nonce="${nonce}", algorithm=${name}, qop="auth"${stale}`,
  );
}

/**
 * Result of checking an answer. `use` identifies this one use of a nonce, for replay protection. `stale`
 * means the password is right but the nonce has expired or was not issued here.
 */
export type DigestVerdict =
  | { readonly is: 'right'; readonly use: string }
  | { readonly is: 'stale' }
  | { readonly is: 'wrong' };

/**
 * Checks the `Proxy-Authorization` or `Authorization` value of a request to `requestUri`, which is undefined
 * if signalling did not report it.
 */
export function checkDigest(
  header: string | undefined,
  credentials: DigestCredentials,
  call: DigestScope & { readonly method: 'INVITE' | 'REGISTER'; readonly requestUri: string | undefined },
): DigestVerdict {
  const {
    username,
    realm,
    nonce,
    uri,
    response,
    nc,
    cnonce,
    qop,
    algorithm = 'MD5',
  } = parseDigest(header ?? '');
  const used = call.algorithms.find((name) => name.toLowerCase() === algorithm.toLowerCase());
  const isAnswer =
    username === credentials.username &&
    realm === REALM &&
    qop === 'auth' &&
    nonce &&
    uri &&
    response &&
    nc &&
    cnonce;
  if (!isAnswer || !used) return { is: 'wrong' };
  const action = hash(used, `${call.method}:${uri}`);
  const expected = hash(used, `${credentials.secrets[used]}:${nonce}:${nc}:${cnonce}:auth:${action}`);
  if (!isSameSecret(expected, response.toLowerCase())) return { is: 'wrong' };
  if (call.requestUri !== undefined && !isForSameUser(uri, call.requestUri)) return { is: 'wrong' };
  return isFresh(nonce, call)
    ? { is: 'right', use: [call.boundTo, nonce, nc, cnonce].join(':') }
    : { is: 'stale' };
}

/**
 * Whether an answer is to a challenge that is still valid for this scope; its password is not checked. One
 * that is not costs no look into the store.
 */
export function isToFreshChallenge(header: string | undefined, scope: DigestScope): boolean {
  return isFresh(parseDigest(header ?? '')['nonce'] ?? '', scope);
}

/** The name in a digest answer; null without one. */
export function usernameOf(header: string | undefined): string | null {
  return parseDigest(header ?? '')['username'] ?? null;
}

/**
 * Parses the comma-separated `name=value` and `name="value"` pairs after the word Digest, up to the first
 * malformed one.
 */
function parseDigest(header: string): Record<string, string | undefined> {
  const list = /^\s*Digest\s(.*)$/is.exec(header)?.[1] ?? '';
  const fields: Record<string, string> = {};
  // Sticky, so that each character is scanned once.
  for (const [, name = '', quoted, plain = ''] of list.matchAll(
    /\s*(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))\s*(?:,|$)/gy,
  )) {
    fields[name.toLowerCase()] = quoted === undefined ? plain : quoted.replace(/\\(.)/g, '$1');
  }
  return fields;
}

function hash(name: DigestAlgorithm, text: string): string {
  return createHash(HASHES[name]).update(text).digest('hex');
}

function newNonce(scope: DigestScope): string {
  return nonceOf(
    scope,
    Math.floor(scope.wallTimeMs / 1000).toString(36),
    randomBytes(NONCE_BYTES).toString('base64url'),
  );
}

function nonceOf({ key, boundTo }: DigestScope, stamp: string, random: string): string {
  const proof = createHmac('sha256', key).update(`sip-nonce:${stamp}.${random}.${boundTo}`);
  return `${stamp}.${random}.${proof.digest('base64url')}`;
}

function isFresh(nonce: string, scope: DigestScope): boolean {
  const [stamp = '', random = ''] = nonce.split('.');
  const age = Math.floor(scope.wallTimeMs / 1000) - Number.parseInt(stamp, 36);
  return Math.abs(age) <= NONCE_SECONDS && isSameSecret(nonce, nonceOf(scope, stamp, random));
}
