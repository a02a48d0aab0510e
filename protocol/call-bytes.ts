/** Digests, signatures and texts of bytes for exported calls; in Node and in browsers. */

/** Bytes of a salt and of a digest (SHA-256). */
export const DIGEST_BYTES = 32;

/** SHA-256. */
export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', owned(bytes)));
}

/** Id of a public key, `x` of a JSON Web Key: its thumbprint (RFC 7638 §3). */
export async function keyIdOf(x: string): Promise<string> {
  return toBase64url(await sha256(utf8(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))));
}

/**
 * Whether a signature of Ed25519 belongs to these bytes and this public key, `x` of a JSON Web Key. Null if
 * this browser cannot tell.
 */
export async function isSignedWith(
  x: string,
  bytes: Uint8Array,
  signature: Uint8Array,
): Promise<boolean | null> {
  const { subtle } = globalThis.crypto;
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x };
    const key = await subtle.importKey('jwk', jwk, 'Ed25519', false, ['verify']);
    return await subtle.verify('Ed25519', key, owned(signature), owned(bytes));
  } catch (error) {
    return (error as Error).name === 'NotSupportedError' ? null : false;
  }
}

/** The Web Cryptography API takes no views of shared memory. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The value of a JSON text in UTF-8; undefined if it is none. */
export function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

export function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** Bytes converted in one go: `String.fromCharCode` takes its values as arguments. */
const CHUNK_BYTES = 0x6000;

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  // Whole groups of three bytes, so that the pieces can be joined.
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES)));
  return text;
}

export function toBase64url(bytes: Uint8Array): string {
  return toBase64(bytes)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/={1,2}$/, '');
}

/** Null unless it is exactly what `toBase64` writes: no two texts stand for the same bytes. */
export function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  if (/[^AQgw]==$/.test(text) || /[^AEIMQUYcgkosw048=]=$/.test(text)) return null;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
