/** Checks whether a request carries a given secret as its bearer token (RFC 6750 §2.1). */
import { timingSafeEqual } from 'node:crypto';

/** Compares in constant time, so timing does not reveal the secret. */
export function isBearer(authorization: string | undefined, secret: string): boolean {
  const given = Buffer.from(authorization ?? '');
  const expected = Buffer.from(`Bearer ${secret}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
