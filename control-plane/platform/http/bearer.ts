/** Whether a request carries a secret as its bearer token (RFC 6750 §2.1). */
import { timingSafeEqual } from 'node:crypto';

/** Takes as long whatever of the secret was guessed. */
export function isBearer(authorization: string | undefined, secret: string): boolean {
  const given = Buffer.from(authorization ?? '');
  const expected = Buffer.from(`Bearer ${secret}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
