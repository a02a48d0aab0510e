/**
 * A call in one HTML file: a page, the parts of a call, and a signed statement about them. A part is its
 * label, a salt and its content; the statement has the digest of every part, so that a part whose salt and
 * content were taken out still has its place, and cannot be exchanged for another. Runs in Node and in
 * browsers.
 *
 * ```
 * <script type="text/plain" id="call-parts">
 * base64(label).base64(salt).base64(content)      a part
 * base64(label).base64(hash)                      a redacted part
 * </script>
 * <script type="text/plain" id="call-seal">
 * base64(statement).base64(signature)
 * </script>
 * ```
 */
import { z } from 'zod';

/** Version of the format. */
export const CALL_FILE_FORMAT = 'parley-call/1';
/** Most parts of a file. A call of an hour with an item each second has 3,600. */
export const MOST_PARTS = 20_000;
/** Bytes of a salt and of a digest (SHA-256). */
const DIGEST_BYTES = 32;

const count = z.number().int().min(0);
const base64url = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** The kind of a part and its place in the call; also readable if the part is redacted. */
export const partLabel = z.discriminatedUnion('kind', [
  /** Agent, times and end of the call. */
  z.strictObject({ kind: z.literal('call') }),
  /** Name of the session, numbers of both sides, SIP headers and metadata. */
  z.strictObject({ kind: z.literal('numbers') }),
  /** An entry of the transcript as heard, counted from 1. */
  z.strictObject({ kind: z.literal('item'), number: count.min(1) }),
  /** The latency waterfall of the turns, and the silences. */
  z.strictObject({ kind: z.literal('turns') }),
  /** All inputs of the turn machine. */
  z.strictObject({ kind: z.literal('flight_log') }),
  /** A stretch of one side; `start_ms` is the wall time of its first sample. */
  z.strictObject({
    kind: z.literal('audio'),
    side: z.enum(['agent', 'user', 'human']),
    packing: z.enum(['flac', 'wav']),
    start_ms: count,
    rate_hz: count,
    samples: count,
  }),
]);
export type PartLabel = z.output<typeof partLabel>;

/** The statement that a deployment signs. */
export const callStatement = z.strictObject({
  format: z.literal(CALL_FILE_FORMAT),
  session_id: z.string(),
  agent_id: z.string(),
  /** Id of the agent's published version; empty for a preview. */
  agent_version_id: z.string(),
  started_at: z.iso.datetime().nullable(),
  ended_at: z.iso.datetime().nullable(),
  /** Public address of the deployment, which publishes its keys at `KEYS_PATH`. */
  issuer: z.string(),
  signed_at: z.iso.datetime(),
  /** Of Ed25519, as `x` of a JSON Web Key (RFC 8037 §2). */
  public_key: base64url,
  /** SHA-256 of everything in the file but parts and seal, as `shellDigest`. */
  shell: base64url,
  /** Digests of the parts, in order. */
  parts: z.array(base64url).max(MOST_PARTS),
});
export type CallStatement = z.output<typeof callStatement>;

/** Where a deployment publishes the public keys of its signatures, old ones included (RFC 7517 §5). */
export const KEYS_PATH = '/.well-known/parley-call-keys.json';

/** Public keys as a deployment publishes them. */
export const publishedKeys = z.object({
  keys: z.array(
    z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: base64url, kid: z.string() }),
  ),
});

const PARTS_OPEN = '<script type="text/plain" id="call-parts">\n';
const PARTS_CLOSE = '</script>\n<script type="text/plain" id="call-seal">\n';
const SEAL_CLOSE = '\n</script>\n';

/** Texts around the parts and around the seal. */
export const FRAME = { partsOpen: PARTS_OPEN, partsClose: PARTS_CLOSE, sealClose: SEAL_CLOSE } as const;

