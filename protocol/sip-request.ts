/**
 * A SIP request outside any call that the control plane has a worker send, such as a REGISTER, and its
 * answer.
 */
import { z } from 'zod';

const MAX_HEADERS = 96;
const MAX_VALUE_CHARS = 4_096;

const sipRequest = z.object({
  method: z.enum(['REGISTER', 'OPTIONS']),
  uri: z.string(),
  /** Where to send it, by address. */
  next_hop: z.string(),
  /** `@localhost` in From and Contact stands for the address of signalling. */
  headers: z.record(z.string(), z.string()),
  /** Name of the SIP server to send it through, if it is connected; null: any. */
  server: z.string().nullable(),
});
export type SipRequest = z.output<typeof sipRequest>;

/**
 * Send it; answered with a `SipResponse`, or refused as `no_signalling`. For workers that are connected to a
 * SIP server.
 */
export const sendSip = z.object({
  type: z.literal('send_sip'),
  request_id: z.string(),
  request: sipRequest,
});

/**
 * The final response. Signalling answers 408 and 503 itself for a peer that is silent or cannot be reached.
 */
export const sipResponse = z.object({
  status: z.number().int().min(200).max(699),
  reason: z.string().max(MAX_VALUE_CHARS),
  headers: z
    .array(z.object({ name: z.string().max(128), value: z.string().max(MAX_VALUE_CHARS) }))
    .max(MAX_HEADERS),
  source_address: z.string(),
  /** The Contact of the request as it was sent. */
  contact: z.string().nullable(),
  /** Name of the SIP server that sent it. */
  server: z.string(),
});
export type SipResponse = z.output<typeof sipResponse>;

/** Cuts what a peer has sent to what the answer may hold. */
export function boundedHeaders(
  headers: readonly { readonly name: string; readonly value: string }[],
): SipResponse['headers'] {
  return headers
    .filter(({ name, value }) => name.length <= 128 && value.length <= MAX_VALUE_CHARS)
    .slice(0, MAX_HEADERS)
    .map(({ name, value }) => ({ name, value }));
}
