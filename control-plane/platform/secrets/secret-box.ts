/**
 * Encryption at rest with AES-256-GCM. The deployment key seals tenants' secrets and wraps one data key per
 * session, which seals that session's timeline, recording, flight log and payloads. Erasing a session means
 * deleting its wrapped key. Backups omit the keys (control-plane/operations/backup/withheld-keys.ts), so an
 * older backup cannot decrypt an erased session.
 */
import { randomBytes } from 'node:crypto';
import { createSealer, type Sealer } from '#base/sealer.ts';

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

/**
 * Seals a secret. If it equals the stored one, returns the stored form, so that it does not count as a
 * change.
 */
export function reseal(box: SecretBox, stored: string | null, secret: string): string {
  return stored !== null && box.open(stored) === secret ? stored : box.seal(secret);
}
