/**
 * A session's recording: its tracks with signed URLs that expire, and the audio behind them as WAV, with
 * range requests.
 */
import { createHmac, hkdfSync } from 'node:crypto';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { isSameSecret } from '#base/same-secret.ts';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { takeTurnOf } from '../../platform/limits/request-turns.ts';
import type { RecordedTrack, SessionDocument } from '../../platform/store/models/session-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { findSession } from '../sessions/find-session.ts';
import { loadSession } from '../sessions/session-store.ts';
import { DecodedSegments } from './decoded-segments.ts';
import { getSegment, listSegments } from './recording-store.ts';
import { type Segment, segmentName, TRACK_ROLES, type TrackRole, UPLOADS_END_MS } from './stored-pieces.ts';
import { gapsOf, layOutTrack, readWav, type TrackLayout, wavBytes } from './wav.ts';

/** Within this time, a control plane stores the pieces that it holds of a lost worker's call. */
const HELD_MS = 60_000;

const timestamp = z.iso.datetime().nullable();
const text = z.string().nullable();

const trackRecord = z.object({
  role: z.enum(TRACK_ROLES),
  status: z.enum(['requested', 'active', 'complete', 'failed']),
  url: text,
  expires_at: timestamp,
  duration_ms: z.number().int().nullable(),
  started_at: timestamp,
  ended_at: timestamp,
  /**
   * Unrecorded stretches, silent in the file, in ms from its start. Caused by the death of a worker: its last
   * seconds are lost, and the call is briefly without a worker.
   */
  gaps: z.array(z.object({ start_ms: z.number().int(), duration_ms: z.number().int() })),
  error: text,
  error_code: text,
});

const recordingRecord = z.object({
  session_id: z.string(),
  status: z.enum(['processing', 'complete', 'failed']),
  tracks: z.array(trackRecord),
  error: text,
  error_code: text,
  error_message: text,
});

const sessionPath = z.object({ session_id: z.string() });
const trackPath = z.object({
  session_id: z.string(),
  file: z.templateLiteral([z.enum(TRACK_ROLES), '.wav']),
});
const signedQuery = z.object({ expires: z.coerce.number().int(), signature: z.string().max(128) });

/** Registers the recording routes and the signed audio URLs. */
export function registerRecordingRoutes(app: ApiServer, context: Context): void {
  const decoded = new DecodedSegments(context.clock);
  app.get(
    '/v1/agent/sessions/:session_id/recording',
    { schema: { tags: ['sessions'], params: sessionPath, response: { 200: recordingRecord } } },
    async (request) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      const segments = await listSegments(context, session._id);
      const isKept = segments.length > 0 || isAwaited(context, session, segments);
      if (!isKept || !session.wrapped_key) throw fault('recording_not_found');
      return toRecording(context, session, segments);
    },
  );

  app.get(
    '/v1/agent/sessions/:session_id/recording/:file',
    {
      config: { access: 'none' },
      schema: { tags: ['sessions'], security: [], params: trackPath, querystring: signedQuery },
    },
    async (request, reply) => {
      const { session_id: sessionId, file } = request.params;
      const role = file.replace('.wav', '') as TrackRole;
      requireSignature(context, { sessionId, role }, request.query);
      const session = await loadSession(context, sessionId);
      if (session) await takeTurnOf(context, { request, reply }, session.user_id);
      const layout = session && layOut(session, await listSegments(context, sessionId), role);
      if (!session?.wrapped_key || !layout) throw fault('recording_not_found');
      const size = wavBytes(layout);
      const range = parseRange(request.headers.range, size);
      reply.type('audio/wav').header('Accept-Ranges', 'bytes').header('Cache-Control', 'private, no-store');
      if (range === 'unsatisfiable') return reply.code(416).header('Content-Range', `bytes */${size}`).send();
      const { from, to } = range ?? { from: 0, to: size };
      if (range) reply.code(206).header('Content-Range', `bytes ${from}-${to - 1}/${size}`);
      reply.header('Content-Length', to - from);
      return reply.send(
        Readable.from(
          readWav(layout, { from, to }, (segment) =>
            decoded.get(`${sessionId}/${segmentName(segment)}`, () => getSegment(context, session, segment)),
          ),
          { objectMode: false },
        ),
      );
    },
  );
}

