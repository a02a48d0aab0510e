/**
 * The contract of blobs: bytes by key, for recordings and uploaded samples. A directory and S3 implement it.
 */

/** A store of blobs. Keys are paths such as `recordings/<session>/agent-000001.bin`. */
export interface Blobs {
  /**
   * Stores bytes under a key, in place of what was there. Durable when it resolves; a reader sees all of it
   * or nothing.
   */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** The bytes of a key, or null. */
  get(key: string): Promise<Buffer | null>;
  /** Every key that starts with the prefix, sorted. */
  list(prefix: string): Promise<string[]>;
  /** Removes a key; nothing happens when it is not there. */
  delete(key: string): Promise<void>;
  /** Removes every key that starts with the prefix, which must not be empty. */
  deletePrefix(prefix: string): Promise<void>;
}

/** Thrown for a key that could leave the store or hide in it. */
class BlobKeyError extends Error {
  constructor(key: string) {
    super(`not a blob key: ${JSON.stringify(key.slice(0, 100))}`);
    this.name = 'BlobKeyError';
  }
}

const MAX_KEY_CHARS = 512;
/** No part begins with a dot: `.` and `..` lead elsewhere, other dotted names are the stores' own. */
const PART = /^[A-Za-z0-9_@=+,~-][A-Za-z0-9_@=+,~.:-]*$/;

/** Throws `BlobKeyError` unless every part of the key is a plain name. */
export function requireKey(key: string): void {
  if (!isKey(key)) throw new BlobKeyError(key);
}

/** True for a key `put` would take. */
export function isKey(key: string): boolean {
  return key.length <= MAX_KEY_CHARS && key.split('/').every((part) => PART.test(part));
}

/** Throws `BlobKeyError` unless the prefix is the beginning of a key; an empty one is for listing only. */
export function requirePrefix(prefix: string): void {
  if (prefix !== '' && !isKey(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix))
    throw new BlobKeyError(prefix);
}
