/**
 * Reads the final response to a REGISTER or an OPTIONS (RFC 3261 §10.2.4, §10.3; RFC 3608; RFC 3581). Pure,
 * and bounded: whatever a registrar sends becomes a few numbers and short texts.
 */

import { type DigestChallenge, readChallenges } from '../digest-challenge.ts';
import { header, headerList, parameter, type SipHeader, uriOf } from '../embedded/message.ts';
import { readSipUri } from '../sip-address.ts';
import { type Redirection, readRedirection } from './redirection.ts';

/** A final response, as signalling received it. */
export interface SipAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly SipHeader[];
  /** Where it came from. */
  readonly sourceAddress: string;
  /** The Contact of our request as it left: signalling fills in its own address. Null if it had none. */
  readonly contact: string | null;
  /** Name of the SIP server that sent the request. */
  readonly server: string;
}

/** One Contact that the registrar has for the account. */
export interface Binding {
  readonly uri: string;
  /** Null if the registrar does not say. */
  readonly expiresSeconds: number | null;
}

/** The content of a response. */
export interface RegisterAnswer {
  readonly status: number;
  /** `403 Forbidden`. */
  readonly text: string;
  readonly challenges: readonly DigestChallenge[];
  readonly bindings: readonly Binding[];
  /** Of the header Expires; null without one. */
  readonly expiresSeconds: number | null;
  /** Of a 423; null without one. */
  readonly minExpiresSeconds: number | null;
  readonly retryAfterSeconds: number | null;
  /** `host:port` from which the request seems to have come, if that is not the one it names (RFC 3581). */
  readonly observed: string | null;
  /** Where our request came from in the eyes of the other side, whether or not it names the same. */
  readonly source: string | null;
  /** The usable Contacts of a redirection, the preferred ones first. */
  readonly redirects: readonly Redirection[];
  /** Routes for our calls (RFC 3608). */
  readonly serviceRoute: readonly string[];
  /** The registrar wants a sign of life so often (RFC 5626 §4.4.1); null if it does not say. */
  readonly flowTimerSeconds: number | null;
}

const MAX_BINDINGS = 32;
const MAX_ROUTES = 4;
const MAX_REASON_CHARS = 100;
const SECONDS = /^\s*(\d{1,10})(?=[\s;(]|$)/;

/** Reads a response. */
export function readRegisterAnswer({ status, reason, headers }: SipAnswer): RegisterAnswer {
  const message = { headers };
  const seconds = (name: string) => secondsOf(header(message, name));
  const contacts = headerList(message, 'contact').slice(0, MAX_BINDINGS);
  const isRedirect = status >= 300 && status < 400;
  const place = placeOf(headerList(message, 'via')[0] ?? '');
  return {
    status,
    text: `${status} ${printable(reason)}`.trim(),
    challenges: readChallenges({ status, headers }),
    bindings: isRedirect
      ? []
      : contacts.filter(isPlain).map((contact) => ({
          uri: uriOf(contact),
          expiresSeconds: secondsOf(parameter(contact, 'expires')),
        })),
    expiresSeconds: seconds('expires'),
    minExpiresSeconds: seconds('min-expires'),
    retryAfterSeconds: seconds('retry-after'),
    observed: place.seen === place.named ? null : place.seen,
    source: place.seen,
    redirects: isRedirect ? preferredFirst(contacts).flatMap(redirectionOf) : [],
    serviceRoute: headerList(message, 'service-route').slice(0, MAX_ROUTES).filter(isRoute),
    flowTimerSeconds: seconds('flow-timer'),
  };
}

function secondsOf(text: string | null): number | null {
  const digits = SECONDS.exec(text ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Where the top Via says the request came from, and where the receiver saw it. */
function placeOf(via: string): { readonly named: string | null; readonly seen: string | null } {
  const [, host = '', port = '5060'] =
    /^SIP\s*\/\s*2\.0\s*\/\s*\w+\s+(\[[0-9a-f:.]+\]|[^\s:;,[\]]+)(?:\s*:\s*(\d{1,5}))?/i.exec(via) ?? [];
  if (host === '') return { named: null, seen: null };
  const address = parameter(via, 'received') ?? host;
  const seenPort = parameter(via, 'rport') ?? '';
  const written = address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
  const seen = `${written}:${/^\d{1,5}$/.test(seenPort) ? seenPort : port}`;
  return { named: `${host}:${port}`, seen: readSipUri(`sip:${seen}`) ? seen : `${host}:${port}` };
}

/** By their q, which is 1 by default (RFC 3261 §8.1.3.4). */
function preferredFirst(contacts: readonly string[]): string[] {
  const weight = (contact: string) =>
    Number(/^[01](?:\.\d{1,3})?$/.exec(parameter(contact, 'q') ?? '')?.[0] ?? 1);
  return contacts.toSorted((one, other) => weight(other) - weight(one));
}

function redirectionOf(contact: string): Redirection[] {
  const redirection = isPlain(contact) ? readRedirection(uriOf(contact)) : null;
  return redirection ? [redirection] : [];
}

function isTarget(uri: string): boolean {
  return isPlain(uri) && /^sips?:/i.test(uri) && readSipUri(uri) !== null;
}

/** Whether the URI of a value can be written into a request as it is. */
function isPlain(value: string): boolean {
  return /^[^\s<>"]{1,512}$/.test(uriOf(value));
}

function isRoute(route: string): boolean {
  return /^<[^<>]+>$/.test(route) && isTarget(uriOf(route));
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_REASON_CHARS);
}
