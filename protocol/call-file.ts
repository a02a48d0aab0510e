/**
 * A call in one HTML file: a page, the parts of a call, and a signed statement about them. A part is its
 * label, a salt and its content; the statement has the digest of every part, so that a part whose salt and
 * content were taken out still has its place, and cannot be exchanged for another. In format 2 the links of
 * the chain that was signed while the call ran are parts too. Runs in Node and in browsers.
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
import {
  DIGEST_BYTES,
  fromBase64,
  isSignedWith,
  joined,
  jsonOf,
  keyIdOf,
  sha256,
  toBase64,
  toBase64url,
  utf8,
} from './call-bytes.ts';
import { type ReadChain, readChain } from './call-chain.ts';
import { isLine, nameOf, type PartLabel, partLabel } from './call-parts.ts';

/** The format of calls without a chain, which were made before there was one, and that of the others. */
export const CALL_FILE_FORMATS = { signed: 'parley-call/1', chained: 'parley-call/2' } as const;
export type CallFileFormat = (typeof CALL_FILE_FORMATS)[keyof typeof CALL_FILE_FORMATS];
/** Most parts of a file. A call of an hour with an item each second has 3,600, and 2,300 stretches. */
export const MOST_PARTS = 20_000;

const base64url = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** The statement that a deployment signs. */
export const callStatement = z.strictObject({
  format: z.enum(CALL_FILE_FORMATS),
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
  format: CallFileFormat,
): Promise<{ readonly line: string; readonly digest: string }> {
  const label = utf8(JSON.stringify(part.label));
  const hash = await contentHash(part.salt, part.content, format);
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

/**
 * Binds salt and content. In format 2 it does so by the digest of the content, which a worker can tell before
 * the salt is known to it.
 */
async function contentHash(
  salt: Uint8Array,
  content: Uint8Array,
  format: CallFileFormat,
): Promise<Uint8Array> {
  return sha256(joined(salt, format === CALL_FILE_FORMATS.signed ? content : await sha256(content)));
}

/** Binds the label too. Both halves have 32 bytes, so that no two parts are read as the same bytes. */
async function partDigest(label: Uint8Array, hash: Uint8Array): Promise<Uint8Array> {
  return sha256(joined(await sha256(label), hash));
}

/** A part as read from a file. */
export interface CallPart {
  readonly label: PartLabel;
  /** For people. */
  readonly name: string;
  /** Null in a redacted part. */
  readonly content: Uint8Array | null;
  readonly digest: string;
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
  /** What was signed while the call ran; null in a file of format 1. */
  readonly chain: ReadChain | null;
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
  const parts = await readParts(file.parts, statement, problems);
  const hasChain = statement?.format === CALL_FILE_FORMATS.chained;
  const chain = hasChain ? await readChain(statement.session_id, parts, { trusted, problems }) : null;
  return { statement, keyId, parts, chain, problems };
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
  const isGenuine = await isSignedWith(x, bytes, signature);
  if (isGenuine === null)
    return ['This browser cannot check Ed25519 signatures: use a newer one, or parley verify-call'];
  return isGenuine ? [] : ['The signature does not belong to this statement and this key'];
}

async function readParts(
  text: string,
  statement: CallStatement | null,
  problems: string[],
): Promise<CallPart[]> {
  const lines = text.split('\n');
  const signed = statement?.parts.length ?? lines.length;
  if (lines.pop() !== '') problems.push('The last part is cut off');
  if (statement && lines.length !== signed)
    problems.push(`The file has ${lines.length} parts, and ${signed} were signed`);
  const parts: CallPart[] = [];
  let said = 0;
  for (const [index, line] of lines.slice(0, MOST_PARTS).entries()) {
    const part = await readPart(line, statement?.format ?? CALL_FILE_FORMATS.chained);
    const about = `Part ${index + 1}`;
    if (part === null) {
      problems.push(`${about} is damaged`);
      continue;
    }
    if (isLine(part.label)) said += 1;
    const name = nameOf(part.label, said);
    const isAsSigned = part.digest === statement?.parts[index];
    if (statement && !isAsSigned) problems.push(`${about} (${name}) was changed`);
    parts.push({ ...part, name, isAsSigned });
  }
  return parts;
}

async function readPart(
  line: string,
  format: CallFileFormat,
): Promise<Pick<CallPart, 'label' | 'content' | 'digest'> | null> {
  const [label, second, content, more] = line.split('.', 4).map(fromBase64);
  if (!label || second?.length !== DIGEST_BYTES || content === null || more !== undefined) return null;
  const parsed = partLabel.safeParse(jsonOf(label));
  if (!parsed.success) return null;
  const hash = content ? await contentHash(second, content, format) : second;
  const digest = toBase64url(await partDigest(label, hash));
  return { label: parsed.data, content: content ?? null, digest };
}

/** The names of the redacted parts, each once. */
export function redactedNames(parts: readonly CallPart[]): string[] {
  return [...new Set(parts.filter(({ content }) => !content).map(({ name }) => name))];
}
