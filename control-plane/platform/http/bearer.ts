/** Checks whether a request carries a given secret as its bearer token (RFC 6750 §2.1). */
import { isSameSecret } from '#base/same-secret.ts';

/** Compares in constant time. */
export function isBearer(authorization: string | undefined, secret: string): boolean {
  return isSameSecret(authorization ?? '', `Bearer ${secret}`);
}
