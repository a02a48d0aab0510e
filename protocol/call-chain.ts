/**
 * The chain of a call: while it runs, the deployment signs what its worker stores, link by link. A link has
 * the digests of the stretches that came since the link before, and the digest of that link, so that none
 * can be changed, exchanged or left out later without the key. Digests are those of the parts of an exported
 * call: salted, so that they tell nothing about a part that is redacted or erased.
 */
import { z } from 'zod';
import { fromBase64, isSignedWith, jsonOf, keyIdOf, sha256, toBase64url, utf8 } from './call-bytes.ts';
import {
  type InputsLabel,
  inputsLabel,
  type LineLabel,
  lineLabel,
  type PartLabel,
  type SoundLabel,
  soundLabel,
} from './call-parts.ts';

const count = z.number().int().min(0);
const base64url = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** Most stretches in one report of a worker, which has some every 4.8 s and reports them after 20 s. */
export const MOST_STRETCHES = 1_000;

const ofPiece = {
  /** Counted from 0 for each track and for the log of a worker's call. */
  piece: count,
  bytes: count,
  /** SHA-256 of its content. */
  sha256: base64url,
};

/** A stretch of a call that leaves its worker. */
const stretch = z.discriminatedUnion('of', [
  /** Lines of its flight log, as they are before compression. */
  z.object({ of: z.literal('log'), ...ofPiece }),
  /** Sound; `bytes` of FLAC frames, the digest also of the head that makes a file of them. */
  z.object({
    of: z.enum(['agent', 'user', 'human']),
    ...ofPiece,
    start_ms: count,
    rate_hz: count,
    samples: count,
  }),
]);
export type Stretch = z.output<typeof stretch>;
/** Those of one report. */
export const stretches = z.array(stretch).max(MOST_STRETCHES);

/** Something that a link adds: which part of an exported call it is, and its digest. */
export interface Addition {
  readonly label: SoundLabel | InputsLabel | LineLabel;
  /** Of a stretch, where it is stored together with others; 0 for a line. */
  readonly bytes: number;
  readonly digest: string;
}

const chainLink = z.strictObject({
  session_id: z.string(),
  /** Counted from 0. */
  number: count,
  /** Digest of the link before; null in the first one. */
  before: base64url.nullable(),
  /** Of the worker that had the call. */
  epoch: count,
  signed_at: z.iso.datetime(),
  /** Of Ed25519, as `x` of a JSON Web Key (RFC 8037 §2). */
  public_key: base64url,
  /** As `additionText`. */
  adds: z.array(z.string().max(200)).max(100_000),
});
export type ChainLink = z.output<typeof chainLink>;

/** A part of an exported call that is a link. */
const signedLink = z.strictObject({ link: z.string(), signature: z.string().length(88) });
export type SignedLink = z.output<typeof signedLink>;

/** A link as a text, which is signed, and of which the next one has the digest. */
export function linkText(link: ChainLink): string {
  const { session_id, number, before, epoch, signed_at, public_key, adds } = link;
  return JSON.stringify({ session_id, number, before, epoch, signed_at, public_key, adds });
}

/** An addition in one line. */
export function additionText(addition: Addition): string {
  const { label, bytes, digest } = addition;
  if (label.kind === 'line') return `line ${label.seq} ${label.entry} ${digest}`;
  if (label.kind === 'inputs') return `log ${label.piece} ${bytes} ${digest}`;
  const { side, piece, start_ms, rate_hz, samples } = label;
  return `${side} ${piece} ${start_ms} ${rate_hz} ${samples} ${bytes} ${digest}`;
}

/** Reads such a line of a link with this epoch; null if it is none. */
export function parseAddition(text: string, epoch: number): Addition | null {
  const match = /^(line|log|agent|user|human)((?: \d{1,15}){2,5}) ([A-Za-z0-9_-]{43})$/.exec(text);
  const [kind, digest = ''] = [match?.[1], match?.[3]];
  const [first = 0, second = 0, rate_hz = 0, samples = 0, bytes = 0, ...more] = (match?.[2] ?? '')
    .trim()
    .split(' ')
    .map(Number);
  if (kind === undefined || more.length > 0) return null;
  if (kind === 'line') return { label: lineLabel({ epoch, seq: first, entry: second }), bytes: 0, digest };
  const at = { epoch, piece: first, pieces: 1 };
  if (kind === 'log') return { label: inputsLabel(at), bytes: second, digest };
  const side = kind as SoundLabel['side'];
  const label = soundLabel({ side, ...at, packing: 'flac', start_ms: second, rate_hz, samples });
  return { label, bytes, digest };
}

/** The place of a part in its call, whatever it contains; null if no link can have it. */
function placeOf(label: PartLabel): string | null {
  if (label.kind === 'line') return `line ${label.epoch} ${label.seq} ${label.entry}`;
  if (label.kind === 'inputs') return `log ${label.epoch} ${label.piece}`;
  return label.kind === 'sound' ? `${label.side} ${label.epoch} ${label.piece}` : null;
}

