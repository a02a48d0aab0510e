/** Uploads from workers during a call: recordings and flight logs. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import {
  ADDRESSES_PATH,
  addressAnswer,
  addressQuestion,
  type ObjectAddress,
  type PieceHead,
  type PlainHead,
  UPLOAD_PATH,
  type Upload,
  unpackPlainUploads,
  unpackUploads,
  uploadAnswer,
} from '#protocol/uploads.ts';
import type { Context } from '../../platform/context.ts';
import { workersOnly } from '../../platform/http/internal-access.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { PrivacyDocument } from '../../platform/store/models/privacy-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { findSessions } from '../../platform/store/session-archive.ts';
import { addressOf, deleteStored, eraseStored, putStored } from './recording-store.ts';
import { type Chunk, plainStoredAs, type Segment, storedAs, UPLOADS_END_MS } from './stored-pieces.ts';

/** A full request plus the largest object: a minute of noise at 48 kHz is 5.8 MB. */
const MAX_UPLOAD_BYTES = 8 * 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1_000;

type Answer = z.output<typeof uploadAnswer>;

/** Registers the routes of uploads, the only ones that accept a raw binary body. */
export async function registerUploadRoutes(app: ApiServer, context: Context): Promise<void> {
  app.post(
    ADDRESSES_PATH,
    {
      config: { access: 'none' as const },
      onRequest: workersOnly(context),
      schema: { hide: true, body: addressQuestion, response: { 200: addressAnswer } },
    },
    async (request) => ({ addresses: await addressesOf(context, request.body) }),
  );
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    scope.addContentTypeParser(
      'application/octet-stream',
      { parseAs: 'buffer', bodyLimit: MAX_UPLOAD_BYTES },
      (_request, body, done) => done(null, body),
    );
    const register = (path: string, take: (body: Buffer) => Promise<Answer> | null) =>
      scope.post(
        path,
        {
          config: { access: 'none' as const },
          onRequest: workersOnly(context),
          bodyLimit: MAX_UPLOAD_BYTES,
          schema: { hide: true, body: z.instanceof(Buffer), response: { 200: uploadAnswer } },
        },
        async (request) => {
          const answer = take(request.body);
          if (!answer) throw fault('malformed_body', { kind: 'uploads' });
          return answer;
        },
      );
    register(UPLOAD_PATH, (body) => {
      const uploads = unpackUploads(body);
      return uploads && take(context, uploads);
    });
    register('/internal/uploads', (body) => {
      const uploads = unpackPlainUploads(body);
      return uploads && takePlain(context, uploads);
    });
    done();
  });
}

/** Holds pieces if objects cost requests, and stores everything else. */
async function take(context: Context, uploads: readonly Upload[]): Promise<Answer> {
  let isStored = true;
  const refused = await storeAll(context, uploads, async (owner, upload) => {
    const { head, bytes } = upload;
    if (head.type === 'audio' && !owner.record_audio) return null;
    if (await isDeleted(context, owner, head)) return null;
    const nowMs = context.clock.now();
    if (head.is_part && context.blobs.isBucket && context.held.hold(upload, owner.team_id, nowMs)) {
      isStored = false;
      return null;
    }
    const stored = head.salt === undefined ? storedAs(head) : null;
    if (stored) await putStored(context, owner, stored, bytes);
    context.held.release(head, context.clock.now());
    return stored;
  });
  return { refused, is_stored: isStored };
}

async function takePlain(context: Context, uploads: readonly Upload<PlainHead>[]): Promise<Answer> {
  const refused = await storeAll(context, uploads, async (owner, { head, bytes }) => {
    if (head.type === 'recording' && !owner.record_audio) return null;
    const whole = head.type === 'recording' ? bytes.subarray(0, bytes.length - (bytes.length % 2)) : bytes;
    const stored = plainStoredAs(head, whole.length);
    await putStored(context, owner, stored, whole);
    return stored;
  });
  return { refused, is_stored: true };
}

/** Whether nothing of its kind may be stored any more; deletes the objects that a worker has stored since. */
async function isDeleted(context: Context, owner: Owner, head: PieceHead): Promise<boolean> {
  if (!owner.wrapped_key) {
    context.held.forget(owner._id);
    // Workers may have stored more with addresses from before. It cannot be opened: its key is destroyed.
    if (!head.is_part) await eraseStored(context, owner);
    return true;
  }
  if (!(await isExpired(context, owner, head.type === 'log' ? 'flight_logs' : 'recordings'))) return false;
  // Stored a moment ago, with an answer that the worker has not received.
  await deleteStored(context, owner, storedAs(head));
  return true;
}

/**
 * Whether retention has deleted the call's objects, and does not look at it again: a machine that was off for
 * days sends the pieces on its disk.
 */
