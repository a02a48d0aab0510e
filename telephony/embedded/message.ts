/**
 * SIP messages as text: a bounds-checked parser and a writer (RFC 3261 §7, §25). Headers keep their order and
 * form, because most are passed on unchanged; only those needed for routing and transactions are parsed.
 */

/** Largest message accepted from the network, bytes: the most a UDP datagram can carry. */
export const MAX_MESSAGE_BYTES = 65_535;
const MAX_HEADERS = 256;
/** Longest header, including its continuation lines. */
const MAX_HEADER_CHARS = 8_192;

/** A header as received, with continuation lines joined. */
export interface SipHeader {
  readonly name: string;
  readonly value: string;
}

/** A request or a response. */
export interface SipMessage {
  readonly start: RequestLine | StatusLine;
  readonly headers: readonly SipHeader[];
  readonly body: string;
}

export interface RequestLine {
  readonly kind: 'request';
  readonly method: string;
  readonly uri: string;
}

export interface StatusLine {
  readonly kind: 'response';
  readonly status: number;
  readonly reason: string;
}

/** Compact header forms (RFC 3261 §7.3.3). */
const COMPACT: Readonly<Record<string, string>> = {
  v: 'via',
  f: 'from',
  t: 'to',
  m: 'contact',
  i: 'call-id',
  l: 'content-length',
  c: 'content-type',
  e: 'content-encoding',
  k: 'supported',
  s: 'subject',
  r: 'refer-to',
  b: 'referred-by',
  o: 'event',
  u: 'allow-events',
  x: 'session-expires',
};

/**
 * Parses one whole message; null if it is malformed. A body longer than Content-Length is cut, a shorter one
 * makes the message malformed.
 */
export function parseMessage(text: string): SipMessage | null {
  const trimmed = text.replace(/^(\r?\n)+/, '');
  const end = /\r?\n\r?\n/.exec(trimmed);
  if (!end) return null;
  const lines = trimmed
    .slice(0, end.index)
    .replace(/\r?\n[ \t]+/g, ' ')
    .split(/\r?\n/);
  const start = parseStart(lines[0] ?? '');
  const headers = parseHeaders(lines.slice(1));
  if (!start || !headers) return null;
  const body = cutBody(trimmed.slice(end.index + end[0].length), headers);
  return body === null ? null : { start, headers, body };
}

/** First value of a header by its lower-case long name, or null. */
export function header(message: Pick<SipMessage, 'headers'>, name: string): string | null {
  return message.headers.find((entry) => longName(entry.name) === name)?.value ?? null;
}

/**
 * Every value of a header that may be a comma-separated list (Via, Route, Record-Route, Contact), in order.
 */
export function headerList(message: Pick<SipMessage, 'headers'>, name: string): string[] {
  return message.headers
    .filter((entry) => longName(entry.name) === name)
    .flatMap((entry) => splitList(entry.value));
}

/** Lower-case long form of a header name. */
export function longName(name: string): string {
  const lower = name.toLowerCase();
  return COMPACT[lower] ?? lower;
}

/** Writes a message and sets Content-Length to the size of its body. */
export function formatMessage(message: SipMessage): string {
  const { start } = message;
  const first =
    start.kind === 'request'
      ? `${start.method} ${start.uri} SIP/2.0`
      : `SIP/2.0 ${start.status} ${start.reason}`;
  const lines = message.headers
    .filter((entry) => longName(entry.name) !== 'content-length')
    .map((entry) => `${entry.name}: ${entry.value}`);
  return [first, ...lines, `Content-Length: ${Buffer.byteLength(message.body)}`, '', message.body].join(
    '\r\n',
  );
}

/** Value of a header parameter by its lower-case name, such as `tag` of a From; null if absent. */
export function parameter(value: string, name: string): string | null {
  const outside = value
    .replace(/<[^<>]*>/g, '<>')
    .replace(/"[^"\\]*(?:\\[\s\S][^"\\]*)*("?)/g, (quoted, end) => (end === '' ? quoted : '""'));
  for (const part of outside.split(';').slice(1)) {
    const [, key, given] = /^\s*([^\s=]+)\s*=\s*([^,\s]+)/.exec(part) ?? [];
    if (key?.toLowerCase() === name) return given ?? null;
  }
  return null;
}

