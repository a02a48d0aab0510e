/**
 * Writes an ended call to one HTML file, part by part: no more than one object of its recording is in memory.
 * The statement comes last, because it has the digests of the parts.
 */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import {
  CALL_FILE_FORMATS,
  type CallStatement,
  FRAME,
  MOST_PARTS,
  sealLine,
  writePart,
} from '#protocol/call-file.ts';
import { type Context, now } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { saltOf } from '../sessions/call-chain.ts';
import { toSessionDetail } from '../sessions/session-record.ts';
import { loadSessionHead, sealerOf } from '../sessions/session-store.ts';
import { callSigner } from '../sessions/signing-keys.ts';
import { readPlacedTimeline } from '../sessions/timeline.ts';
import { audioOf, isLineRedacted, jsonPart, type Part, type Redaction } from './call-file-part.ts';
import type { CallPage } from './call-page.ts';
import { chainedCall, chainParts, inputsParts, lineParts, soundParts } from './chained-parts.ts';
import { getSegmentFile, listSegments, type ReadableSegment, readWholeFlightLog } from './recording-store.ts';

/** An ended call and what is left out of its file. */
export interface CallToExport {
  readonly session: SessionDocument;
  readonly redactions: ReadonlySet<Redaction>;
  readonly page: CallPage;
}

/**
 * The parts of the call's file, in order; their contents are read when asked for. Throws `bad_request` for an
 * entry that the transcript does not have, `call_not_recorded`, `call_file_too_large`.
 */
export async function partsOf(context: Context, call: CallToExport): Promise<Part[]> {
  const { session, redactions } = call;
  const { items, turns, silences, ...record } = await toSessionDetail(context, session);
  for (const redaction of redactions)
    if (redaction.startsWith('item:') && Number(redaction.slice('item:'.length)) > items.length)
      throw fault('bad_request', { detail: `redact: the transcript has no ${redaction}` });
  const segments = await listSegments(context, session._id);
  requireSize(segments.filter(({ role }) => !redactions.has(audioOf(role))));
  // The flight log repeats what was said, and its settings have the numbers of colleagues.
  const isLogRedacted = [...redactions].some(
    (one) => ['transcript', 'numbers', 'flight_log'].includes(one) || one.startsWith('item:'),
  );
  const chained = chainedCall(context, session);
  const log = chained
    ? await inputsParts(chained, isLogRedacted)
    : await wholeLog(context, session, isLogRedacted);
  if (segments.length === 0 && log.length === 0) throw fault('call_not_recorded');
  const lines = chained
    ? lineParts(await readPlacedTimeline(context, session), redactions)
    : items.map((item, index) => {
        const number = index + 1;
        return jsonPart({ kind: 'item', number }, item, isLineRedacted(redactions, number));
      });
  const parts = [
    jsonPart({ kind: 'call' }, factsOf(record), false),
    jsonPart({ kind: 'numbers' }, numbersOf(record), redactions.has('numbers')),
    ...lines,
    jsonPart({ kind: 'turns' }, { turns, silences }, false),
    ...log,
    ...(chained
      ? [...soundParts(chained, segments, redactions), ...chainParts(chained)]
      : audioParts(context, session, segments, redactions)),
  ];
  requireParts(parts.length);
  return parts;
}

async function wholeLog(context: Context, session: SessionDocument, isRedacted: boolean): Promise<Part[]> {
  const log = await readWholeFlightLog(context, session, LIMITS.replayedLogBytes);
  if (log === null || log.length === 0) return [];
  return [{ label: { kind: 'flight_log' }, isRedacted, content: async () => log }];
}

type Detail = Omit<Awaited<ReturnType<typeof toSessionDetail>>, 'items' | 'turns' | 'silences'>;

