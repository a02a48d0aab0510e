/**
 * Storage of recordings and flight logs: encrypted blobs whose names carry all metadata, so that a reader
 * need not open them for it. A segment is a few seconds of one side, 16-bit mono; rewriting it is idempotent.
 */
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { sealerOf } from '../sessions/session-store.ts';

export const TRACK_ROLES = ['agent', 'user', 'human'] as const;
/** The speaker of a track; `human` is the person added by a warm transfer. */
export type TrackRole = (typeof TRACK_ROLES)[number];

/** One stored segment of a track. */
export interface Segment {
  readonly role: TrackRole;
  readonly epoch: number;
  readonly index: number;
  /** Wall time of the first sample, ms. */
  readonly startMs: number;
  readonly rateHz: number;
  readonly samples: number;
}

type Owner = Pick<SessionDocument, '_id' | 'wrapped_key'>;
type Parts = Pick<Context, 'blobs' | 'dataKeys'>;

/**
 * Stores a segment; `pcm` is 16-bit little-endian. Does nothing once the session's key has been destroyed.
 */
export async function putSegment(
  context: Parts,
  session: Owner,
  segment: Segment,
  pcm: Uint8Array,
): Promise<void> {
  const name = segmentName(segment);
  const sealed = sealerOf(context, session)?.seal(pcm, name);
  if (sealed) await context.blobs.put(`${recordingPrefix(session._id)}${name}`, sealed);
}

/** Reads a segment's samples; null if it no longer exists. */
export async function getSegment(context: Parts, session: Owner, segment: Segment): Promise<Buffer | null> {
  const name = segmentName(segment);
  return open(context, session, { key: `${recordingPrefix(session._id)}${name}`, seal: name });
}

/** A session's stored segments, sorted by start time, then by epoch and index. */
export async function listSegments(context: Pick<Context, 'blobs'>, sessionId: string): Promise<Segment[]> {
  const names = await context.blobs.list(recordingPrefix(sessionId));
  return names
    .flatMap((name) => parseSegment(name.slice(recordingPrefix(sessionId).length)) ?? [])
    .sort((a, b) => a.startMs - b.startMs || a.epoch - b.epoch || a.index - b.index);
}

/** Stores one chunk of a session's flight log. */
export async function putFlightLog(
  context: Parts,
  session: Owner,
  at: { epoch: number; index: number },
  bytes: Uint8Array,
): Promise<void> {
  const name = chunkName(at);
  const sealed = sealerOf(context, session)?.seal(bytes, name);
  if (sealed) await context.blobs.put(`${flightLogPrefix(session._id)}${name}`, sealed);
}

/** Reads a session's flight log, with all epochs in order. */
export async function readFlightLog(context: Parts, session: Owner): Promise<Buffer> {
  const prefix = flightLogPrefix(session._id);
  const keys = [...(await context.blobs.list(prefix))].sort();
  const chunks = await Promise.all(
    keys.map((key) => open(context, session, { key, seal: key.slice(prefix.length) })),
  );
  return Buffer.concat(chunks.filter((chunk) => chunk !== null));
}

async function open(
  context: Parts,
  session: Owner,
  blob: { key: string; seal: string },
): Promise<Buffer | null> {
  const sealer = sealerOf(context, session);
  const sealed = sealer && (await context.blobs.get(blob.key));
  return sealer && sealed ? sealer.open(sealed, blob.seal) : null;
}

/** Key prefix of a session's recording. */
export function recordingPrefix(sessionId: string): string {
  return `sessions/${sessionId}/recording/`;
}

/** Key prefix of a session's flight log. */
export function flightLogPrefix(sessionId: string): string {
  return `sessions/${sessionId}/flight-log/`;
}

function chunkName(at: { epoch: number; index: number }): string {
  return `${pad(at.epoch, 4)}-${pad(at.index, 6)}`;
}

function segmentName({ role, epoch, index, startMs, rateHz, samples }: Segment): string {
  return `${role}-${pad(epoch, 4)}-${pad(index, 6)}-${startMs}-${rateHz}-${samples}`;
}

function parseSegment(name: string): Segment | null {
  const match = /^(agent|user|human)-(\d+)-(\d+)-(\d+)-(\d+)-(\d+)$/.exec(name);
  if (!match) return null;
  const [, role, ...numbers] = match;
  const [epoch = 0, index = 0, startMs = 0, rateHz = 0, samples = 0] = numbers.map(Number);
  return { role: role as TrackRole, epoch, index, startMs, rateHz, samples };
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}