/** The URI of a From, To, Contact or Route value. */
export function uriOf(value: string): string {
  return /<([^<>]*)>/.exec(value)?.[1] ?? value.split(';')[0]?.trim() ?? '';
}

/** The target for requests to the sender of a message within its dialog; null without a usable Contact. */
export function contactUri(message: Pick<SipMessage, 'headers'>): string | null {
  const uri = uriOf(headerList(message, 'contact')[0] ?? '');
  return /^sips?:[^\s<>"]+$/i.test(uri) ? uri : null;
}

/** Parts of a SIP URI; null if it is invalid. The port is null if the URI has none. */
export function parseUri(
  uri: string,
): { user: string; host: string; port: number | null; transport: string | null } | null {
  // A host with a NUL makes the socket throw.
  if (/[\r\n\0]/.test(uri)) return null;
  const match = /^sips?:(?:([^@]*)@)?(\[[0-9a-fA-F:.]+\]|[^:;?>\s[\]]+)(?::(\d{1,5}))?(.*)$/is.exec(uri);
  if (!match) return null;
  const port = match[3] === undefined ? null : Number(match[3]);
  if (port !== null && (port < 1 || port > 65_535)) return null;
  return {
    user: decode((match[1] ?? '').split(':')[0]?.split(';')[0] ?? ''),
    host: (match[2] ?? '').replace(/^\[|\]$/g, ''),
    port,
    transport: /;transport=([a-z]+)/i.exec(match[4] ?? '')?.[1]?.toLowerCase() ?? null,
  };
}

/** Number and method of CSeq; null if it is malformed (RFC 3261 §20.16). */
export function parseCseq(message: Pick<SipMessage, 'headers'>): { number: number; method: string } | null {
  const match = /^(\d{1,10})\s+([A-Za-z0-9.!%*_+`'~-]+)$/.exec(header(message, 'cseq') ?? '');
  if (!match) return null;
  const number = Number(match[1]);
  return number < 2 ** 31 ? { number, method: match[2] ?? '' } : null;
}

function parseStart(line: string): RequestLine | StatusLine | null {
  const status = /^SIP\/2\.0 (\d{3})(?: (.*))?$/i.exec(line);
  if (status) {
    const code = Number(status[1]);
    return code >= 100 && code <= 699 ? { kind: 'response', status: code, reason: status[2] ?? '' } : null;
  }
  const request = /^([A-Za-z0-9.!%*_+`'~-]{1,128}) (\S{1,2048}) SIP\/2\.0$/i.exec(line);
  return request ? { kind: 'request', method: request[1] ?? '', uri: request[2] ?? '' } : null;
}

function parseHeaders(lines: readonly string[]): SipHeader[] | null {
  if (lines.length > MAX_HEADERS || lines.some((line) => line.length > MAX_HEADER_CHARS)) return null;
  const headers: SipHeader[] = [];
  for (const line of lines) {
    const match = /^([A-Za-z0-9.!%*_+`'~-]{1,128})[ \t]*:[ \t]*(.*)$/s.exec(line);
    if (!match) return null;
    headers.push({ name: match[1] ?? '', value: (match[2] ?? '').trim() });
  }
  return headers;
}

function cutBody(rest: string, headers: readonly SipHeader[]): string | null {
  const given = header({ headers }, 'content-length');
  if (given === null) return rest;
  if (!/^\d{1,6}$/.test(given)) return null;
  const bytes = Buffer.from(rest);
  return bytes.length < Number(given) ? null : bytes.subarray(0, Number(given)).toString();
}

/** Splits at commas outside angle brackets and quotes. */
function splitList(value: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let isQuoted = false;
  let from = 0;
  for (let at = 0; at < value.length; at++) {
    const character = value[at];
    if (character === '\\' && isQuoted) at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === '<') depth += 1;
    else if (character === '>') depth -= 1;
    else if (character === ',' && depth <= 0) {
      parts.push(value.slice(from, at).trim());
      from = at + 1;
    }
  }
  parts.push(value.slice(from).trim());
  return parts.filter((part) => part !== '');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
