/** What workers put beside a session while it runs: segments of its recording, chunks of its flight log. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../context.ts';
import { workersOnly } from '../internal-access.ts';
import type { ApiServer } from '../server.ts';
import type { SessionDocument } from '../store/models/session-model.ts';
import { putFlightLog, putSegment, TRACK_ROLES } from './recording-store.ts';

/** Five seconds at 48 kHz are 480 kB. */
const MAX_UPLOAD_BYTES = 2 * 1024 * 1024;

const count = z.coerce.number().int().min(0).max(1_000_000);
const epoch = z.coerce.number().int().min(1);
const bytes = z.instanceof(Buffer);

const segmentPath = z.object({ session_id: z.string(), track: z.enum(TRACK_ROLES), segment: count });
const segmentQuery = z.object({ epoch, start_ms: z.coerce.number().int().min(0), rate_hz: z.coerce.number().int().min(8_000).max(48_000) });
const chunkPath = z.object({ session_id: z.string(), chunk: count });

/** Registers the upload routes; raw bytes are a body here and nowhere else. */
export async function registerUploadRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    scope.addContentTypeParser('application/octet-stream', { parseAs: 'buffer', bodyLimit: MAX_UPLOAD_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    const internal = { config: { access: 'none' as const }, onRequest: workersOnly(context), bodyLimit: MAX_UPLOAD_BYTES };

    scope.put(
      '/internal/sessions/:session_id/recording/:track/:segment',
      { ...internal, schema: { hide: true, params: segmentPath, querystring: segmentQuery, body: bytes } },
      async (request, reply) => {
        const { session_id: sessionId, track, segment } = request.params;
        const session = await findOwner(context, sessionId, request.query.epoch);
        const at = { role: track, epoch: request.query.epoch, index: segment, startMs: request.query.start_ms, rateHz: request.query.rate_hz };
        const pcm = request.body.subarray(0, request.body.length - (request.body.length % 2));
        if (session.record_audio) await putSegment(context, session, { ...at, samples: pcm.length / 2 }, pcm);
        return reply.code(204).send();
      },
    );

    scope.put(
      '/internal/sessions/:session_id/flight-log/:chunk',
      { ...internal, schema: { hide: true, params: chunkPath, querystring: z.object({ epoch }), body: bytes } },
      async (request, reply) => {
        const { session_id: sessionId, chunk } = request.params;
        const session = await findOwner(context, sessionId, request.query.epoch);
        await putFlightLog(context, session, { epoch: request.query.epoch, index: chunk }, request.body);
        return reply.code(204).send();
      },
    );
    done();
  });
}

/** What an upload asks of its session: read anew each time, as its key may have been destroyed meanwhile. */
type Owner = Pick<SessionDocument, '_id' | 'epoch' | 'wrapped_key' | 'record_audio'>;
const OWNER_FIELDS = { epoch: 1, wrapped_key: 1, record_audio: 1 } as const;

/** The session an upload belongs to: any epoch it has had may still be sending what it recorded. */
async function findOwner(context: Context, sessionId: string, ofEpoch: number): Promise<Owner> {
  const session = await context.models.sessions.findById(sessionId, OWNER_FIELDS).lean<Owner>();
  if (!session || ofEpoch > session.epoch) throw fault('not_found');
  return session;
}
