/**
 * Routes of voice models: create from samples, list with its own paging, read, change, delete. The list
 * includes the engine's own voices.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { requireRoom } from '../../accounts/limits/stored-bytes.ts';
import { type Context, newId } from '../../platform/context.ts';
import { type Caller, callerOf } from '../../platform/http/auth.ts';
import { queryFlag, searchPattern } from '../../platform/http/lists.ts';
import { acceptBodies } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { declaredBytes, SMALL_BYTES } from '../../platform/limits/body-size.ts';
import type { VoiceDocument } from '../../platform/store/models/voice-model.ts';
import { admit, recognise, speechFault } from '../requests/speech-service.ts';
import {
  toEngineVoiceRecord,
  toVoiceRecord,
  VOICE_TEXT_CHARS,
  type VoiceInput,
  voiceCreate,
  voicePatch,
  voiceRecord,
} from './voice-record.ts';
import { coverKey, createVoice, deleteVoice, findVoice, patchVoice, sampleKey } from './voice-store.ts';

const modelPath = z.object({ id: z.string() });
const bodies = {
  tags: ['voices'],
  consumes: [
    'multipart/form-data',
    'application/json',
    'application/x-www-form-urlencoded',
    'application/msgpack',
  ],
};
const listQuery = z.strictObject({
  page_size: z.coerce.number().int().min(1).max(100).default(10),
  page_number: z.coerce.number().int().min(1).default(1),
  title: z.string().max(200).optional(),
  tag: z.union([z.string(), z.array(z.string())]).optional(),
  self: queryFlag,
  author_id: z.string().optional(),
  language: z.union([z.string(), z.array(z.string())]).optional(),
  title_language: z.union([z.string(), z.array(z.string())]).optional(),
  sort_by: z.enum(['score', 'task_count', 'created_at']).default('score'),
});
const modelList = z.object({
  total: z.number().int(),
  items: z.array(voiceRecord),
  has_more: z.boolean().nullable(),
  max_offset: z.number().int().nullable(),
  accessible_upper_bound: z.number().int().nullable(),
  window_limited: z.boolean(),
  total_is_exact: z.boolean(),
});

/** Registers the routes of voice models. */
export async function registerVoiceRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    acceptBodies(scope, {
      kinds: ['multipart', 'msgpack', 'urlencoded'],
      json: true,
      mostBytes: LIMITS.voiceSampleBytes,
    });
    registerReads(scope, context);
    registerChanges(scope, context);
    done();
  });
}

/** Maximum size of a form without its samples: its texts, at four bytes a character, and its other fields. */
const MOST_TEXT_BYTES = LIMITS.voiceSamples * VOICE_TEXT_CHARS * 4 + SMALL_BYTES;

/** Before the body is read, refuses an upload that does not fit. Throws `storage_full`. */
async function requireRoomForSamples(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const bytes = (declaredBytes(request) ?? 0) - MOST_TEXT_BYTES;
  if (bytes <= 0) return;
  const { userId, teamId } = callerOf(request);
  try {
    await requireRoom(context, { userId, teamId, bytes });
  } catch (error) {
    // The rest of a refused upload is not read.
    reply.header('Connection', 'close');
    throw error;
  }
}

function registerReads(scope: ApiServer, context: Context): void {
  scope.get(
    '/model',
    { schema: { tags: ['voices'], querystring: listQuery, response: { 200: modelList } } },
    async (request) => {
      const { query } = request;
      const engineVoices = engineVoicesFor(context, query);
      const filter = filterOf(query, callerOf(request));
      const skip = (query.page_number - 1) * query.page_size;
      if (skip > LIMITS.pageOffsetRows) throw fault('page_too_deep');
      const total = (await context.models.voices.countDocuments(filter)) + engineVoices.length;
      // The engine's voices come first, because they are always available.
      const shown = engineVoices.slice(skip, skip + query.page_size).map(toEngineVoiceRecord);
      const rows = await context.models.voices
        .find(filter)
        .sort(
          query.sort_by === 'task_count'
            ? { task_count: -1, created_at: -1, _id: -1 }
            : { created_at: -1, _id: -1 },
        )
        .skip(Math.max(0, skip - engineVoices.length))
        .limit(query.page_size)
        .lean<VoiceDocument[]>();
      const items = [...shown, ...rows.map((voice) => toVoiceRecord(voice, context.publicAddress.url))].slice(
        0,
        query.page_size,
      );
      const has_more = skip + items.length < total;
      return {
        total,
        items,
        has_more,
        max_offset: null,
        accessible_upper_bound: null,
        window_limited: false,
        total_is_exact: true,
      };
    },
  );

  scope.get(
    '/model/:id',
    { schema: { tags: ['voices'], params: modelPath, response: { 200: voiceRecord } } },
    async (request) => {
      const own = context.platform.voices.find(({ id }) => id === request.params.id);
      return own
        ? toEngineVoiceRecord(own)
        : toVoiceRecord(
            await findVoice(context, callerOf(request).teamId, request.params.id),
            context.publicAddress.url,
          );
    },
  );

  const samplePath = modelPath.extend({ index: z.coerce.number().int().min(0).max(LIMITS.voiceSamples) });
  scope.get(
    '/model/:id/samples/:index',
    { schema: { tags: ['voices'], params: samplePath } },
    async (request, reply) => {
      const { _id } = await findVoice(context, callerOf(request).teamId, request.params.id);
      return reply
        .type('application/octet-stream')
        .send(await blob(context, sampleKey(_id, request.params.index)));
    },
  );
  scope.get(
    '/model/:id/cover_image',
    { schema: { tags: ['voices'], params: modelPath } },
    async (request, reply) => {
      const { _id } = await findVoice(context, callerOf(request).teamId, request.params.id);
      return reply.type('application/octet-stream').send(await blob(context, coverKey(_id)));
    },
  );
}