async function isExpired(
  { models, clock }: Pick<Context, 'models' | 'clock'>,
  { team_id: teamId, ended_at: endedAt }: Owner,
  kind: 'recordings' | 'flight_logs',
): Promise<boolean> {
  if (!endedAt || clock.wallTime() < endedAt.getTime() + UPLOADS_END_MS) return false;
  const days = `${kind}_days` as const;
  const settings = await models.privacy
    .findById(teamId, { done: 1, [days]: 1 })
    .lean<Pick<PrivacyDocument, 'done' | typeof days>>();
  if (!settings) return false;
  const { done, [days]: kept } = settings;
  // A pass notes what it has done once it is complete: it may have been at this call already.
  const keptMs = (kept ?? Number.POSITIVE_INFINITY) * DAY_MS;
  return endedAt.getTime() + keptMs <= clock.wallTime() || (done[kind] ?? new Date(0)) >= endedAt;
}

/** Addresses of the objects that are wanted. */
async function addressesOf(
  context: Context,
  { instance_id: instanceId, objects }: z.output<typeof addressQuestion>,
): Promise<(ObjectAddress | null)[]> {
  const owners = await findOwners(context, [...new Set(objects.map(({ head }) => head.session_id))]);
  return Promise.all(
    objects.map(async (object) => {
      const owner = owners.get(object.head.session_id);
      if (!owner || !isTheirs(context, owner, { epoch: object.head.epoch, instanceId })) return null;
      return object.head.type === 'log' || owner.record_audio ? addressOf(context, owner, object) : null;
    }),
  );
}

/**
 * Whether this worker has the call, or had it to its end and may still have something of it. What others have
 * goes through the control plane.
 */
function isTheirs(
  context: Pick<Context, 'clock'>,
  owner: Owner,
  { epoch, instanceId }: { readonly epoch: number; readonly instanceId: string },
): boolean {
  const endedMs = owner.ended_at?.getTime() ?? Number.POSITIVE_INFINITY;
  const isOver = context.clock.wallTime() >= endedMs + UPLOADS_END_MS;
  const last = owner.call_worker ?? { instance_id: owner.worker?.instance_id, epoch: owner.epoch };
  return !isOver && epoch === last.epoch && instanceId === last.instance_id;
}

/**
 * Session fields needed for an upload, read again for each request because the key may have been destroyed in
 * the meantime.
 */
type Owner = Pick<
  SessionDocument,
  '_id' | 'team_id' | 'epoch' | 'worker' | 'call_worker' | 'wrapped_key' | 'record_audio' | 'ended_at'
>;
const OWNER_FIELDS = {
  team_id: 1,
  epoch: 1,
  worker: 1,
  call_worker: 1,
  wrapped_key: 1,
  record_audio: 1,
  ended_at: 1,
} as const;

/**
 * Calls `store` for each upload that is wanted; returns the positions of the others. What it has stored while
 * the session was erased, or its retention ended, is deleted again, also if it could not store everything.
 */
async function storeAll<Head extends { readonly session_id: string; readonly epoch: number }>(
  context: Context,
  uploads: readonly Upload<Head>[],
  store: (owner: Owner, upload: Upload<Head>) => Promise<Segment | Chunk | null>,
): Promise<number[]> {
  const owners = await findOwners(context, [...new Set(uploads.map(({ head }) => head.session_id))]);
  const refused: number[] = [];
  const all: { readonly owner: Owner; readonly stored: Segment | Chunk }[] = [];
  const storing = await Promise.allSettled(
    uploads.map(async (upload, index) => {
      const owner = owners.get(upload.head.session_id);
      // Any earlier epoch may still be uploading its segments.
      if (!owner || upload.head.epoch > owner.epoch) {
        refused.push(index);
        return;
      }
      const stored = await store(owner, upload);
      if (stored) all.push({ owner, stored });
    }),
  );
  await deleteUnwanted(context, all);
  const failed = storing.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
  return refused;
}

async function deleteUnwanted(
  context: Context,
  all: readonly { readonly owner: Owner; readonly stored: Segment | Chunk }[],
): Promise<void> {
  if (all.length === 0) return;
  const owners = await findOwners(context, [...new Set(all.map(({ owner }) => owner._id))]);
  for (const { owner, stored } of all) {
    const now = owners.get(owner._id);
    const kind = 'role' in stored ? 'recordings' : 'flight_logs';
    if (!now?.wrapped_key || (await isExpired(context, now, kind)))
      await deleteStored(context, owner, stored);
  }
}

async function findOwners(
  { models }: Pick<Context, 'models'>,
  sessionIds: readonly string[],
): Promise<Map<string, Owner>> {
  const owners = await findSessions<Owner>({ models }, sessionIds, OWNER_FIELDS);
  return new Map(owners.map((owner) => [owner._id, owner]));
}