/** A stretch that was signed in the call and is not in the file: it was lost, or deleted since. */
export interface MissingStretch {
  readonly label: PartLabel;
  readonly signedAt: string;
}

/** The chain of an exported call, as far as it verifies. */
export interface ReadChain {
  readonly links: readonly { readonly digest: string; readonly epoch: number; readonly signedAt: string }[];
  /** Thumbprints of the keys that have signed it. */
  readonly keyIds: readonly string[];
  /** When each part was signed in the call, by its digest. */
  readonly signedAt: ReadonlyMap<string, string>;
  readonly missing: readonly MissingStretch[];
}

/** A part of the file that is checked. */
interface CheckedPart {
  readonly label: PartLabel;
  readonly name: string;
  readonly content: Uint8Array | null;
  readonly digest: string;
  readonly isAsSigned: boolean;
}

/**
 * Reads the chain of a call from the parts of its file; sentences about what is wrong go to `problems`.
 * `trusted` as for `readCallFile`.
 */
export async function readChain(
  sessionId: string,
  parts: readonly CheckedPart[],
  { trusted, problems }: { readonly trusted: readonly string[] | null; readonly problems: string[] },
): Promise<ReadChain> {
  const links: { digest: string; epoch: number; signedAt: string }[] = [];
  const keys = new Set<string>();
  const added: { readonly addition: Addition; readonly signedAt: string }[] = [];
  for (const { name, content } of parts.filter(({ label }) => label.kind === 'chain')) {
    const read = content && (await readLink(content));
    if (!read) {
      problems.push(`The ${name} is damaged`);
      break;
    }
    const { link, digest } = read;
    const before = links.at(-1)?.digest ?? null;
    const isNext = link.session_id === sessionId && link.number === links.length && link.before === before;
    if (!isNext) problems.push(`The ${name} does not follow the one before`);
    if (read.isGenuine === false) problems.push(`The signature of the ${name} does not belong to it`);
    links.push({ digest, epoch: link.epoch, signedAt: link.signed_at });
    keys.add(link.public_key);
    for (const addition of read.additions) added.push({ addition, signedAt: link.signed_at });
  }
  const keyIds = await Promise.all([...keys].map(keyIdOf));
  for (const keyId of trusted ? keyIds.filter((one) => !trusted.includes(one)) : [])
    problems.push(`The chain was signed with the key ${keyId}, which is none of the given ones`);
  const missing = compare(parts, added, problems);
  const signedAt = new Map(added.map((one) => [one.addition.digest, one.signedAt]));
  return { links, keyIds, signedAt, missing };
}

interface ReadLink {
  readonly link: ChainLink;
  readonly digest: string;
  /** Null if this browser cannot tell; the seal of the file says so. */
  readonly isGenuine: boolean | null;
  readonly additions: readonly Addition[];
}

async function readLink(content: Uint8Array): Promise<ReadLink | null> {
  const signed = signedLink.safeParse(jsonOf(content)).data;
  if (!signed) return null;
  const bytes = utf8(signed.link);
  const signature = fromBase64(signed.signature);
  const link = chainLink.safeParse(jsonOf(bytes)).data;
  if (!signature || !link || linkText(link) !== signed.link) return null;
  const additions = link.adds.map((text) => parseAddition(text, link.epoch));
  if (!additions.every((one) => one !== null)) return null;
  const isGenuine = await isSignedWith(link.public_key, bytes, signature);
  return { link, digest: toBase64url(await sha256(bytes)), isGenuine, additions };
}

/** Finds parts that are not as they were signed in the call; returns those that are not there. */
function compare(
  parts: readonly CheckedPart[],
  added: readonly { readonly addition: Addition; readonly signedAt: string }[],
  problems: string[],
): MissingStretch[] {
  const signed = new Map<string | null, { readonly digests: Set<string>; readonly signedAt: string }>();
  for (const { addition, signedAt } of added) {
    const place = placeOf(addition.label);
    const there = signed.get(place) ?? { digests: new Set(), signedAt };
    there.digests.add(addition.digest);
    signed.set(place, there);
  }
  const places = new Set<string | null>();
  for (const { label, name, digest, isAsSigned } of parts) {
    const place = placeOf(label);
    const there = place === null ? undefined : signed.get(place);
    places.add(place);
    // Of one that was changed in the file itself, the reader has said so.
    if (there && isAsSigned && !there.digests.has(digest))
      problems.push(`${sentenceOf(name)} is not what was signed in the call, on ${there.signedAt}`);
  }
  return added.flatMap(({ addition: { label }, signedAt }) =>
    places.has(placeOf(label)) ? [] : [{ label, signedAt }],
  );
}

function sentenceOf(name: string): string {
  return `The ${name.replace(/^the /, '')}`;
}
