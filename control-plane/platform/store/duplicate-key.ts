/** The one database error the product's rules rest on. */

/**
 * True for the error of a unique index (MongoDB's code 11000): somebody else was first, or this very write is
 * already there.
 */
export function isDuplicateKey(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 11_000;
}
