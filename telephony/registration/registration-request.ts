/** Writes the requests of a registration (RFC 3261 §10.2). Pure. */

import { answerChallenge, type DigestAccount } from '../digest-challenge.ts';
import { ALLOW } from '../methods.ts';
import type { Round } from './registration-round.ts';

/** The account at the registrar. */
export interface RegistrarAccount extends DigestAccount {
  /** User part of the address that is registered. */
  readonly user: string;
  /** Domain or address of the registrar, `host` or `host:port`. */
  readonly registrar: string;
}

/** Identity of this request among those of the registration. */
export interface RequestIdentity {
  readonly callId: string;
  readonly fromTag: string;
  readonly cseq: number;
  /** Random, for this request. */
  readonly cnonce: string;
  /** User part of our Contact. */
  readonly token: string;
  /** `host:port` for our Contact; null: signalling writes its own. */
  readonly contactPlace: string | null;
}

/** A request without what signalling adds. */
export interface WrittenRequest {
  readonly method: 'REGISTER' | 'OPTIONS';
  readonly uri: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Stands for the address of signalling. */
const OWN_PLACE = 'localhost';

/** The next request of a round. `redirected`: the Request-URI after a redirection. */
export function writeRequest(
  round: Round,
  account: RegistrarAccount,
  identity: RequestIdentity,
  redirected: string | null,
): WrittenRequest {
  const method = round.purpose === 'ping' ? 'OPTIONS' : 'REGISTER';
  const uri = redirected ?? `sip:${account.registrar}`;
  const self = addressOf(account);
  const answers = round.challenges.map(({ challenge, uses }): [string, string] => [
    challenge.answerIn,
    answerChallenge(challenge, { method, uri }, account, { cnonce: identity.cnonce, uses }),
  ]);
  return {
    method,
    uri,
    headers: {
      From: `<${self}>;tag=${identity.fromTag}`,
      To: `<${method === 'OPTIONS' ? uri : self}>`,
      'Call-ID': identity.callId,
      CSeq: `${identity.cseq} ${method}`,
      ...contactOf(round, identity, uri),
      'User-Agent': 'Parley',
      ...Object.fromEntries(answers),
    },
  };
}

/** The address that is registered: without a port, which the registrar's own records do not have either. */
export function addressOf({ user, registrar }: Pick<RegistrarAccount, 'user' | 'registrar'>): string {
  return `sip:${user}@${hostOf(registrar)}`;
}

/** The host of `host` or `host:port`. */
export function hostOf(registrar: string): string {
  return registrar.replace(/:\d{1,5}$/, '');
}

function contactOf(
  round: Round,
  { token, contactPlace }: RequestIdentity,
  requestUri: string,
): Record<string, string> {
  // A secure request needs a secure Contact (RFC 3261 §8.1.1.8).
  const own = `${/^sips:/i.test(requestUri) ? 'sips' : 'sip'}:${token}@${contactPlace ?? OWN_PLACE}`;
  if (round.purpose === 'ping') return { Contact: `<${own}>` };
  const isRemoval = round.removing !== null;
  const seconds = isRemoval ? 0 : round.askedSeconds;
  return {
    // Both, because registrars exist that read only one.
    Contact: `<${round.removing ?? own}>;expires=${seconds}`,
    Expires: String(seconds),
    Supported: 'path',
    Allow: ALLOW,
  };
}
