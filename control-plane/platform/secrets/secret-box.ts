/**
 * Encryption at rest with AES-256-GCM. The deployment key seals tenants' secrets and wraps one data key per
 * session, which seals that session's timeline, recording, flight log and payloads. Erasing a session means
 * deleting its wrapped key. Backups omit the keys (control-plane/operations/backup/withheld-keys.ts), so an
 * older backup cannot decrypt an erased session.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** Encrypts stored secrets under the deployment key. */
export interface SecretBox {
  /**
   * Encrypts a secret; sealing the same text twice gives different results. What is sealed for one purpose
   * cannot be opened for another; a stored secret has none.
   */
  seal(plain: string, purpose?: string): string;
  /**
   * Decrypts the result of `seal`. Throws `SealBroken` if it was altered, or sealed under another key or for
   * another purpose.
   */
  open(sealed: string, purpose?: string): string;
}

/** Encrypts and decrypts bytes with one key. */
export interface Sealer {
  /** Encrypts and binds the result to `context`, which is required to open it. */
  seal(plain: Uint8Array | string, context: string): Buffer;
  /** Decrypts. Throws `SealBroken` if the bytes, key or context do not match those of `seal`. */
  open(sealed: Uint8Array, context: string): Buffer;
}

/** Thrown when sealed bytes cannot be opened. */
export class SealBroken extends Error {
  constructor(options?: ErrorOptions) {
    super('Encrypted data cannot be decrypted', options);
    this.name = 'SealBroken';
  }
}

/** Per-session data keys, wrapped by the deployment key. */
export interface DataKeys {
  /** Creates a session's key: a sealer, and the wrapped key to store with the session. */
  create(sessionId: string): { readonly sealer: Sealer; readonly wrappedKey: Buffer };
  /** Unwraps a session's key. Throws `SealBroken`. */
  open(sessionId: string, wrappedKey: Uint8Array): Sealer;
}

/** Creates the box that seals tenants' secrets, from the 32-byte deployment key. */
export function createSecretBox(deploymentKey: Uint8Array): SecretBox {
  const master = createSealer(deploymentKey);
  return {
    seal: (plain, purpose = 'secret') => master.seal(plain, purpose).toString('base64url'),
    open: (sealed, purpose = 'secret') =>
      master.open(Buffer.from(sealed, 'base64url'), purpose).toString('utf8'),
  };
}

/** Creates the data keys of a deployment from the 32-byte deployment key. */
export function createDataKeys(deploymentKey: Uint8Array): DataKeys {
  const master = createSealer(deploymentKey);
  return {
    create: (sessionId) => {
      const key = randomBytes(32);
      return { sealer: createSealer(key), wrappedKey: master.seal(key, dataKeyContext(sessionId)) };
    },
    open: (sessionId, wrappedKey) => createSealer(master.open(wrappedKey, dataKeyContext(sessionId))),
  };
}

function dataKeyContext(sessionId: string): string {
  return `session-key:${sessionId}`;
}

/** Encrypts with a 32-byte key. */
export function createSealer(bytes: Uint8Array): Sealer {
  const key = createSecretKey(bytes);
  return {
    seal: (plain, context) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body]);
    },
    open: (sealed, context) => {
      if (sealed.byteLength < HEAD_BYTES || sealed[0] !== VERSION) throw new SealBroken();
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES)), decipher.final()]);
      } catch (error) {
        throw new SealBroken({ cause: error });
      }
    },
  };
}

/**
 * Seals a secret. If it equals the stored one, returns the stored form, so that it does not count as a
 * change.
 */
export function reseal(box: SecretBox, stored: string | null, secret: string): string {
  return stored !== null && box.open(stored) === secret ? stored : box.seal(secret);
}
