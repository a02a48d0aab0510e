/** Voice models in the store and their samples in the blobs. */
import { fault } from '#config/errors.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import { freeBytes, takeBytes } from '../../accounts/limits/stored-bytes.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import type { VoiceDocument } from '../../platform/store/models/voice-model.ts';
import { cloneVoice, forgetVoice } from './clone-voice.ts';
import type { VoiceInput, VoicePatch } from './voice-record.ts';

/** Models that a team may read besides its own: all that are not private. */
export function readableBy(teamId: string): Record<string, unknown> {
  return { $or: [{ team_id: teamId }, { visibility: { $in: ['public', 'unlist'] } }] };
}

/** Finds a model that the caller may read. Throws `not_found`. */
export async function findVoice(context: Context, teamId: string, id: string): Promise<VoiceDocument> {
  const voice = await context.models.voices.findOne({ _id: id, ...readableBy(teamId) }).lean<VoiceDocument>();
  if (!voice) throw fault('not_found');
  return voice;
}

/**
 * Stores a model with its samples and their `texts`. If the engine clones, it creates the voice first, so
 * that nothing it refuses is stored. Throws `storage_full`, `quota_reached`.
 */
export async function createVoice(
  context: Context,
  caller: Caller,
  input: VoiceInput,
  texts: readonly string[],
): Promise<VoiceDocument> {
  const user = await context.models.users.findById(caller.userId).lean();
  const id = newId();
  const at = now(context);
  const bytes = [...input.voices, ...(input.cover_image ? [input.cover_image] : [])].reduce(
    (sum, file) => sum + file.length,
    0,
  );
  await takeBytes(context, { userId: caller.userId, teamId: caller.teamId, id, bytes });
  return withinQuota(context, { kind: 'voices', owner: caller.teamId, id }, () =>
    storeVoice(context, { id, at, caller, authorName: user?.name ?? '' }, input, texts),
  ).catch(async (error: unknown) => {
    await freeBytes(context, caller.teamId, [id]);
    throw error;
  });
}

async function storeVoice(
  context: Context,
  identity: { readonly id: string; readonly at: Date; readonly caller: Caller; readonly authorName: string },
  input: VoiceInput,
  texts: readonly string[],
): Promise<VoiceDocument> {
  const { id, at, caller, authorName } = identity;
  const cloned = await cloneVoice(context, { name: input.title, samples: input.voices });
  await Promise.all(input.voices.map((sample, index) => context.blobs.put(sampleKey(id, index), sample)));
  if (input.cover_image) await context.blobs.put(coverKey(id), input.cover_image);
  const voice: VoiceDocument = {
    _id: id,
    team_id: caller.teamId,
    author_id: caller.userId,
    author_name: authorName,
    title: input.title,
    description: input.description,
    visibility: input.visibility,
    tags: input.tags,
    languages: [],
    samples: texts.map((text, index) => ({ title: `Sample ${index + 1}`, text })),
    has_cover_image: input.cover_image !== undefined,
    engine_voice_id: cloned ?? engineVoiceFor(context, id),
    is_cloned: cloned !== null,
    task_count: 0,
    created_at: at,
    updated_at: at,
  };
  await context.models.voices.create(voice);
  return voice;
}

/** Changes a model of the caller's team. Throws `not_found`, `storage_full`. */
export async function patchVoice(
  context: Context,
  caller: Caller,
  id: string,
  { cover_image, ...fields }: VoicePatch,
): Promise<VoiceDocument> {
  const { teamId, userId } = caller;
  if (cover_image && (await context.models.voices.exists({ _id: id, team_id: teamId }))) {
    const cover = `${id}:cover:${newId()}`;
    await takeBytes(context, { userId, teamId, id: cover, bytes: cover_image.length });
    await context.blobs.put(coverKey(id), cover_image);
    await freeBytes(context, teamId, [`${id}:cover`], { replacedBy: cover });
  }
  const $set = { ...fields, ...(cover_image ? { has_cover_image: true } : {}), updated_at: now(context) };
  const voice = await context.models.voices
    .findOneAndUpdate({ _id: id, team_id: teamId }, { $set }, { returnDocument: 'after' })
    .lean<VoiceDocument>();
  if (!voice) throw fault('not_found');
  return voice;
}

/** Deletes a model of the caller's team and its samples. Throws `not_found`. */
export async function deleteVoice(context: Context, teamId: string, id: string): Promise<void> {
  const deleted = await removeFromQuota(context, { kind: 'voices', owner: teamId, id }, async () => {
    const found = await context.models.voices
      .findOneAndDelete({ _id: id, team_id: teamId })
      .lean<VoiceDocument>();
    if (!found) throw fault('not_found');
    return found;
  });
  await context.blobs.deletePrefix(`voices/${id}/`);
  await freeBytes(context, teamId, [id]);
  if (deleted.is_cloned) await forgetVoice(context, deleted.engine_voice_id);
}

/** Blob key of a sample. */
export function sampleKey(id: string, index: number): string {
  return `voices/${id}/sample-${index}`;
}

/** Blob key of the cover image. */
export function coverKey(id: string): string {
  return `voices/${id}/cover`;
}

/**
 * If the engine cannot clone, each model gets one of its voices, so that two models of a dialogue sound
 * different.
 */
function engineVoiceFor({ platform, settings }: Pick<Context, 'platform' | 'settings'>, id: string): string {
  const own = platform.voices.filter((voice) => voice.id.startsWith(`${settings.TTS_PROVIDER}:`));
  const voices = own.length > 0 ? own : platform.voices;
  return voices[Number.parseInt(id.slice(0, 8), 16) % voices.length]?.id ?? 'default';
}
