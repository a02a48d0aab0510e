/** Duplicate keys: the one database error that the product's rules depend on. */

/**
 * True for a unique index violation (MongoDB code 11000): another writer was first, or this write has already
 * been applied.
 */
export function isDuplicateKey(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 11_000;
}
