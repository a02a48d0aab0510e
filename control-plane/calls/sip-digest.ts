/**
 * Digest authentication of callers (RFC 3261 §22, RFC 7616): the challenge and its check. Nonces carry their own age and proof, so nothing is stored for a challenge.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

const REALM = 'parley';
/** Longer than a caller takes to answer a challenge. */
const NONCE_SECONDS = 60;

/** What a caller must prove. */
export interface DigestCredentials {
  readonly username: string;
  readonly password: string;
}

/** The `Proxy-Authenticate` value of a fresh challenge. */
export function digestChallenge(key: Uint8Array, wallTimeMs: number): string {
  return `Digest realm="${REALM}", nonce="${nonceAt(key, Math.floor(wallTimeMs / 1000))}", algorithm=MD5, qop="auth"`;
}

/** An answer that proves the password; `use` names this one use of the nonce, for whoever keeps it from being replayed. */
export type DigestVerdict = { readonly isProven: true; readonly use: string } | { readonly isProven: false };

/** Checks a `Proxy-Authorization` value of an INVITE. */
export function checkDigest(header: string | undefined, credentials: DigestCredentials, key: Uint8Array, wallTimeMs: number): DigestVerdict {
  const answer = parseDigest(header ?? '');
  const { username, realm, nonce, uri, response, nc, cnonce } = answer;
  const isAnswer = username === credentials.username && realm === REALM && answer['qop'] === 'auth' && nonce && uri && response && nc && cnonce;
  if (!isAnswer || !isFresh(nonce, key, wallTimeMs)) return { isProven: false };
  const secret = md5(`${username}:${REALM}:${credentials.password}`);
  const expected = md5(`${secret}:${nonce}:${nc}:${cnonce}:auth:${md5(`INVITE:${uri}`)}`);
  return equal(expected, response.toLowerCase()) ? { isProven: true, use: `${nonce}:${nc}` } : { isProven: false };
}

/** The comma list of `name=value` and `name="value"` after the word Digest. */
function parseDigest(header: string): Record<string, string | undefined> {
  const list = /^\s*Digest\s+(.*)$/is.exec(header)?.[1] ?? '';
  const fields: Record<string, string> = {};
  for (const [, name, quoted, plain] of list.matchAll(/(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g)) {
    fields[(name ?? '').toLowerCase()] = quoted === undefined ? (plain ?? '') : quoted.replace(/\\(.)/g, '$1');
  }
  return fields;
}

function nonceAt(key: Uint8Array, seconds: number): string {
  const stamp = seconds.toString(36);
  return `${stamp}.${createHmac('sha256', key).update(`sip-nonce:${stamp}`).digest('base64url')}`;
}

function isFresh(nonce: string, key: Uint8Array, wallTimeMs: number): boolean {
  const seconds = Number.parseInt(nonce.split('.')[0] ?? '', 36);
  const age = Math.floor(wallTimeMs / 1000) - seconds;
  return Number.isFinite(seconds) && age >= 0 && age <= NONCE_SECONDS && equal(nonce, nonceAt(key, seconds));
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

function equal(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
