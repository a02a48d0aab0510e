/**
 * What signalling asks the control plane about a new INVITE, and the answer: `POST /internal/sip/admit`,
 * `Authorization: Bearer <WORKER_TOKEN>`. The answer has the format of drachtio-server's HTTP request
 * handlers, so that the embedded signalling and drachtio-server ask alike.
 */
import { z } from 'zod';

const MAX_VALUE_CHARS = 2_048;
const headerValue = z.string().max(MAX_VALUE_CHARS);
/** Header of a test call of the doctor: proves that the operator asked for it. */
export const TEST_CALL_HEADER = 'X-Parley-Test-Call';
/** Headers with credentials: each value is separate. */
const PROOFS = new Set(['authorization', 'proxy-authorization', TEST_CALL_HEADER.toLowerCase()]);
const ABOUT_THE_CALLER = new Set(['p-asserted-identity', 'privacy', 'diversion']);

/** A new INVITE outside any dialog. */
export const admissionRequest = z.object({
  call_id: z.string().min(1).max(512),
  /** User part of the From URI, decoded, as the carrier wrote it, including `anonymous`; empty if absent. */
  from_user: z.string().max(256),
  /** User part of the Request-URI, decoded. */
  to_user: z.string().max(256),
  /** As in the INVITE; absent from older releases of signalling. */
  request_uri: z.string().max(MAX_VALUE_CHARS).optional(),
  /** The name that the caller's device gives itself; absent if it gives none, and from older releases. */
  user_agent: z.string().max(256).optional(),
  source_address: z.union([z.ipv4(), z.ipv6()]),
  /**
   * True if the INVITE came in on the loopback, where only programs of this machine can send; absent if
   * signalling listens on another address, or cannot tell.
   */
  is_local: z.literal(true).optional(),
  source_port: z.number().int().min(0).max(65_535),
  transport: z.enum(['udp', 'tcp', 'tls']),
  /**
   * Lower-case name → value of: authorization, proxy-authorization, p-asserted-identity, privacy, diversion,
   * and every x- header.
   */
  headers: z.record(z.string().max(128), headerValue),
  /**
   * False if the offer has none of our codecs; absent if signalling cannot tell: the worker then refuses the
   * call.
   */
  is_answerable: z.boolean().optional(),
  /**
   * Tags of the workers that are connected to the asking server: only these can be answered. Absent from
   * older releases of signalling.
   */
  worker_tags: z.array(z.string().max(64)).optional(),
  /** Name of the asking server as in the workers' settings; absent if it cannot tell. */
  server: z.string().max(300).optional(),
});
export type AdmissionRequest = z.infer<typeof admissionRequest>;

/**
 * The headers of an INVITE that belong in the question; several of one name form a list (RFC 3261 §7.3.1).
 */
export function admissionHeaders(
  all: Iterable<{ readonly name: string; readonly value: string }>,
): AdmissionRequest['headers'] {
  const headers: Record<string, string> = {};
  for (const { name: written, value } of all) {
    const name = written.toLowerCase();
    const before = headers[name];
    if (PROOFS.has(name)) headers[name] = before ?? value.slice(0, MAX_VALUE_CHARS);
    else if (ABOUT_THE_CALLER.has(name) || name.startsWith('x-'))
      headers[name] = (before === undefined ? value : `${before}, ${value}`).slice(0, MAX_VALUE_CHARS);
  }
  return headers;
}

/** The caller's answer to a challenge; undefined without one. */
export function digestAnswer({ headers }: Pick<AdmissionRequest, 'headers'>): string | undefined {
  return headers['proxy-authorization'] ?? headers['authorization'];
}

/** The headers to store: without credentials. */
export function withoutCredentials(headers: AdmissionRequest['headers']): AdmissionRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !PROOFS.has(name)));
}

/** Which application takes the INVITE, or how to refuse it. */
export const admissionAnswer = z.discriminatedUnion('action', [
  /** Route it to the application connected with this tag. */
  z.object({ action: z.literal('route'), data: z.object({ tag: z.string().min(1) }) }),
  z.object({
    action: z.literal('reject'),
    /** A list of values is one row each. */
    data: z.object({
      status: z.number().int().min(300).max(699),
      reason: z.string(),
      headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).optional(),
    }),
  }),
]);
export type AdmissionAnswer = z.infer<typeof admissionAnswer>;
