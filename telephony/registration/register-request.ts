/** Reads a REGISTER of a phone (RFC 3261 §10.3, RFC 3327, RFC 5626). Pure, and bounded. */
import { header, headerList, parameter, parseCseq, type SipHeader, uriOf } from '../embedded/message.ts';
import { REGISTER_EXTENSIONS } from '../extensions.ts';
import { readSipUri } from '../sip-address.ts';

/** One Contact of a REGISTER. */
export interface AskedContact {
  /** Without `<` and `>`. */
  readonly uri: string;
  /** Its own; null: that of the request. */
  readonly expiresSeconds: number | null;
  /** The phone and its connection: a new Contact with the same one replaces the old one (RFC 5626 §6). */
  readonly flow: string | null;
  /** The phone, with whichever connection. */
  readonly instance: string | null;
}

/** A REGISTER. */
export interface RegisterRequest {
  /** User part of To, decoded. */
  readonly user: string;
  readonly callId: string;
  readonly cseq: number;
  /** `*`: all bindings are to be removed. */
  readonly contacts: readonly AskedContact[] | '*';
  /** Of the header Expires; null without one. */
  readonly expiresSeconds: number | null;
  /** Routes to the phone, as they stand. */
  readonly path: readonly string[];
  readonly supported: readonly string[];
  /** Extensions that are required and unknown here. */
  readonly unsupported: readonly string[];
  readonly userAgent: string;
}

const MAX_CONTACTS = 8;
const MAX_PATH = 4;
const MAX_USER_AGENT_CHARS = 120;
const MAX_SECONDS = 2 ** 31;

/** Reads the headers of a REGISTER; null if it is malformed. */
export function readRegister(headers: readonly SipHeader[]): RegisterRequest | null {
  const message = { headers };
  const to = readSipUri(uriOf(header(message, 'to') ?? ''));
  const callId = header(message, 'call-id') ?? '';
  const cseq = parseCseq(message);
  const contacts = readContacts(headerList(message, 'contact'));
  const path = headerList(message, 'path');
  // A malformed interval counts as none (RFC 3261 §10.3).
  const expiresSeconds = secondsOf(header(message, 'expires'));
  const isValid = cseq?.method === 'REGISTER' && callId !== '' && callId.length <= 256;
  if (!to || !isValid || !contacts || path.length > MAX_PATH || !path.every(isRoute)) return null;
  if (contacts === '*' && expiresSeconds !== 0) return null;
  const options = (name: string) => headerList(message, name).map((option) => option.toLowerCase());
  return {
    user: to.user,
    callId,
    cseq: cseq.number,
    contacts,
    expiresSeconds,
    path,
    supported: options('supported'),
    unsupported: options('require').filter((option) => !REGISTER_EXTENSIONS.includes(option)),
    userAgent: printable(header(message, 'user-agent') ?? ''),
  };
}

function readContacts(values: readonly string[]): RegisterRequest['contacts'] | null {
  if (values.length === 1 && values[0]?.trim() === '*') return '*';
  if (values.length > MAX_CONTACTS) return null;
  const contacts: AskedContact[] = [];
  for (const value of values) {
    const uri = uriOf(value);
    if (!/^sips?:[^\s<>"]{1,500}$/i.test(uri) || readSipUri(uri) === null) return null;
    const instance = instanceOf(value);
    const flow = /^\d{1,10}$/.exec(parameter(value, 'reg-id') ?? '')?.[0] ?? null;
    contacts.push({
      uri,
      expiresSeconds: secondsOf(parameter(value, 'expires')),
      instance,
      // Without a number of its own, a phone has one connection.
      flow: instance === null ? null : `${instance} ${flow ?? '-'}`,
    });
  }
  return contacts;
}

/** `+sip.instance="<urn:uuid:…>"`. */
function instanceOf(contact: string): string | null {
  return /;\s*\+sip\.instance\s*=\s*"<([^<>"]{1,128})>"/i.exec(contact)?.[1]?.toLowerCase() ?? null;
}

function secondsOf(text: string | null): number | null {
  const digits = /^\s*(\d{1,10})\s*$/.exec(text ?? '')?.[1];
  return digits === undefined ? null : Math.min(Number(digits), MAX_SECONDS);
}

function isRoute(value: string): boolean {
  return value.length <= 256 && /^<[^<>\s]+>[^<>\s]*$/.test(value) && readSipUri(uriOf(value)) !== null;
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_USER_AGENT_CHARS);
}
