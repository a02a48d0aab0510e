/** A voice model as sent by clients and as returned by the API. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { bytes } from '../../platform/http/request-bodies.ts';
import type { VoiceDocument } from '../../platform/store/models/voice-model.ts';

/** Longest text of a sample, characters. */
export const VOICE_TEXT_CHARS = 10_000;

/** A form contains a single value without a list. */
const listOf = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (value === undefined || Array.isArray(value) ? value : [value]), z.array(item));
const formFlag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);
/** Base64 in JSON, which cannot contain bytes. */
const file = z.preprocess(
  (value) => (typeof value === 'string' ? Buffer.from(value, 'base64') : value),
  bytes,
);

const fields = {
  title: z.string().min(1).max(LIMITS.voiceTitleChars),
  description: z.string().max(LIMITS.agentDescriptionChars),
  cover_image: file,
  visibility: z.enum(['public', 'unlist', 'private']),
  tags: listOf(z.string().min(1).max(64)).pipe(z.array(z.string()).max(50)),
};

/** Body of a creation. */
export const voiceCreate = z
  .strictObject({
    type: z.literal('tts'),
    title: fields.title,
    train_mode: z.literal('fast'),
    voices: listOf(file).pipe(z.array(bytes).min(1).max(LIMITS.voiceSamples)),
    texts: listOf(z.string().max(VOICE_TEXT_CHARS))
      .pipe(z.array(z.string()).max(LIMITS.voiceSamples))
      .default([]),
    visibility: fields.visibility.default('public'),
    description: fields.description.default(''),
    cover_image: fields.cover_image.optional(),
    tags: fields.tags.default([]),
    enhance_audio_quality: formFlag.default(true),
    generate_sample: formFlag.default(false),
  })
  .refine(({ visibility, cover_image }) => visibility !== 'public' || cover_image !== undefined, {
    path: ['cover_image'],
    message: 'is required of a public model; or set visibility to unlist or private',
  })
  .refine(({ voices, texts }) => texts.length <= voices.length, {
    path: ['texts'],
    message: 'must not be more than voices',
  });
export type VoiceInput = z.output<typeof voiceCreate>;

/** Body of a change. */
export const voicePatch = z.strictObject(fields).partial();
export type VoicePatch = z.output<typeof voicePatch>;

/** The record. */
export const voiceRecord = z.object({
  _id: z.string(),
  type: z.literal('tts'),
  title: z.string(),
  description: z.string(),
  cover_image: z.string(),
  train_mode: z.literal('fast'),
  state: z.enum(['created', 'training', 'trained', 'failed']),
  tags: z.array(z.string()),
  samples: z.array(z.object({ title: z.string(), text: z.string(), task_id: z.string(), audio: z.string() })),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  languages: z.array(z.string()),
  visibility: fields.visibility,
  lock_visibility: z.boolean(),
  dmca_taken_down: z.boolean(),
  default_text: z.string(),
  source: z.string().nullable(),
  quality: z.null(),
  like_count: z.number().int(),
  mark_count: z.number().int(),
  shared_count: z.number().int(),
  task_count: z.number().int(),
  unliked: z.boolean(),
  liked: z.boolean(),
  marked: z.boolean(),
  author: z.object({ _id: z.string(), nickname: z.string(), avatar: z.string() }),
  notice: z.string().nullable().meta({
    description: 'A note for users: if the engine cannot clone, the voice that speaks instead',
  }),
});
type VoiceRecord = z.output<typeof voiceRecord>;

const DEFAULT_TEXT = 'Hello! This is how I sound.';
const UNCOUNTED = {
  like_count: 0,
  mark_count: 0,
  shared_count: 0,
  unliked: false,
  liked: false,
  marked: false,
};
const FIXED = {
  type: 'tts',
  train_mode: 'fast',
  state: 'trained',
  lock_visibility: false,
  dmca_taken_down: false,
  quality: null,
} as const;

/** Converts a model for the API; `url` is the base of links. */
export function toVoiceRecord(voice: VoiceDocument, url: string): VoiceRecord {
  const own = `${url}/model/${voice._id}`;
  return {
    ...FIXED,
    ...UNCOUNTED,
    _id: voice._id,
    title: voice.title,
    description: voice.description,
    cover_image: voice.has_cover_image ? `${own}/cover_image` : '',
    tags: voice.tags,
    samples: voice.samples.map((sample, index) => ({
      ...sample,
      task_id: '',
      audio: `${own}/samples/${index}`,
    })),
    created_at: voice.created_at.toISOString(),
    updated_at: voice.updated_at.toISOString(),
    languages: voice.languages,
    visibility: voice.visibility,
    default_text: DEFAULT_TEXT,
    source: null,
    task_count: voice.task_count,
    author: { _id: voice.author_id, nickname: voice.author_name, avatar: '' },
    notice: voice.is_cloned
      ? null
      : 'The synthesis engine of this deployment cannot clone voices: the samples are kept, and ' +
        `${voice.engine_voice_id} speaks for this model`,
  };
}

/** Converts a voice of the engine itself, as a public model. */
export function toEngineVoiceRecord(voice: {
  readonly id: string;
  readonly name: string;
  readonly languages: readonly string[];
}): VoiceRecord {
  const epoch = new Date(0).toISOString();
  return {
    ...FIXED,
    ...UNCOUNTED,
    _id: voice.id,
    title: voice.name,
    description: '',
    cover_image: '',
    tags: [],
    samples: [],
    created_at: epoch,
    updated_at: epoch,
    languages: [...voice.languages],
    visibility: 'public',
    default_text: DEFAULT_TEXT,
    source: voice.id,
    task_count: 0,
    author: { _id: 'platform', nickname: 'Parley', avatar: '' },
    notice: null,
  };
}
