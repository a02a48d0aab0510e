/** Compares secrets and signatures. */
import { timingSafeEqual } from 'node:crypto';

/** In constant time for one length, so that the time does not reveal where they differ. */
export function isSameSecret(given: string | Uint8Array, expected: string | Uint8Array): boolean {
  const [one, other] = [bytesOf(given), bytesOf(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function bytesOf(secret: string | Uint8Array): Uint8Array {
  return typeof secret === 'string' ? Buffer.from(secret) : secret;
}
