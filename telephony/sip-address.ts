/**
 * Parses SIP and tel URIs into one normal form, used by digest checks, toll rules and the lookup of hosted
 * numbers (RFC 3261 §19.1, RFC 3966 §5). Two spellings of one address become equal; an invalid address is
 * null.
 */
import { isIP } from 'node:net';
import { isPort } from '#base/public-address.ts';
import { isE164 } from './e164.ts';

/** A SIP address in normal form. */
export interface SipAddress {
  /** Decoded, without password and parameters; empty if absent. */
  readonly user: string;
  /** A host name in lower case without a trailing dot, or an address without brackets. */
  readonly host: string;
  /** Null if the URI has none. */
  readonly port: number | null;
  /** `udp` by default; `sips` means `tls`. */
  readonly transport: string;
  /** The URI declares its user part a telephone number (`user=phone`). */
  readonly isPhone: boolean;
}

/** Default port of a host (RFC 3261 §19.1.2). */
export const DEFAULT_PORTS = { udp: 5_060, tcp: 5_060, tls: 5_061 } as const;
/** A longer one is not a valid address. */
const MAX_CHARS = 2_048;
/** Fewer digits without a plus are an internal extension. */
const MIN_PHONE_DIGITS = 8;

/** Parses a `sip:` or `sips:` URI; null if it is invalid. */
export function readSipUri(uri: string): SipAddress | null {
  const [, scheme = '', rest = ''] = /^(sips?):(.*)$/is.exec(uri.slice(0, MAX_CHARS + 1)) ?? [];
  if (scheme === '' || uri.length > MAX_CHARS) return null;
  // The user part may contain `;` and `?`; nothing after it may contain `@` (RFC 3261 §25.1).
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

/** Parses `host[:port]`, with an IPv6 address in brackets; null if it is invalid. */
export function readHostPort(text: string): Pick<SipAddress, 'host' | 'port'> | null {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s<>"@/]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = (bracketed ?? plain ?? '').toLowerCase().replace(/\.$/, '');
  const port = digits === undefined ? null : Number(digits);
  if (host === '' || (bracketed !== undefined && isIP(host) !== 6)) return null;
  return port === null || isPort(port) ? { host, port } : null;
}

/** The port to connect to for a URI. */
export function portOf({ port, transport }: Pick<SipAddress, 'port' | 'transport'>): number {
  return port ?? DEFAULT_PORTS[transport === 'tls' ? 'tls' : 'udp'];
}

/**
 * The E.164 number of a user part or a `tel:` number: removes visual separators and adds a missing `+`; null
 * if it is not a number.
 */
export function numberOf(user: string): string | null {
  const plain = (decoded(user).split(';', 1)[0] ?? '').replace(/[-.()\s]/g, '');
  const number = plain.startsWith('+') ? plain : `+${plain}`;
  return isE164(number) ? number : null;
}

/** The number a gateway would dial for this user part; null for a name or an extension. */
export function telephoneOf({ user, isPhone }: Pick<SipAddress, 'user' | 'isPhone'>): string | null {
  // An international prefix stands for the plus (ITU-T E.123).
  const number = numberOf(user.replace(/^[-.()\s]*(?:00|011)(?=[-.()\s]*\d)/, '+'));
  if (number === null) return null;
  const isMeant = isPhone || /^[-.()\s]*(?:\+|00|011)/.test(user) || number.length > MIN_PHONE_DIGITS;
  return isMeant ? number : null;
}

/**
 * True if a signed URI and another name the same callee: the same number or user. The hosts may differ,
 * because proxies rewrite them (RFC 3261 §22.4); a URI without a user part, which older clients sign, must
 * name the host.
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
