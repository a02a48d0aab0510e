/**
 * Encryption at rest: AES-256-GCM. The master key seals secrets tenants store and wraps one data key per
 * session, which seals that session's timeline, recording, flight log and payloads. Erasing a session is
 * forgetting its wrapped key; backups leave the keys out (control-plane/operations/backup/withheld-keys.ts),
 * so that an older one does not open it.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** Encrypts stored secrets under the master key. */
export interface SecretBox {
  /** Encrypts a secret; the same text gives another result each time. */
  seal(plain: string): string;
  /** Decrypts what `seal` returned. Throws `SealBroken` when it was altered or sealed under another key. */
  open(sealed: string): string;
}

/** Seals and opens byte strings with one key. */
export interface Sealer {
  /** Encrypts; the result is bound to `context`, without which it cannot be opened. */
  seal(plain: Uint8Array | string, context: string): Buffer;
  /** Decrypts. Throws `SealBroken` when the bytes, the key or the context are not those of `seal`. */
  open(sealed: Uint8Array, context: string): Buffer;
}

/** Thrown for sealed bytes that cannot be opened. */
export class SealBroken extends Error {
  constructor(options?: ErrorOptions) {
    super('Sealed data cannot be opened', options);
    this.name = 'SealBroken';
  }
}

/** The data keys of sessions, wrapped by the master key. */
export interface DataKeys {
  /** Makes a key for one session: what seals with it, and the wrapped form to be stored with the session. */
  create(sessionId: string): { readonly sealer: Sealer; readonly wrappedKey: Buffer };
  /** Opens a session's wrapped key. Throws `SealBroken`. */
  open(sessionId: string, wrappedKey: Uint8Array): Sealer;
}

/** Makes the box that seals what tenants store, from the 32-byte master key. */
export function createSecretBox(masterKey: Uint8Array): SecretBox {
  const master = createSealer(masterKey);
  return {
    seal: (plain) => master.seal(plain, 'secret').toString('base64url'),
    open: (sealed) => master.open(Buffer.from(sealed, 'base64url'), 'secret').toString('utf8'),
  };
}

/** Makes the data keys of a deployment from the 32-byte master key. */
export function createDataKeys(masterKey: Uint8Array): DataKeys {
  const master = createSealer(masterKey);
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

function createSealer(bytes: Uint8Array): Sealer {
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
 * Seals a secret; the one that is stored already keeps its sealed form, so that it does not look like a
 * change.
 */
export function resealed(box: SecretBox, stored: string | null, secret: string): string {
  return stored !== null && box.open(stored) === secret ? stored : box.seal(secret);
}
