/** Answers a digest challenge (RFC 3261 §22, RFC 7616 §3.4; MD5 and SHA-256, with or without qop). */
import { createHash, randomBytes } from 'node:crypto';

/** Credentials of the caller. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Value of the Authorization header for a challenge. Throws if the challenge is unsupported. */
export function answerChallenge(
  challenge: string,
  request: { readonly method: string; readonly uri: string },
  credentials: Credentials,
): string {
  const demands = parseChallenge(challenge);
  const algorithm = demands.get('algorithm') ?? 'MD5';
  if (!/^(MD5|SHA-256)$/i.test(algorithm)) throw new Error(`digest algorithm ${algorithm} is not supported`);
  const hash = (text: string) =>
    createHash(/^MD5$/i.test(algorithm) ? 'md5' : 'sha256')
      .update(text)
      .digest('hex');
  const realm = demands.get('realm') ?? '';
  const nonce = demands.get('nonce') ?? '';
  const secret = hash(`${credentials.username}:${realm}:${credentials.password}`);
  const action = hash(`${request.method}:${request.uri}`);
  const fields = [
    `username="${credentials.username}"`,
    `realm="${realm}"`,
    `nonce="${nonce}"`,
    `uri="${request.uri}"`,
    `algorithm=${algorithm}`,
  ];
  const opaque = demands.get('opaque');
  if (opaque !== undefined) fields.push(`opaque="${opaque}"`);
  if (
    demands
      .get('qop')
      ?.split(/\s*,\s*/)
      .includes('auth')
  ) {
    const cnonce = randomBytes(8).toString('hex');
    fields.push(
      'qop=auth',
      'nc=00000001',
      `cnonce="${cnonce}"`,
      `response="${hash(`${secret}:${nonce}:00000001:${cnonce}:auth:${action}`)}"`,
    );
  } else fields.push(`response="${hash(`${secret}:${nonce}:${action}`)}"`);
  return `Digest ${fields.join(', ')}`;
}

function parseChallenge(challenge: string): ReadonlyMap<string, string> {
  const fields = challenge.replace(/^Digest\s+/i, '').matchAll(/([a-z]+)\s*=\s*(?:"([^"]*)"|([^\s,]+))/gi);
  return new Map([...fields].map((field) => [(field[1] ?? '').toLowerCase(), field[2] ?? field[3] ?? '']));
}