/** A part to write. */
export interface PartToWrite {
  readonly label: PartLabel;
  /** 32 bytes that cannot be guessed. */
  readonly salt: Uint8Array;
  readonly content: Uint8Array;
  /** Leaves salt and content out. */
  readonly isRedacted: boolean;
}

/** The line of a part, and its digest for the statement. */
export async function writePart(
  part: PartToWrite,
): Promise<{ readonly line: string; readonly digest: string }> {
  const label = utf8(JSON.stringify(part.label));
  const hash = await contentHash(part.salt, part.content);
  const digest = toBase64url(await partDigest(label, hash));
  const fields = part.isRedacted ? [label, hash] : [label, part.salt, part.content];
  return { line: `${fields.map(toBase64).join('.')}\n`, digest };
}

/** The line of the seal, without its end. */
export function sealLine(statement: Uint8Array, signature: Uint8Array): string {
  return `${toBase64(statement)}.${toBase64(signature)}`;
}

/** SHA-256 of the page around parts and seal. */
export async function shellDigest(before: string, after: string): Promise<string> {
  return toBase64url(await sha256(utf8(`${before}\0${after}`)));
}

/** Id of a public key: its thumbprint (RFC 7638 §3). */
export async function keyIdOf(x: string): Promise<string> {
  return toBase64url(await sha256(utf8(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))));
}

/** Binds salt and content. */
async function contentHash(salt: Uint8Array, content: Uint8Array): Promise<Uint8Array> {
  return sha256(joined(salt, content));
}

/** Binds the label too. Both halves have 32 bytes, so that no two parts are read as the same bytes. */
async function partDigest(label: Uint8Array, hash: Uint8Array): Promise<Uint8Array> {
  return sha256(joined(await sha256(label), hash));
}

/** A part as read from a file. */
export interface CallPart {
  readonly label: PartLabel;
  /** Null in a redacted part. */
  readonly content: Uint8Array | null;
  /** The statement has its digest. */
  readonly isAsSigned: boolean;
}

/** The contents of a file, and the problems found in it. */
export interface ReadCallFile {
  /** Null if it cannot be read. */
  readonly statement: CallStatement | null;
  /** Thumbprint of the key that the file names; null without a readable statement. */
  readonly keyId: string | null;
  readonly parts: readonly CallPart[];
  /** Sentences; empty if everything is as it was signed. */
  readonly problems: readonly string[];
}

/** A file, split. */
export interface SplitCallFile {
  /** The lines of the parts. */
  readonly parts: string;
  /** The line of the seal. */
  readonly seal: string;
  /** The page before and after them; null where only the page itself can be read, as in a browser. */
  readonly shell: { readonly before: string; readonly after: string } | null;
}

/** Splits the text of a file; null if it is none. */
export function splitCallFile(text: string): SplitCallFile | null {
  const partsAt = text.indexOf(PARTS_OPEN);
  const partsEnd = text.indexOf(PARTS_CLOSE, partsAt);
  const sealEnd = text.indexOf(SEAL_CLOSE, partsEnd);
  if (partsAt < 0 || partsEnd < 0 || sealEnd < 0) return null;
  return {
    parts: text.slice(partsAt + PARTS_OPEN.length, partsEnd),
    seal: text.slice(partsEnd + PARTS_CLOSE.length, sealEnd),
    shell: { before: text.slice(0, partsAt), after: text.slice(sealEnd + SEAL_CLOSE.length) },
  };
}

/**
 * Reads and verifies a file. `trusted` are thumbprints of the only keys that may have signed it; without
 * them the file's own key counts, and whose it is must be compared elsewhere.
 */
export async function readCallFile(
  file: SplitCallFile,
  trusted: readonly string[] | null = null,
): Promise<ReadCallFile> {
  const problems: string[] = [];
  const sealed = await readSeal(file.seal, problems);
  const statement = sealed?.statement ?? null;
  const keyId = statement && (await keyIdOf(statement.public_key));
  if (keyId !== null && trusted && !trusted.includes(keyId))
    problems.push(`It was signed with the key ${keyId}, which is none of the given ones`);
  if (statement && file.shell && (await shellDigest(file.shell.before, file.shell.after)) !== statement.shell)
    problems.push('The page itself, or what stands around the data, was changed');
  const parts = await readParts(file.parts, statement?.parts ?? null, problems);
  return { statement, keyId, parts, problems };
}

