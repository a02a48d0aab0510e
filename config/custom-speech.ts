/**
 * `custom_speech`, an optional section of an agent's configuration: a recogniser or a voice on a server of
 * its owner (docs/custom-speech.md). The keys are stored separately, encrypted, and read back as
 * `has_secret`.
 */
import { z } from 'zod';

const server = {
  /** `jambonz`: the custom speech API of jambonz; `openai`: the audio routes of OpenAI's API. */
  protocol: z.enum(['jambonz', 'openai']),
  /** Of the server; with `openai` the base address, which usually ends in `/v1`. */
  url: z.string().min(1).max(2_000),
  /** Empty: none is named to a jambonz server; OpenAI's own default otherwise. */
  model: z.string().max(256),
  /** As the server wants it (`en-US`); empty: the language that the agent speaks, ISO 639-1. */
  language: z.string().max(35),
  /** Whether an engine of the platform takes over when the server fails. */
  fallback: z.boolean(),
};

const recognizer = z.strictObject({
  ...server,
  /** Rate of the audio sent to a jambonz server. */
  sample_rate_hz: z.union([z.literal(8_000), z.literal(16_000)]),
  /** False for a jambonz server that has no results before the final ones. */
  interim_results: z.boolean(),
});

const voice = z.strictObject({
  ...server,
  voice: z.string().max(256),
  /** Rate of an answer whose content type names none (`audio/pcm`). */
  sample_rate_hz: z.union([z.literal(8_000), z.literal(16_000), z.literal(22_050), z.literal(24_000)]),
});

const SERVER_DEFAULTS = { protocol: 'jambonz', url: '', model: '', language: '', fallback: true } as const;
const RECOGNIZER_DEFAULTS = { ...SERVER_DEFAULTS, sample_rate_hz: 8_000, interim_results: true } as const;
const VOICE_DEFAULTS = { ...SERVER_DEFAULTS, voice: '', sample_rate_hz: 24_000 } as const;

const stored = { has_secret: z.boolean().default(false) };

/** The section; absent until set. */
export const customSpeech = z.strictObject({
  asr: recognizer.extend(stored).optional(),
  tts: voice.extend(stored).optional(),
});
export type CustomSpeech = z.output<typeof customSpeech>;

/** A key is sent in a header: other characters would fail every request. */
const apiKey = z
  .string()
  .min(1)
  .max(4_096)
  .refine((value) => !/[^!-~]/.test(value), 'must be ASCII characters without spaces');

/** Sent with a change; `has_secret` is accepted when a snapshot is restored, and never stored. */
const sent = {
  api_key: apiKey.nullable().optional(),
  has_secret: z.boolean().optional(),
};

/** A change of the section. Null removes it, or one of its parts. */
export const customSpeechPatch = z
  .strictObject({
    asr: recognizer.partial().extend(sent).nullable().optional(),
    tts: voice.partial().extend(sent).nullable().optional(),
  })
  .nullable();
export type CustomSpeechPatch = z.output<typeof customSpeechPatch>;

const key = { api_key: z.string().nullable() };

/** A recogniser in a call plan, with its key. */
export const plannedRecognizer = z.object(recognizer.shape).extend(key);
export type PlannedRecognizer = z.output<typeof plannedRecognizer>;

/** A voice in a call plan, with its key. */
export const plannedVoice = z.object(voice.shape).extend(key);
export type PlannedVoice = z.output<typeof plannedVoice>;

/**
 * Merges a change into the section; undefined if nothing is left of it. Keeps `has_secret`; the caller, which
 * stores the keys, corrects it. A part that is new without a `url` gets an empty one, which the rules of the
 * configuration refuse.
 */
export function mergeCustomSpeech(
  current: CustomSpeech | undefined,
  patch: CustomSpeechPatch | undefined,
): CustomSpeech | undefined {
  if (patch === undefined) return current;
  if (patch === null) return undefined;
  const asr = mergePart(RECOGNIZER_DEFAULTS, current?.asr, patch.asr);
  const tts = mergePart(VOICE_DEFAULTS, current?.tts, patch.tts);
  return asr || tts ? { ...(asr ? { asr } : {}), ...(tts ? { tts } : {}) } : undefined;
}

/** The address as http, for checks that know no WebSockets. */
export function httpAddress(url: string): string {
  return url.replace(/^ws(?=s?:)/i, 'http');
}

type Part = NonNullable<CustomSpeech['asr'] | CustomSpeech['tts']>;

function mergePart<P extends Part>(
  defaults: Omit<P, 'has_secret'>,
  current: P | undefined,
  patch: { readonly api_key?: unknown; readonly has_secret?: unknown } | null | undefined,
): P | undefined {
  if (patch === undefined) return current;
  if (patch === null) return undefined;
  const { api_key: _key, has_secret: _has, ...fields } = patch;
  const merged = { has_secret: false, ...defaults, ...current, ...withoutUndefined(fields) } as P;
  return merged.protocol === 'openai' ? { ...merged, url: baseOf(merged.url) } : merged;
}

function baseOf(url: string): string {
  return url.replace(/(?<!\/)\/+$/, '').replace(/\/audio\/(?:speech|transcriptions)$/, '');
}

function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
