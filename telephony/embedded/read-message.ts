/**
 * Classifies data from the network: a message, a request to refuse, or unanswerable data (RFC 3261 §7, §8.2,
 * RFC 4475). A refusal quotes the readable part of the request and keeps no state.
 */
import {
  header,
  headerList,
  longName,
  parameter,
  parseCseq,
  parseMessage,
  type SipHeader,
  type SipMessage,
} from './message.ts';
import { BRANCH_COOKIE, hasCookie, parseVia } from './via.ts';

/** The result of reading. */
export type ReadResult =
  | { readonly is: 'message'; readonly message: SipMessage }
  | { readonly is: 'refused'; readonly status: 400 | 505; readonly request: SipMessage }
  | { readonly is: 'nothing' };

const NOTHING: ReadResult = { is: 'nothing' };
/** Headers that occur at most once (RFC 3261 §7.3.1). */
const SINGLE = ['from', 'to', 'call-id', 'cseq', 'max-forwards', 'content-length', 'content-type'];
const REQUIRED = ['from', 'to', 'call-id'];
const NAMED_PARTIES = ['from', 'to', 'contact'];
const MAX_HEADERS = 256;
const MAX_URI_CHARS = 2_048;

/** Reads one whole message. */
export function readMessage(text: string): ReadResult {
  const message = parseMessage(text);
  if (message === null) return salvage(text);
  if (message.start.kind === 'response' || isWellFormed(message)) return { is: 'message', message };
  return refused(400, message);
}

/** A malformed request: reads what a refusal needs. */
function salvage(text: string): ReadResult {
  const head = text.replace(/^(\r?\n)+/, '').split(/\r?\n\r?\n/, 1)[0] ?? '';
  const [first = '', ...lines] = head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/, MAX_HEADERS);
  const start = salvageStart(first);
  if (!start) return NOTHING;
  const headers = lines.flatMap((line): SipHeader[] => {
    const match = /^([A-Za-z0-9.!%*_+`'~-]{1,128})[ \t]*:[ \t]*(.*)$/s.exec(line);
    return match ? [{ name: match[1] ?? '', value: (match[2] ?? '').trim() }] : [];
  });
  const request: SipMessage = {
    start: { kind: 'request', method: start.method, uri: start.uri },
    headers,
    body: '',
  };
  return refused(start.version === '2.0' ? 400 : 505, request);
}

/** A method, any text, and a version. */
function salvageStart(line: string): { method: string; uri: string; version: string } | null {
  const [opening, method] = /^(\S{1,128})[ \t]+/.exec(line) ?? [];
  const [closing, version] = /(?<=[ \t])SIP\/(\d{1,3}\.\d{1,3})(?=[ \t]*$)/i.exec(line) ?? [];
  if (opening === undefined || method === undefined || closing === undefined || version === undefined)
    return null;
  const uri = line.slice(opening.length, line.lastIndexOf(closing)).trimEnd();
  return uri === '' || uri.length > MAX_URI_CHARS || /\r/.test(uri) ? null : { method, uri, version };
}

/** An ACK is never answered (RFC 3261 §17), nor is a request that does not name its sender. */
function refused(status: 400 | 505, request: SipMessage): ReadResult {
  const isAnswered =
    request.start.kind === 'request' &&
    request.start.method !== 'ACK' &&
    headerList(request, 'via').length > 0;
  return isAnswered ? { is: 'refused', status, request } : NOTHING;
}

/** Headers that every request must have, once and complete. */
function isWellFormed(request: SipMessage): boolean {
  if (request.start.kind !== 'request') return false;
  const { method, uri } = request.start;
  const cseq = parseCseq(request);
  const vias = headerList(request, 'via').map(parseVia);
  const top = vias[0];
  if (!top || vias.includes(null) || top.branch === BRANCH_COOKIE) return false;
  // Clients of RFC 2543 may omit the tag (§4.1.2 there).
  const isNamed = parameter(header(request, 'from') ?? '', 'tag') !== null || !hasCookie(top);
  return (
    isNamed &&
    cseq?.method === method &&
    isUsableUri(uri) &&
    REQUIRED.every((name) => (header(request, name) ?? '') !== '') &&
    SINGLE.every((name) => request.headers.filter((entry) => longName(entry.name) === name).length <= 1) &&
    request.headers.every(
      (entry) => !NAMED_PARTIES.includes(longName(entry.name)) || hasClosedQuotes(entry.value),
    )
  );
}

/** A Request-URI has no angle brackets and no headers (RFC 3261 §19.1.1). */
function isUsableUri(uri: string): boolean {
  return !/[<>"]/.test(uri) && !(/^sips?:/i.test(uri) && uri.slice(uri.indexOf('@') + 1).includes('?'));
}

function hasClosedQuotes(value: string): boolean {
  let isQuoted = false;
  for (let at = 0; at < value.length; at++) {
    if (value[at] === '\\' && isQuoted) at += 1;
    else if (value[at] === '"') isQuoted = !isQuoted;
  }
  return !isQuoted;
}
