/** SIP messages as the caller reads and writes them (RFC 3261 §7), independent of the product's parser. */

/**
 * A message. Header names are in lower-case long form; each value of a repeated header is separate, in order.
 */
export interface SipMessage {
  /** The method of a request, or of the request that a response answers. */
  readonly method: string;
  /** Null in a request. */
  readonly status: number | null;
  readonly reason: string;
  /** Empty in a response. */
  readonly requestUri: string;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
}

const LONG_NAMES: Readonly<Record<string, string>> = {
  v: 'via',
  f: 'from',
  t: 'to',
  i: 'call-id',
  m: 'contact',
  l: 'content-length',
  c: 'content-type',
};
/** Headers that may contain several comma-separated values. */
const LISTS = new Set(['via', 'contact', 'record-route', 'route']);

/** Parses a datagram; null if it is not a SIP message. */
export function parseSip(datagram: Buffer): SipMessage | null {
  const text = datagram.toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [startLine = '', ...lines] = text
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) return null;
    const name = line.slice(0, colon).trim().toLowerCase();
    const long = LONG_NAMES[name] ?? name;
    const value = line.slice(colon + 1).trim();
    headers.set(long, [...(headers.get(long) ?? []), ...(LISTS.has(long) ? splitList(value) : [value])]);
  }
  const body = text.slice(end + 4);
  const response = /^SIP\/2\.0 (\d{3}) ?(.*)$/.exec(startLine);
  if (response) {
    const method = headers.get('cseq')?.[0]?.split(/\s+/)[1] ?? '';
    return { method, status: Number(response[1]), reason: response[2] ?? '', requestUri: '', headers, body };
  }
  const request = /^([A-Z]+) (\S+) SIP\/2\.0$/.exec(startLine);
  return request
    ? { method: request[1] ?? '', status: null, reason: '', requestUri: request[2] ?? '', headers, body }
    : null;
}

/** Formats a message and adds `Content-Length`. */
export function writeSip(
  startLine: string,
  headers: readonly (readonly [string, string])[],
  body = '',
): Buffer {
  const lines = [
    startLine,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** First value of a header; empty if absent. */
export function header(message: SipMessage, name: string): string {
  return message.headers.get(name)?.[0] ?? '';
}

/** Tag of a From or To value; empty if absent. */
export function tagOf(value: string): string {
  return /;\s*tag=([^;\s>]+)/i.exec(value.replace(/<[^>]*>/, ''))?.[1] ?? '';
}

/** The URI of a name-addr or addr-spec. */
export function uriOf(value: string): string {
  return /<([^>]*)>/.exec(value)?.[1] ?? value.split(';')[0]?.trim() ?? '';
}

/** Splits at commas outside quotes and angle brackets. */
function splitList(value: string): string[] {
  return (value.match(/(?:"(?:\\.|[^"\\])*"|<[^>]*>|[^,"<])+/g) ?? [])
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
