/**
 * Admission requests from drachtio-server: its HTTP request handler posts the INVITE as text, gives the
 * source in the query and its password in the URL. Converted to the request the embedded signalling sends.
 */
import { z } from 'zod';
import { type AdmissionRequest, admissionHeaders, admissionRequest } from '#protocol/sip-admission.ts';

/** Query parameters drachtio-server adds to describe the INVITE; the rest are ignored. */
export const drachtioQuery = z.object({
  source_address: z.union([z.ipv4(), z.ipv6()]),
  protocol: z.enum(['udp', 'tcp', 'tls']).catch('udp'),
});

/** The part of the handler's address that names the server. */
export const drachtioServer = z.object({ server: z.string().max(300).optional() });

const COMPACT: Readonly<Record<string, string>> = { i: 'call-id', f: 'from' };
const USER = /sips?:([^@;?>\s]*)(@?)/gi;
const TEL = /tel:([^;?>\s]*)/i;

/** Parses an INVITE. Null when the text is not an INVITE or has values admission does not accept. */
export function readDrachtioQuestion(
  invite: string,
  query: z.output<typeof drachtioQuery>,
  { server }: z.output<typeof drachtioServer> = {},
): AdmissionRequest | null {
  const [requestLine = '', ...lines] = (invite.split(/\r?\n\r?\n/, 1)[0] ?? '')
    .replace(/\r?\n[ \t]+/g, ' ')
    .split(/\r?\n/);
  const requestUri = /^INVITE (\S+) SIP\/2\.0$/.exec(requestLine)?.[1];
  if (requestUri === undefined) return null;
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    return { name: COMPACT[name] ?? name, value: line.slice(colon + 1).trim() };
  });
  const first = (wanted: string) => headers.find(({ name }) => name === wanted)?.value;
  const question = admissionRequest.safeParse({
    call_id: first('call-id'),
    from_user: userOf(first('from') ?? ''),
    to_user: userOf(requestUri),
    request_uri: requestUri,
    user_agent: first('user-agent')?.slice(0, 256),
    source_address: query.source_address,
    // Not reported by drachtio-server; no decision depends on it.
    source_port: 0,
    transport: query.protocol,
    headers: admissionHeaders(headers),
    ...(server === undefined ? {} : { server }),
  });
  return question.success ? question.data : null;
}

/**
 * The password of a Basic authorization (RFC 7617) as the equivalent Bearer value; undefined for anything
 * else.
 */
export function bearerOfBasic(authorization: string | undefined): string | undefined {
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  return `Bearer ${decoded.slice(decoded.indexOf(':') + 1)}`;
}

function userOf(uri: string): string {
  const addressed = [...uri.matchAll(USER)].find(([, , at]) => at === '@');
  const user = addressed?.[1] ?? TEL.exec(uri)?.[1] ?? '';
  try {
    return decodeURIComponent(user);
  } catch {
    return user;
  }
}