function toRecording(
  context: Context,
  session: SessionDocument,
  segments: readonly Segment[],
): z.output<typeof recordingRecord> {
  const isOver = !isLive(session.status) && !isAwaited(context, session, segments);
  const tracks = TRACK_ROLES.flatMap((role) => {
    const layout = layOut(session, segments, role);
    if (!layout) return [];
    const durationMs = Math.round((layout.samples * 1000) / layout.rateHz);
    const expiresAtMs = context.clock.wallTime() + LIMITS.recordingUrlSeconds * 1000;
    return [
      {
        role,
        status: isOver ? ('complete' as const) : ('active' as const),
        url: isOver
          ? signedUrl(context, { sessionId: session._id, role }, Math.floor(expiresAtMs / 1000))
          : null,
        expires_at: isOver ? new Date(Math.floor(expiresAtMs / 1000) * 1000).toISOString() : null,
        duration_ms: durationMs,
        started_at: new Date(layout.startMs).toISOString(),
        ended_at: isOver ? new Date(layout.startMs + durationMs).toISOString() : null,
        gaps: gapsOf(layout).map(({ startMs, durationMs }) => ({
          start_ms: startMs,
          duration_ms: durationMs,
        })),
        error: null,
        error_code: null,
      },
    ];
  });
  return {
    session_id: session._id,
    status: isOver ? 'complete' : 'processing',
    tracks,
    error: null,
    error_code: null,
    error_message: null,
  };
}

/**
 * True after the call has ended while the worker is still uploading segments it has reported. A lost worker
 * has reported none, and another replica may hold the last minute.
 */
export function isAwaited(
  context: Context,
  { status, epoch, record_audio, started_at: startedAt, ended_at: endedAt, tracks }: SessionDocument,
  segments: readonly Segment[],
): boolean {
  const sinceMs = endedAt ? context.clock.wallTime() - endedAt.getTime() : Number.POSITIVE_INFINITY;
  if (isLive(status) || sinceMs > UPLOADS_END_MS) return false;
  const isReported = tracks.some((track) => track.epoch === epoch);
  const isRecorded = record_audio && startedAt !== null;
  if (isRecorded && context.blobs.isBucket && !isReported && sinceMs < HELD_MS) return true;
  const stored = ({ role, epoch }: RecordedTrack) =>
    segments
      .filter((segment) => segment.role === role && segment.epoch === epoch)
      .reduce((sum, { pieces }) => sum + pieces, 0);
  return tracks.some((track) => track.epoch !== undefined && stored(track) < track.segments);
}

/**
 * Lays out one side of a call. If the first worker's segments are lost, the track still starts with the call.
 */
function layOut(session: SessionDocument, all: readonly Segment[], role: TrackRole): TrackLayout | null {
  const segments = all.filter((segment) => segment.role === role);
  const isHeadLost = role !== 'human' && (segments[0]?.epoch ?? 0) > 1;
  return layOutTrack(segments, isHeadLost ? session.started_at?.getTime() : undefined);
}

interface Track {
  readonly sessionId: string;
  readonly role: TrackRole;
}

function signedUrl(context: Context, track: Track, expires: number): string {
  const path = `/v1/agent/sessions/${track.sessionId}/recording/${track.role}.wav`;
  const signature = signatureOf(context, track, expires);
  return `${context.publicAddress.url}${path}?expires=${expires}&signature=${signature}`;
}

function signatureOf(context: Context, { sessionId, role }: Track, expires: number): string {
  const key = Buffer.from(
    hkdfSync('sha256', context.credentials.deploymentKey, 'parley', 'recording addresses', 32),
  );
  return createHmac('sha256', key).update(`${sessionId}/${role}/${expires}`).digest('base64url');
}

/** Responds as not found if the signature is invalid or has expired. */
function requireSignature(
  context: Context,
  track: Track,
  { expires, signature }: z.output<typeof signedQuery>,
): void {
  const isGenuine = isSameSecret(signature, signatureOf(context, track, expires));
  if (!isGenuine || expires * 1000 <= context.clock.wallTime()) throw fault('recording_not_found');
}

/**
 * Parses a single range (RFC 9110 §14.2). Null for the whole file, also when several ranges are requested,
 * which the RFC permits.
 */
export function parseRange(
  header: string | undefined,
  size: number,
): { from: number; to: number } | 'unsatisfiable' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return null;
  if (match[1] === '') {
    const last = Math.min(Number(match[2]), size);
    return last === 0 ? 'unsatisfiable' : { from: size - last, to: size };
  }
  const from = Number(match[1]);
  const to = match[2] === '' ? size : Math.min(Number(match[2]) + 1, size);
  if (from >= size) return 'unsatisfiable';
  return to <= from ? null : { from, to };
}
