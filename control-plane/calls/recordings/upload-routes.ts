/** Uploads from workers during a call: recording segments and flight log chunks. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { type Upload, unpackUploads, uploadAnswer } from '#protocol/uploads.ts';
import type { Context } from '../../platform/context.ts';
import { workersOnly } from '../../platform/http/internal-access.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { putFlightLog, putSegment } from './recording-store.ts';

/** A full request plus one segment: five seconds at 48 kHz are 480 kB. */
const MAX_UPLOAD_BYTES = 4 * 1024 * 1024;

/** Registers the upload route, the only one that accepts a raw binary body. */
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
        config: { access: 'none' as const },
        onRequest: workersOnly(context),
        bodyLimit: MAX_UPLOAD_BYTES,
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
            // Any earlier epoch may still be uploading its segments.
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

/**
 * Session fields needed for an upload, read again for each request because the key may have been destroyed in
 * the meantime.
 */
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
