/**
 * The chain of a call: each link is made when reports about the call are stored, and stored with them, so
 * that it costs no operation, and a report that is received again adds nothing. A session has the number and
 * the digest of its last link, which the next one continues, whichever worker and replica they come from.
 */
import { hash } from 'node:crypto';
import type { Sealer } from '#base/sealer.ts';
import {
  type Addition,
  additionText,
  linkText,
  type SignedLink,
  type Stretch,
} from '#protocol/call-chain.ts';
import { inputsLabel, lineLabel, type PartLabel, soundLabel } from '#protocol/call-parts.ts';
import type { ReportEnvelope } from '#protocol/worker-link.ts';
import { type Context, now } from '../../platform/context.ts';
import {
  type ChainHead,
  type SessionDocument,
  type SessionHead,
  toBuffer,
} from '../../platform/store/models/session-model.ts';
import { type Amendment, sealerOf } from './session-store.ts';
import { callKeyOf, callSigner } from './signing-keys.ts';
import { packLink, type StoredLink, unpackLink } from './stored-link.ts';

type Parts = Pick<Context, 'clock' | 'credentials' | 'dataKeys' | 'settings'>;

/** Of a session that has just been created. */
export const NO_LINKS: ChainHead = { links: 0, digest: null };

/**
 * The link with what these reports add, and the session's chain after it; nothing if they add nothing, its
 * key has been destroyed, or the call began before there were chains.
 */
export function linkOf(
  context: Parts,
  session: SessionHead,
  envelopes: readonly Pick<ReportEnvelope, 'epoch' | 'seq' | 'report'>[],
): Amendment {
  const { chain_head: head } = session;
  const sealer = sealerOf(context, session);
  if (!head || !sealer) return {};
  const digestOf = (label: PartLabel, content: Uint8Array) => digestOfPart(sealer, label, content);
  const additions = envelopes.flatMap(({ epoch, seq, report }) => {
    if (report.type !== 'items') return [];
    const lines = report.items.map((item, entry): Addition => {
      const label = lineLabel({ epoch, seq, entry });
      return { label, bytes: 0, digest: digestOf(label, sha256(JSON.stringify(item))) };
    });
    const stretches = (report.stretches ?? []).map((one) => stretchAddition(one, epoch, digestOf));
    return [...stretches, ...lines];
  });
  const [first] = envelopes;
  if (!first || additions.length === 0) return {};
  const { epoch } = first;
  const signer = callSigner(context);
  const unsigned = { epoch, at: now(context), key: signer.keyNumber, adds: additions.map(additionText) };
  const text = textOf(context, session._id, { ...unsigned, number: head.links, before: head.digest });
  const link = packLink({ ...unsigned, signature: signer.sign(Buffer.from(text)) });
  const digest = sha256(text).toString('base64url');
  return {
    set: { chain_head: { links: head.links + 1, digest } },
    push: { chain: [link] },
  };
}

/** A link, and what it says. */
export interface KnownLink extends SignedLink {
  readonly digest: string;
  readonly signedAt: Date;
  readonly epoch: number;
  readonly adds: readonly string[];
}

/** The links of a session's chain, as they were signed. */
export function linksOf(context: Parts, session: Pick<SessionDocument, '_id' | 'chain'>): KnownLink[] {
  let before: string | null = null;
  return (session.chain ?? []).map((bytes, number) => {
    const stored = unpackLink(toBuffer(bytes));
    const link = textOf(context, session._id, { ...stored, number, before });
    const digest = sha256(link).toString('base64url');
    before = digest;
    const { epoch, adds, at: signedAt } = stored;
    return { link, digest, signature: base64(stored.signature), signedAt, epoch, adds };
  });
}

/** The salt of a part: the same in each file of the call, and gone with the call's key. */
export function saltOf(sealer: Sealer, label: PartLabel): Buffer {
  return sealer.derive(`call file ${JSON.stringify(label)}`);
}

function textOf(
  context: Parts,
  sessionId: string,
  link: Omit<StoredLink, 'signature'> & { readonly number: number; readonly before: string | null },
): string {
  const { number, before, epoch, at, key, adds } = link;
  const signed_at = at.toISOString();
  const public_key = callKeyOf(context, key);
  return linkText({ session_id: sessionId, number, before, epoch, signed_at, public_key, adds: [...adds] });
}

function stretchAddition(
  stretch: Stretch,
  epoch: number,
  digestOf: (label: PartLabel, content: Uint8Array) => string,
): Addition {
  const { piece, bytes } = stretch;
  const at = { epoch, piece, pieces: 1 };
  const content = Buffer.from(stretch.sha256, 'base64url');
  if (stretch.of === 'log') {
    const label = inputsLabel(at);
    return { label, bytes, digest: digestOf(label, content) };
  }
  const { of: side, start_ms, rate_hz, samples } = stretch;
  const label = soundLabel({ ...at, side, packing: 'flac', start_ms, rate_hz, samples });
  return { label, bytes, digest: digestOf(label, content) };
}

/**
 * The digest of a part in format 2, of the digest of its content, as `writePart` has it: without the
 * pool of threads, which costs more than the digests of some hundred bytes.
 */
function digestOfPart(sealer: Sealer, label: PartLabel, content: Uint8Array): string {
  const salted = sha256(Buffer.concat([saltOf(sealer, label), content]));
  return sha256(Buffer.concat([sha256(JSON.stringify(label)), salted])).toString('base64url');
}

function sha256(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer');
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
