/**
 * A worker's question about a REGISTER that a phone has sent to signalling, and the answer to send: `POST
 * /internal/sip/register`, `Authorization: Bearer <WORKER_TOKEN>`.
 */
import { z } from 'zod';

const MAX_VALUE_CHARS = 2_048;
const MAX_HEADERS = 48;
const field = z.object({ name: z.string().max(128), value: z.string().max(MAX_VALUE_CHARS) });

/** Headers that the answer depends on, by their full names in lower case. */
const ASKED = new Set([
  'to',
  'call-id',
  'cseq',
  'contact',
  'expires',
  'path',
  'require',
  'supported',
  'authorization',
  'user-agent',
]);

/** A REGISTER, with where it came from. */
export const registerQuestion = z.object({
  uri: z.string().max(MAX_VALUE_CHARS),
  headers: z.array(field).max(MAX_HEADERS),
  source_address: z.union([z.ipv4(), z.ipv6()]),
  /** Where the answer goes: a phone without `rport` has it in its Via (RFC 3581). */
  source_port: z.number().int().min(0).max(65_535),
  transport: z.enum(['udp', 'tcp', 'tls']),
  /** Name of the SIP server that received it, as in the settings. */
  server: z.string().max(300),
});
export type RegisterQuestion = z.output<typeof registerQuestion>;

/** The final response. */
export const registerAnswer = z.object({
  status: z.number().int().min(200).max(699),
  reason: z.string(),
  /** In order; several of one name are several lines. */
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
});
export type RegisterAnswer = z.output<typeof registerAnswer>;

/**
 * The headers for the question; null if they do not fit in it. `longName` expands compact names (RFC 3261
 * §7.3.3).
 */
export function askedHeaders(
  all: Iterable<{ readonly name: string; readonly value: string }>,
  longName: (name: string) => string,
): RegisterQuestion['headers'] | null {
  const headers = [...all].map(({ name, value }) => ({ name: longName(name), value }));
  const asked = headers.filter(({ name }) => ASKED.has(name));
  const fits = asked.length <= MAX_HEADERS && asked.every(({ value }) => value.length <= MAX_VALUE_CHARS);
  return fits ? asked : null;
}
