/**
 * The keys that sign calls, while they run and when they are exported (Ed25519, RFC 8032). They follow from
 * the deployment key and a number, so that replicas have the same one, a backup has them all, and a new one
 * needs no store.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign as signWith } from 'node:crypto';
import type { z } from 'zod';
import { keyIdOf } from '#protocol/call-bytes.ts';
import type { publishedKeys } from '#protocol/call-file.ts';
import type { Context } from '../../platform/context.ts';

const SEED_BYTES = 32;
/** A private key of Ed25519 up to its seed (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Signs as this deployment. */
export interface CallSigner {
  /** As in `CALL_KEY_NUMBER`. */
  readonly keyNumber: number;
  /** `x` of the public key as a JSON Web Key. */
  readonly publicKey: string;
  /** 64 bytes. */
  sign(statement: Uint8Array): Uint8Array;
}

type Parts = Pick<Context, 'credentials' | 'settings'>;

/** Calls are signed several times a minute: a key is derived once. */
const signers = new WeakMap<Uint8Array, Map<number, CallSigner>>();

/** The key with the number in `CALL_KEY_NUMBER`. */
export function callSigner(parts: Parts): CallSigner {
  return signerOf(parts, parts.settings.CALL_KEY_NUMBER);
}

/** The public key with this number, as `x` of a JSON Web Key. */
export function callKeyOf(parts: Parts, number: number): string {
  return signerOf(parts, number).publicKey;
}

function signerOf({ credentials: { deploymentKey } }: Parts, number: number): CallSigner {
  const known = signers.get(deploymentKey) ?? new Map<number, CallSigner>();
  signers.set(deploymentKey, known);
  const found = known.get(number);
  if (found) return found;
  const key = privateKey(deploymentKey, number);
  const sign = (statement: Uint8Array) => signWith(null, statement, key);
  const signer = { keyNumber: number, publicKey: publicKeyOf(key), sign };
  known.set(number, signer);
  return signer;
}

/** The public keys that may have signed a call, the newest first. */
export async function callKeys(parts: Parts): Promise<z.output<typeof publishedKeys>> {
  const { CALL_KEY_NUMBER: newest } = parts.settings;
  const numbers = Array.from({ length: newest }, (_, index) => index + 1).reverse();
  const keys = numbers.map((number) => callKeyOf(parts, number));
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