function registerChanges(scope: ApiServer, context: Context): void {
  const limits = {
    bodyLimit: LIMITS.voiceSampleBytes,
    config: { bodyOptional: true },
    onRequest: (request: FastifyRequest, reply: FastifyReply) =>
      requireRoomForSamples(context, request, reply),
  };
  scope.post(
    '/model',
    { ...limits, schema: { ...bodies, body: voiceCreate, response: { 201: voiceRecord } } },
    async (request, reply) => {
      const caller = callerOf(request);
      const texts = await textsOf(context, caller, request.body);
      return reply
        .code(201)
        .send(
          toVoiceRecord(await createVoice(context, caller, request.body, texts), context.publicAddress.url),
        );
    },
  );

  scope.patch(
    '/model/:id',
    { ...limits, schema: { ...bodies, params: modelPath, body: voicePatch, response: { 200: voiceRecord } } },
    async (request) =>
      toVoiceRecord(
        await patchVoice(context, callerOf(request), request.params.id, request.body),
        context.publicAddress.url,
      ),
  );

  scope.delete(
    '/model/:id',
    { schema: { tags: ['voices'], params: modelPath, response: { 200: z.object({}) } } },
    async (request) => {
      await deleteVoice(context, callerOf(request).teamId, request.params.id);
      return {};
    },
  );
}

async function blob(context: Context, key: string): Promise<Buffer> {
  const found = await context.blobs.get(key);
  if (!found) throw fault('not_found');
  return found;
}

/**
 * The text of each sample: as sent, or recognised if absent. Throws `bad_request` for a sample that is not
 * audio.
 */
async function textsOf(context: Context, caller: Caller, { voices, texts }: VoiceInput): Promise<string[]> {
  if (texts.length === voices.length) return texts;
  const slot = await admit(context, caller, 'recognition');
  try {
    const all = [...texts];
    for (const sample of voices.slice(texts.length)) {
      const options = {
        language: null,
        longestSeconds: LIMITS.transcribeMinutes * 60,
        shortestSeconds: LIMITS.transcribeSeconds,
      };
      const work = { audio: new Uint8Array(sample), options, signal: new AbortController().signal };
      all.push((await recognise(context, { caller, requestId: newId(), slot }, work)).text);
    }
    return all;
  } catch (error) {
    throw speechFault(error);
  } finally {
    slot.release();
  }
}

function engineVoicesFor(context: Context, query: z.output<typeof listQuery>) {
  const { self, author_id, tag, language } = query;
  if (self || author_id !== undefined || tag !== undefined) return [];
  const title = query.title?.toLowerCase() ?? '';
  const languages = [language ?? []].flat();
  return context.platform.voices.filter(
    (voice) =>
      voice.name.toLowerCase().includes(title) &&
      (languages.length === 0 || voice.languages.some((spoken) => languages.includes(spoken))),
  );
}

function filterOf(query: z.output<typeof listQuery>, caller: Caller): Record<string, unknown> {
  const readable = query.self
    ? { team_id: caller.teamId }
    : { $or: [{ team_id: caller.teamId }, { visibility: 'public' }] };
  return {
    ...readable,
    ...(query.title === undefined ? {} : { title: searchPattern(query.title) }),
    ...(query.tag === undefined ? {} : { tags: { $in: [query.tag].flat() } }),
    ...(query.author_id === undefined ? {} : { author_id: query.author_id }),
    ...(query.language === undefined ? {} : { languages: { $in: [query.language].flat() } }),
  };
}
