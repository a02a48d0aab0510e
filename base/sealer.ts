/** Encryption of bytes with AES-256-GCM. */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';

const VERSION = 1;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The version, the nonce and the tag, before the encrypted bytes. */
export const SEALED_HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** Encrypts and decrypts bytes with one key. */
export interface Sealer {
  /** Encrypts and binds the result to `context`, which is required to open it. */
  seal(plain: Uint8Array | string, context: string): Buffer;
  /** Decrypts. Throws `SealBroken` if the bytes, key or context do not match those of `seal`. */
  open(sealed: Uint8Array, context: string): Buffer;
  /** A key of 32 bytes for one thing only; this key does not follow from it, nor does any other. */
  derive(context: string): Buffer;
}

/** Thrown when sealed bytes cannot be opened. */
export class SealBroken extends Error {
  constructor(options?: ErrorOptions) {
    super('Encrypted data cannot be decrypted', options);
    this.name = 'SealBroken';
  }
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
      if (sealed.byteLength < SEALED_HEAD_BYTES || sealed[0] !== VERSION) throw new SealBroken();
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, SEALED_HEAD_BYTES));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(SEALED_HEAD_BYTES)), decipher.final()]);
      } catch (error) {
        throw new SealBroken({ cause: error });
      }
    },
    derive: (context) => Buffer.from(hkdfSync('sha256', key, '', context, KEY_BYTES)),
  };
}
