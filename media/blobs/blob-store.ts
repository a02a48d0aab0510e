/** `BlobStore`: bytes by key, for recordings and uploaded samples. Implemented by a directory and by S3. */

/** The content type of an object that is PUT to an address. */
export const OBJECT_TYPE = 'application/octet-stream';

/**
 * Whether the answer to a PUT proves that a bucket has the object: it names the object by a strong
 * ETag (RFC 9110, section 8.8.3). Another server, or a proxy, may answer 200 to anything.
 */
export function provesStorage(etag: string | readonly string[] | null | undefined): boolean {
  return typeof etag === 'string' && etag !== '' && !etag.startsWith('W/');
}

/** A blob store. Keys are paths such as `recordings/<session>/agent-000001.bin`. */
export interface Blobs {
  /** Each object costs a request over the network, and the owner money. */
  readonly isBucket: boolean;
  /** Stores bytes under a key, replacing earlier ones. Durable once it resolves; atomic for readers. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * An address that permits a PUT of so many bytes, as `OBJECT_TYPE`, within five minutes; null
   * if the store has none.
   */
  putAddress(key: string, bytes: number): Promise<string | null>;
  /** Returns the bytes of a key, or null. Rejects if they are more than any part of the product stores. */
  get(key: string): Promise<Buffer | null>;
  /** Lists every key with this prefix, sorted. */
  list(prefix: string): Promise<string[]>;
  /** Removes a key. Removing a missing key does nothing. */
  delete(key: string): Promise<void>;
  /** Removes every key with this prefix, which must not be empty; returns how many. */
  deletePrefix(prefix: string): Promise<number>;
}

/** Thrown for a key that would leave the store or be hidden in it. */
class BlobKeyError extends Error {
  constructor(key: string) {
    super(`invalid blob key: ${JSON.stringify(key.slice(0, 100))}`);
    this.name = 'BlobKeyError';
  }
}

const MAX_KEY_CHARS = 512;
/**
 * No part begins with a dot: `.` and `..` leave the directory, and the stores use other dotted names
 * themselves.
 */
const PART = /^[A-Za-z0-9_@=+,~-][A-Za-z0-9_@=+,~.:-]*$/;

/** Throws `BlobKeyError` unless every part of the key is a plain name. */
export function requireKey(key: string): void {
  if (!isKey(key)) throw new BlobKeyError(key);
}

/** True for a key that `put` accepts. */
export function isKey(key: string): boolean {
  return key.length <= MAX_KEY_CHARS && key.split('/').every((part) => PART.test(part));
}

/**
 * Throws `BlobKeyError` unless the prefix is the beginning of a valid key; only listing allows an empty one.
 */
export function requirePrefix(prefix: string): void {
  if (prefix !== '' && !isKey(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix))
    throw new BlobKeyError(prefix);
}