async function readSeal(
  line: string,
  problems: string[],
): Promise<{ readonly statement: CallStatement } | null> {
  const [bytes, signature, more] = line.split('.', 3).map(fromBase64);
  if (!bytes || !signature || more !== undefined) {
    problems.push('The signature or the statement is damaged or missing');
    return null;
  }
  const parsed = callStatement.safeParse(jsonOf(bytes));
  if (!parsed.success) {
    problems.push('The signed statement is damaged');
    return null;
  }
  problems.push(...(await signatureProblems(parsed.data.public_key, bytes, signature)));
  return { statement: parsed.data };
}

async function signatureProblems(x: string, bytes: Uint8Array, signature: Uint8Array): Promise<string[]> {
  const { subtle } = globalThis.crypto;
  let isGenuine: boolean;
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x };
    const key = await subtle.importKey('jwk', jwk, 'Ed25519', false, ['verify']);
    isGenuine = await subtle.verify('Ed25519', key, owned(signature), owned(bytes));
  } catch (error) {
    if ((error as Error).name === 'NotSupportedError')
      return ['This browser cannot check Ed25519 signatures: use a newer one, or parley verify-call'];
    isGenuine = false;
  }
  return isGenuine ? [] : ['The signature does not belong to this statement and this key'];
}

async function readParts(
  text: string,
  digests: readonly string[] | null,
  problems: string[],
): Promise<CallPart[]> {
  const lines = text.split('\n');
  if (lines.pop() !== '') problems.push('The last part is cut off');
  if (digests && lines.length !== digests.length)
    problems.push(`The file has ${lines.length} parts, and ${digests.length} were signed`);
  const parts: CallPart[] = [];
  for (const [index, line] of lines.slice(0, MOST_PARTS).entries()) {
    const part = await readPart(line, digests?.[index]);
    const about = `Part ${index + 1}`;
    if (part === null) problems.push(`${about} is damaged`);
    else {
      if (digests && !part.isAsSigned) problems.push(`${about} (${nameOf(part.label)}) was changed`);
      parts.push(part);
    }
  }
  return parts;
}

async function readPart(line: string, signed: string | undefined): Promise<CallPart | null> {
  const [label, second, content, more] = line.split('.', 4).map(fromBase64);
  if (!label || second?.length !== DIGEST_BYTES || content === null || more !== undefined) return null;
  const parsed = partLabel.safeParse(jsonOf(label));
  if (!parsed.success) return null;
  const hash = content ? await contentHash(second, content) : second;
  const digest = toBase64url(await partDigest(label, hash));
  return { label: parsed.data, content: content ?? null, isAsSigned: digest === signed };
}

const SIDES = { agent: 'the agent', user: 'the caller', human: 'the person called' } as const;

/** The name of a part, for people. */
export function nameOf(label: PartLabel): string {
  switch (label.kind) {
    case 'call':
      return 'the facts of the call';
    case 'numbers':
      return 'numbers and metadata';
    case 'item':
      return `line ${label.number} of the transcript`;
    case 'turns':
      return 'latencies';
    case 'flight_log':
      return 'flight log';
    case 'audio':
      return `sound of ${SIDES[label.side]}`;
  }
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', owned(bytes)));
}

/** The Web Cryptography API takes no views of shared memory. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** Bytes converted in one go: `String.fromCharCode` takes its values as arguments. */
const CHUNK_BYTES = 0x6000;

function toBase64(bytes: Uint8Array): string {
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
function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  if (/[^AQgw]==$/.test(text) || /[^AEIMQUYcgkosw048=]=$/.test(text)) return null;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
