/**
 * Digest authentication as a client (RFC 3261 §22, RFC 7616, RFC 8760): reads the challenges of a response
 * and answers one. Pure.
 */
import { createHash } from 'node:crypto';
import { headerList, type SipHeader } from './embedded/message.ts';

const HASHES = { MD5: 'md5', 'SHA-256': 'sha256', 'SHA-512-256': 'sha512-256' } as const;
type HashName = keyof typeof HASHES;

/** A challenge that can be answered. Texts are as they stood between their quotes. */
export interface DigestChallenge {
  /** 401 asks for the one, 407 for the other. */
  readonly answerIn: 'Authorization' | 'Proxy-Authorization';
  readonly realm: string;
  readonly nonce: string;
  /** Null if the challenge has none. */
  readonly opaque: string | null;
  readonly hash: HashName;
  /** The session variant (`MD5-sess`). */
  readonly isSession: boolean;
  /** The protection to use; null: the form of RFC 2069. */
  readonly qop: 'auth' | 'auth-int' | null;
  /** The password was right, the nonce was not (RFC 7616 §3.3). */
  readonly isStale: boolean;
}

/** Name and password of an account. */
export interface DigestAccount {
  readonly username: string;
  readonly password: string;
}

const CHALLENGES = {
  Authorization: 'www-authenticate',
  'Proxy-Authorization': 'proxy-authenticate',
} as const;

/**
 * The answerable challenges of a response, in its order: the first is the one to answer (RFC 8760 §2.4). Only
 * a 401 and a 407 ask for an answer.
 */
export function readChallenges({
  status,
  headers,
}: {
  readonly status: number;
  readonly headers: readonly SipHeader[];
}): DigestChallenge[] {
  if (status !== 401 && status !== 407) return [];
  // A proxy that forks passes on what both kinds of server ask for (RFC 3261 §16.7).
  const kinds = ['Authorization', 'Proxy-Authorization'] as const;
  return (status === 401 ? kinds : kinds.toReversed()).flatMap((answerIn) =>
    headers
      .filter(({ name }) => name.toLowerCase() === CHALLENGES[answerIn])
      .flatMap(({ value }) => fieldSets(value))
      .flatMap((fields) => challengeOf(answerIn, fields) ?? []),
  );
}

function challengeOf(
  answerIn: DigestChallenge['answerIn'],
  fields: ReadonlyMap<string, string>,
): DigestChallenge | null {
  const nonce = fields.get('nonce');
  const [, name = '', session] = /^(.+?)(-sess)?$/i.exec(fields.get('algorithm') ?? 'MD5') ?? [];
  const hash = (Object.keys(HASHES) as HashName[]).find((each) => each.toLowerCase() === name.toLowerCase());
  const qops = headerList({ headers: [{ name: 'qop', value: fields.get('qop') ?? '' }] }, 'qop');
  const qop = (['auth', 'auth-int'] as const).find((each) => qops.some((one) => one.toLowerCase() === each));
  if (nonce === undefined || hash === undefined || (qops.length > 0 && qop === undefined)) return null;
  return {
    answerIn,
    realm: fields.get('realm') ?? '',
    nonce,
    opaque: fields.get('opaque') ?? null,
    hash,
    isSession: session !== undefined,
    qop: qop ?? null,
    isStale: fields.get('stale')?.toLowerCase() === 'true',
  };
}

/**
 * The fields of each challenge in one header: some servers put several after one another, separated by
 * commas. Reading stops at the first malformed field.
 */
function fieldSets(value: string): ReadonlyMap<string, string>[] {
  const sets: Map<string, string>[] = [];
  // What is repeated to the server must not end a line.
  const FIELD = /[\s,]*(?:(Digest)\s+)?([\w-]+)\s*=\s*(?:"((?:[^"\\\r\n]|\\.)*)"|([^\s,"]+))\s*(?:,|$)/giy;
  for (const [, scheme, name = '', quoted, plain = ''] of value.matchAll(FIELD)) {
    if (scheme !== undefined) sets.push(new Map());
    const fields = sets.at(-1);
    if (!fields) break;
    if (!fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), quoted ?? plain);
  }
  return sets;
}

/**
 * Answers a challenge: the value of its `answerIn` header. `cnonce` is random and of this answer only;
 * `uses` counts the answers to this nonce, from 1.
 */
export function answerChallenge(
  challenge: DigestChallenge,
  request: { readonly method: string; readonly uri: string; readonly body?: string },
  { username, password }: DigestAccount,
  { cnonce, uses }: { readonly cnonce: string; readonly uses: number },
): string {
  const { realm, nonce, opaque, qop } = challenge;
  const digest = (text: string) => createHash(HASHES[challenge.hash]).update(text).digest('hex');
  const nc = uses.toString(16).padStart(8, '0');
  const account = digest(`${username}:${unquoted(realm)}:${password}`);
  const secret = challenge.isSession ? digest(`${account}:${nonce}:${cnonce}`) : account;
  const entity = qop === 'auth-int' ? `:${digest(request.body ?? '')}` : '';
  const action = digest(`${request.method}:${request.uri}${entity}`);
  const usage = qop === null ? [] : [nc, cnonce, qop];
  const response = digest([secret, nonce, ...usage, action].join(':'));
  const hasCnonce = qop !== null || challenge.isSession;
  return `Digest ${[
    `username="${quotable(username)}"`,
    `realm="${realm}"`,
    `nonce="${nonce}"`,
    `uri="${request.uri}"`,
    `response="${response}"`,
    `algorithm=${challenge.hash}${challenge.isSession ? '-sess' : ''}`,
    ...(hasCnonce ? [`cnonce="${cnonce}"`] : []),
    ...(opaque === null ? [] : [`opaque="${opaque}"`]),
    ...(qop === null ? [] : [`qop=${qop}`, `nc=${nc}`]),
  ].join(', ')}`;
}

function unquoted(text: string): string {
  return text.replace(/\\(.)/gs, '$1');
}

function quotable(text: string): string {
  return text.replace(/["\\]/g, '\\$&');
}
