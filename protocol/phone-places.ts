/**
 * A worker's question before it rings the phones with an extension (`POST /internal/sip/phones`), and the
 * answer: they may have registered anew since the plan of the call was made.
 */
import { z } from 'zod';

export const phonesQuestion = z.object({ session_id: z.string(), extension: z.string() });

/** Where one device is called. */
export const phonePlace = z.object({
  /** Its Contact. */
  dial_uri: z.string(),
  /** Where to send, by address: where it registered from. */
  next_hop: z.string(),
  /** Route headers: the Path to it (RFC 3327). */
  routes: z.array(z.string()),
  /** Name of the SIP server at which it registered, which has its connection. */
  server: z.string(),
});
export type PhonePlace = z.output<typeof phonePlace>;

/** Where to call each; empty if none is registered. */
export const phonePlaces = z.object({ places: z.array(phonePlace) });
