/**
 * The keys that sign exported calls (Ed25519, RFC 8032). They follow from the deployment key and a number, so
 * that replicas have the same one, a backup has them all, and a new one needs no store.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto';
import type { z } from 'zod';
import { keyIdOf, type publishedKeys } from '#protocol/call-file.ts';
import type { Context } from '../../platform/context.ts';

const SEED_BYTES = 32;
/** A private key of Ed25519 up to its seed (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Signs as this deployment. */
export interface CallSigner {
  /** `x` of the public key as a JSON Web Key. */
  readonly publicKey: string;
  /** 64 bytes. */
  sign(statement: Uint8Array): Uint8Array;
}

type Parts = Pick<Context, 'credentials' | 'settings'>;

/** The key with the number in `CALL_KEY_NUMBER`. */
export function callSigner({ credentials, settings }: Parts): CallSigner {
  const key = privateKey(credentials.deploymentKey, settings.CALL_KEY_NUMBER);
  return { publicKey: publicKeyOf(key), sign: (statement) => sign(null, statement, key) };
}

/** The public keys that may have signed a call, the newest first. */
export async function callKeys({ credentials, settings }: Parts): Promise<z.output<typeof publishedKeys>> {
  const numbers = Array.from({ length: settings.CALL_KEY_NUMBER }, (_, index) => index + 1).reverse();
  const keys = numbers.map((number) => publicKeyOf(privateKey(credentials.deploymentKey, number)));
  return {
    keys: await Promise.all(
      keys.map(async (x) => ({ kty: 'OKP' as const, crv: 'Ed25519' as const, x, kid: await keyIdOf(x) })),
    ),
  };
}

function privateKey(deploymentKey: Uint8Array, number: number): KeyObject {
  const seed = hkdfSync('sha256', deploymentKey, 'parley', `call signatures ${number}`, SEED_BYTES);
  return createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, Buffer.from(seed)]),
    format: 'der',
    type: 'pkcs8',
  });
}

function publicKeyOf(key: KeyObject): string {
  const { x } = createPublicKey(key).export({ format: 'jwk' });
  if (x === undefined) throw new Error('a key of Ed25519 has an x');
  return x;
}
