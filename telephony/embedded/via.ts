/**
 * The Via of a request: who sent it, where its responses go, and which transaction it belongs to (RFC 3261
 * §17.2.3, §18.2, RFC 3581).
 */
import { DEFAULT_PORTS } from '../sip-address.ts';
import { header, headerList, longName, parameter, parseCseq, type SipMessage } from './message.ts';
import type { Peer } from './transport.ts';

/** A branch with this prefix identifies its transaction (RFC 3261 §8.1.1.7). */
export const BRANCH_COOKIE = 'z9hG4bK';
const MAX_PORT = 65_535;

/** One Via value. */
export interface Via {
  readonly host: string;
  /** Null if absent. */
  readonly port: number | null;
  /** Null: a client of RFC 2543. */
  readonly branch: string | null;
}

const TOKEN = "[A-Za-z0-9.!%*_+`'~-]+";
const HOST = '(\\[[0-9A-Fa-f:.]+\\]|[^\\s:;,[\\]]+)';
const PORT = '(?:\\s*:\\s*(\\d{1,5}))?';
const PARAMETER = `\\s*;\\s*${TOKEN}(?:\\s*=\\s*(?:"[^"]*"|[^\\s;,"]+))?`;
const VIA = new RegExp(`^SIP\\s*/\\s*2\\.0\\s*/\\s*${TOKEN}\\s+${HOST}${PORT}(?:${PARAMETER})*\\s*$`, 'i');

/** Parses a Via value; null if it is malformed (RFC 3261 §20.42). */
export function parseVia(value: string): Via | null {
  const match = VIA.exec(value);
  return (
    match && {
      host: match[1] ?? '',
      port: match[2] === undefined ? null : Number(match[2]),
      branch: parameter(value, 'branch'),
    }
  );
}

/** True if the branch identifies the transaction. */
export function hasCookie({ branch }: Via): boolean {
  return branch?.startsWith(BRANCH_COOKIE) ?? false;
}

/** The top Via with the request's real source (RFC 3261 §18.2.1, RFC 3581 §4). */
export function withReceived(message: SipMessage, source: Peer): SipMessage {
  const [top = '', ...others] = headerList(message, 'via');
  const ported = top
    .replace(/;\s*received=[^;]*/i, '')
    .replace(/;\s*rport(?:=\d*)?(?=;|$)/i, `;rport=${source.port}`);
  const marked = `${ported};received=${source.address}`;
  const rest = message.headers.filter((entry) => longName(entry.name) !== 'via');
  return { ...message, headers: [...[marked, ...others].map((value) => ({ name: 'Via', value })), ...rest] };
}

/** Responses go to the source of the request; without `rport`, to the port in its Via (RFC 3261 §18.2.2). */
export function replyPeer(message: SipMessage, source: Peer): Peer {
  if (source.transport !== 'udp') return source;
  const top = headerList(message, 'via')[0] ?? '';
  const via = parseVia(top);
  if (!via || parameter(top, 'rport') !== null) return source;
  const port = via.port ?? DEFAULT_PORTS.udp;
  return port < 1 || port > MAX_PORT ? source : { ...source, port };
}

/** The default port of a URI without one. */
export function defaultPort(transport: Peer['transport']): number {
  return DEFAULT_PORTS[transport];
}

/**
 * Key of a transaction: branch, sent-by and method, or the fields that a client of RFC 2543 keeps the same in
 * an INVITE, its ACK and its CANCEL (RFC 3261 §17.2.3).
 */
export function transactionKey(message: SipMessage, method: string): string {
  const via = parseVia(headerList(message, 'via')[0] ?? '');
  const sentBy = via ? `${via.host}:${via.port ?? ''}`.toLowerCase() : '';
  if (via && hasCookie(via)) return `${via.branch}\n${sentBy}\n${method}`;
  const uri = message.start.kind === 'request' ? message.start.uri : '';
  const fromTag = parameter(header(message, 'from') ?? '', 'tag') ?? '';
  return [
    uri,
    fromTag,
    header(message, 'call-id'),
    parseCseq(message)?.number,
    via?.branch ?? '',
    sentBy,
    method,
  ].join('\n');
}
