/** What workers put beside sessions while they run: segments of recordings, chunks of flight logs. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { type Upload, unpackUploads, uploadAnswer } from '#protocol/uploads.ts';
import type { Context } from '../../platform/context.ts';
import { workersOnly } from '../../platform/http/internal-access.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { putFlightLog, putSegment } from './recording-store.ts';

/** A full request and one segment more: five seconds at 48 kHz are 480 kB. */
const MAX_UPLOAD_BYTES = 4 * 1024 * 1024;

/** Registers the upload route; raw bytes are a body here and nowhere else. */
export async function registerUploadRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    scope.addContentTypeParser(
      'application/octet-stream',
      { parseAs: 'buffer', bodyLimit: MAX_UPLOAD_BYTES },
      (_request, body, done) => done(null, body),
    );
    scope.post(
      '/internal/uploads',
      {
        ...{
          config: { access: 'none' as const },
          onRequest: workersOnly(context),
          bodyLimit: MAX_UPLOAD_BYTES,
        },
        schema: { hide: true, body: z.instanceof(Buffer), response: { 200: uploadAnswer } },
      },
      async (request) => {
        const uploads = unpackUploads(request.body);
        if (!uploads) throw fault('malformed_body', { kind: 'uploads' });
        const owners = await findOwners(context, uploads);
        const refused: number[] = [];
        await Promise.all(
          uploads.map(async (upload, index) => {
            const owner = owners.get(upload.head.session_id);
            // Any epoch the session has had may still be sending what it recorded.
            if (owner && upload.head.epoch <= owner.epoch) await store(context, owner, upload);
            else refused.push(index);
          }),
        );
        return { refused };
      },
    );
    done();
  });
}

/** What an upload asks of its session: read anew each time, as its key may have been destroyed meanwhile. */
type Owner = Pick<SessionDocument, '_id' | 'epoch' | 'wrapped_key' | 'record_audio'>;
const OWNER_FIELDS = { epoch: 1, wrapped_key: 1, record_audio: 1 } as const;

async function findOwners(context: Context, uploads: readonly Upload[]): Promise<Map<string, Owner>> {
  const ids = [...new Set(uploads.map(({ head }) => head.session_id))];
  const owners = await context.models.sessions.find({ _id: { $in: ids } }, OWNER_FIELDS).lean<Owner[]>();
  return new Map(owners.map((owner) => [owner._id, owner]));
}

async function store(context: Context, owner: Owner, { head, bytes }: Upload): Promise<void> {
  if (head.type === 'flight_log') {
    await putFlightLog(context, owner, { epoch: head.epoch, index: head.chunk }, bytes);
    return;
  }
  if (!owner.record_audio) return;
  const pcm = bytes.subarray(0, bytes.length - (bytes.length % 2));
  const { track: role, epoch, segment: index, start_ms: startMs, rate_hz: rateHz } = head;
  await putSegment(context, owner, { role, epoch, index, startMs, rateHz, samples: pcm.length / 2 }, pcm);
}
