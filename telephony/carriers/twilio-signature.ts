/** The signature in requests of Twilio, which its SDK checks. */
import { z } from 'zod';
import type { CarrierRequest } from './carrier.ts';

/** Headers with a signature. */
export const twilioSignature = z.object({ 'x-twilio-signature': z.string().min(1).max(128) });

/** False if a request cannot come from Twilio, whatever its body contains; the body is then not read. */
export function isSignedByTwilio(headers: CarrierRequest['headers']): boolean {
  return twilioSignature.safeParse(headers).success;
}
