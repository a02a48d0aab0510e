/**
 * What a SIP or tel URI names, however it was spelt: one reading for the digest, the toll rules and the
 * numbers hosted here (RFC 3261 §19.1, RFC 3966 §5). Two spellings of one address are equal after it; what is
 * no address is null, never a guess.
 */
import { isIP } from 'node:net';
import { isPort } from '#base/public-address.ts';
import { isE164 } from './e164.ts';

/** A SIP address in its plain form. */
export interface SipAddress {
  /** Decoded, without password and parameters; empty where there is none. */
  readonly user: string;
  /** A name in lower case without a last dot, or an address without brackets. */
  readonly host: string;
  /** Null where the URI names none. */
  readonly port: number | null;
  /** `udp` unless the URI says otherwise; `sips` is `tls`. */
  readonly transport: string;
  /** The URI says that its user part is a telephone number (`user=phone`). */
  readonly isPhone: boolean;
}

/** Where a host listens that names no port (RFC 3261 §19.1.2). */
export const DEFAULT_PORTS = { udp: 5_060, tcp: 5_060, tls: 5_061 } as const;
/** Longer ones are nobody's address. */
const MOST_CHARS = 2_048;
/** Shorter digits without a plus are an extension of somebody's own. */
const LEAST_PHONE_DIGITS = 8;

/** Reads a `sip:` or `sips:` URI; null when it is none. */
export function readSipUri(uri: string): SipAddress | null {
  const [, scheme = '', rest = ''] = /^(sips?):(.*)$/is.exec(uri.slice(0, MOST_CHARS + 1)) ?? [];
  if (scheme === '' || uri.length > MOST_CHARS) return null;
  // The user part may hold `;` and `?`, the rest no `@` (RFC 3261 §25.1).
  const at = rest.lastIndexOf('@');
  const userPart = rest.slice(0, Math.max(0, at));
  if (userPart.includes('@')) return null;
  const [authority = '', ...parameters] = (rest.slice(at + 1).split('?', 1)[0] ?? '').split(';');
  const place = readHostPort(authority);
  const named = new Map(parameters.map((parameter) => pair(parameter.toLowerCase())));
  const transport = named.get('transport') ?? 'udp';
  return (
    place && {
      user: decoded(userPart.split(/[:;]/, 1)[0] ?? ''),
      ...place,
      transport: scheme.toLowerCase() === 'sips' ? 'tls' : transport,
      isPhone: named.get('user') === 'phone',
    }
  );
}

/** Reads `host[:port]`, an IPv6 address in brackets; null when it is none. */
export function readHostPort(text: string): Pick<SipAddress, 'host' | 'port'> | null {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s<>"@/]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = (bracketed ?? plain ?? '').toLowerCase().replace(/\.$/, '');
  const port = digits === undefined ? null : Number(digits);
  if (host === '' || (bracketed !== undefined && isIP(host) !== 6)) return null;
  return port === null || isPort(port) ? { host, port } : null;
}

/** The port a URI is reached at. */
export function portOf({ port, transport }: Pick<SipAddress, 'port' | 'transport'>): number {
  return port ?? DEFAULT_PORTS[transport === 'tls' ? 'tls' : 'udp'];
}

/**
 * The E.164 number a user part or a `tel:` number stands for: visual separators left out, a missing `+`
 * supplied; null where it stands for none.
 */
export function numberOf(user: string): string | null {
  const plain = (decoded(user).split(';', 1)[0] ?? '').replace(/[-.()\s]/g, '');
  const number = plain.startsWith('+') ? plain : `+${plain}`;
  return isE164(number) ? number : null;
}

/**
 * The number that would be dialled by whoever takes the user part for one; null for a name, and for an
 * extension.
 */
export function telephoneOf({ user, isPhone }: Pick<SipAddress, 'user' | 'isPhone'>): string | null {
  // An international prefix stands for the plus (ITU-T E.123).
  const number = numberOf(user.replace(/^[-.()\s]*(?:00|011)(?=[-.()\s]*\d)/, '+'));
  if (number === null) return null;
  const isMeant = isPhone || /^[-.()\s]*(?:\+|00|011)/.test(user) || number.length > LEAST_PHONE_DIGITS;
  return isMeant ? number : null;
}

/**
 * True where a URI that was signed names whom another one calls: the same number or user. The place may
 * differ, as proxies on the way rewrite it (RFC 3261 §22.4); a URI without a user part, which older clients
 * sign, must name the place.
 */
export function isForSameUser(signed: string, called: string): boolean {
  const [left, right] = [readSipUri(signed), readSipUri(called)];
  if (!left || !right) return signed === called;
  return left.user === ''
    ? left.host === right.host
    : (numberOf(left.user) ?? left.user) === (numberOf(right.user) ?? right.user);
}

function pair(parameter: string): [string, string] {
  const [name = '', value = ''] = parameter.split('=', 2);
  return [name.trim(), value.trim()];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