function factsOf(detail: Detail): object {
  const { session_id, agent_id, agent_name, status, end_reason, direction, source } = detail;
  const { created_at, started_at, ended_at, duration_seconds, timezone, takeovers } = detail;
  return {
    ...{ session_id, agent_id, agent_name, status, end_reason, direction, source },
    ...{ created_at, started_at, ended_at, duration_seconds, timezone, takeovers },
  };
}

/** The name of a session often is that of a person. */
function numbersOf(detail: Detail): object {
  const { name, caller_number, dialed_number, sip_call_id, sip_headers, metadata } = detail;
  return { name, caller_number, dialed_number, sip_call_id, sip_headers, metadata };
}

/** A file with more could not be read again. */
function requireParts(parts: number): void {
  if (parts > MOST_PARTS)
    throw fault('conflict', { detail: `The call has ${parts} parts, and a file at most ${MOST_PARTS}` });
}

/** Their size as stored is known only once they are read, and the answer has begun by then. */
function requireSize(segments: readonly ReadableSegment[]): void {
  const bytes = segments.reduce((sum, { samples }) => sum + samples * 2, 0);
  const limit = LIMITS.callFilePcmBytes;
  if (bytes > limit) throw fault('call_file_too_large', { bytes, limit });
}

function audioParts(
  context: Context,
  session: SessionDocument,
  segments: readonly ReadableSegment[],
  redactions: ReadonlySet<Redaction>,
): Part[] {
  return segments.map((segment) => {
    const { role: side, startMs, rateHz, samples } = segment;
    return {
      label: {
        kind: 'audio' as const,
        side,
        packing: segment.packing === 'pcm' ? ('wav' as const) : ('flac' as const),
        start_ms: startMs,
        rate_hz: rateHz,
        samples,
      },
      isRedacted: redactions.has(audioOf(side)),
      content: async () => {
        const file = await getSegmentFile(context, session, segment);
        if (!file) throw new Error('a part of the recording was deleted while it was exported');
        return file;
      },
    };
  });
}

/**
 * The text of the file, in pieces. Ends with an error, and so without a signature, when something of the call
 * is deleted meanwhile.
 */
export async function* callFile(
  context: Context,
  { session, page }: CallToExport,
  parts: readonly Part[],
): AsyncGenerator<string> {
  const sealer = sealerOf(context, session);
  if (!sealer) throw fault('call_erased');
  yield page.before;
  yield FRAME.partsOpen;
  const digests: string[] = [];
  const format = session.chain_head ? CALL_FILE_FORMATS.chained : CALL_FILE_FORMATS.signed;
  for (const { label, isRedacted, content: read } of parts) {
    const content = await read();
    if (!content) {
      context.logger.warn({ sessionId: session._id, label }, 'a damaged part of a call is not exported');
      continue;
    }
    const { line, digest } = await writePart(
      { label, isRedacted, salt: saltOf(sealer, label), content },
      format,
    );
    digests.push(digest);
    yield line;
  }
  const head = await loadSessionHead(context, session._id);
  if (!head?.wrapped_key) throw fault('call_erased');
  yield FRAME.partsClose;
  yield seal(context, session, page, digests);
  yield FRAME.sealClose;
  yield page.after;
}

function seal(context: Context, session: SessionDocument, page: CallPage, parts: readonly string[]): string {
  const signer = callSigner(context);
  const statement: CallStatement = {
    format: session.chain_head ? CALL_FILE_FORMATS.chained : CALL_FILE_FORMATS.signed,
    session_id: session._id,
    agent_id: session.agent_id,
    agent_version_id: session.version_id,
    started_at: session.started_at?.toISOString() ?? null,
    ended_at: session.ended_at?.toISOString() ?? null,
    issuer: context.publicAddress.url,
    signed_at: now(context).toISOString(),
    public_key: signer.publicKey,
    shell: page.digest,
    parts: [...parts],
  };
  const bytes = Buffer.from(JSON.stringify(statement));
  return sealLine(bytes, signer.sign(bytes));
}
