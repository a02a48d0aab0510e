/** The signature in requests of Twilio, which its SDK checks (www.twilio.com/docs/usage/security). */
import twilio from 'twilio';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { CarrierRequest } from './carrier.ts';

const signed = z.object({ 'x-twilio-signature': z.string().min(1).max(128) });

/** False if a request cannot come from Twilio, whatever its body contains; the body is then not read. */
export function isSignedByTwilio(headers: CarrierRequest['headers']): boolean {
  return signed.safeParse(headers).success;
}

/**
 * The fields of a request of the account with this token; the signature covers the URL and every field.
 * Throws `Fault('callback_not_genuine')`.
 */
export function readTwilioForm<Schema extends z.ZodType>(
  authToken: string,
  { url, headers, form }: CarrierRequest,
  schema: Schema,
): z.output<Schema> {
  const [head, asked] = [signed.safeParse(headers), schema.safeParse(form)];
  if (
    !head.success ||
    !asked.success ||
    !twilio.validateRequest(authToken, head.data['x-twilio-signature'], url, form)
  )
    throw fault('callback_not_genuine');
  return asked.data;
}
