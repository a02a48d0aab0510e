/** A synthesis request: its fields with their ranges, and the resulting engine options. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { AudioOutput } from '#media/speech/pool/audio-encoder.ts';
import type { Segment, SpeakOptions } from '#media/speech/pool/speech-jobs.ts';
import { bytes } from '../../platform/http/request-bodies.ts';
import { pronounce } from './pronunciation.ts';

const TOO_LONG = `The text is longer than ${LIMITS.spokenChars} characters: send it in several requests`;
const RATES = {
  wav: [8_000, 16_000, 24_000, 32_000, 44_100],
  pcm: [8_000, 16_000, 24_000, 32_000, 44_100],
  mp3: [32_000, 44_100],
  opus: [48_000],
} as const;

const reference = z.strictObject({ audio: bytes, text: z.string() });
const pronunciationItem = z.strictObject({
  key: z.string().min(1).max(LIMITS.pronunciationKeyChars),
  value: z.string().min(1).max(LIMITS.pronunciationValueChars),
  case_sensitive: z.boolean().default(false),
});
const dictionaries = z
  .array(
    z.union([
      z.strictObject({ items: z.array(pronunciationItem).max(LIMITS.pronunciationItems) }),
      z.strictObject({ id: z.string(), version: z.union([z.string(), z.number()]).optional() }),
    ]),
  )
  .max(LIMITS.pronunciationDictionaries);

const fields = {
  text: z
    .string()
    .max(LIMITS.spokenChars)
    .meta({
      examples: ['Hello, and welcome.'],
      description: 'Text to speak; `<|speaker:N|>` switches the voice in a dialogue',
    }),
  reference_id: z
    .union([z.string(), z.array(z.string()).min(1)])
    .nullable()
    .default(null)
    .meta({ description: 'Voice model, or one for each speaker in order' }),
  references: z
    .array(z.union([reference, z.array(reference).min(1).max(LIMITS.voiceSamples)]))
    .max(LIMITS.voiceSamples)
    .nullable()
    .default(null)
    .meta({
      description:
        'Samples to clone, where the engine can, for this request only; a list for each speaker of a ' +
        'dialogue. MessagePack only',
    }),
  temperature: z.number().min(0).max(1).default(0.7),
  top_p: z.number().min(0).max(1).default(0.7),
  prosody: z
    .strictObject({
      speed: z.number().min(0.5).max(2).default(1),
      volume: z.number().min(-20).max(20).default(0),
      normalize_loudness: z.boolean().default(true),
    })
    .nullable()
    .default(null)
    .meta({ description: 'Speed as a factor, volume in dB' }),
  chunk_length: z
    .number()
    .int()
    .min(100)
    .max(300)
    .default(300)
    .meta({ description: 'Characters passed to the engine at once' }),
  min_chunk_length: z
    .number()
    .int()
    .min(0)
    .max(100)
    .default(50)
    .meta({ description: 'Live synthesis: characters gathered before a sentence is spoken' }),
  normalize: z.boolean().default(true),
  format: z.enum(['wav', 'pcm', 'mp3', 'opus']).default('mp3'),
  sample_rate: z
    .number()
    .int()
    .nullable()
    .default(null)
    .meta({ description: 'Hz; null is 44100, for opus 48000' }),
  mp3_bitrate: z
    .union([z.literal(64), z.literal(128), z.literal(192)])
    .default(128)
    .meta({ description: 'kbit/s' }),
  opus_bitrate: z
    .literal([-1_000, 24_000, 32_000, 48_000, 64_000, 24, 32, 48, 64])
    .default(-1_000)
    .meta({ description: 'bit/s, or kbit/s below 1000; -1000 leaves it to the encoder' }),
  latency: z.enum(['low', 'normal', 'balanced']).default('normal'),
  max_new_tokens: z.number().int().min(0).default(1_024),
  repetition_penalty: z.number().min(0).default(1.2),
  condition_on_previous_chunks: z.boolean().default(true),
  early_stop_threshold: z.number().min(0).max(1).default(1),
  features: z.array(z.string()).max(0, 'no feature can be enabled in this deployment').default([]),
  pronunciation_dictionary: dictionaries.nullable().default(null),
};

const anyText = z.strictObject(fields).superRefine((request, refinement) => {
  const rates: readonly number[] = RATES[request.format];
  if (request.sample_rate !== null && !rates.includes(request.sample_rate))
    refinement.addIssue({
      code: 'custom',
      path: ['sample_rate'],
      message: `must be one of ${rates.join(', ')} for ${request.format}`,
    });
});

/** The body of a synthesis request. */
export const ttsRequest = anyText.refine(({ text }) => text.trim() !== '', {
  path: ['text'],
  message: 'must contain text to speak',
});
/** Start of a live synthesis; its text may be empty. */
export const liveRequest = anyText;
export type TtsRequest = z.output<typeof ttsRequest>;

/** Media types of the formats. */
export const CONTENT_TYPES = {
  wav: 'audio/wav',
  pcm: 'audio/pcm',
  mp3: 'audio/mpeg',
  opus: 'audio/ogg; codecs=opus',
} as const;

/** Names of all fields of a request. */
export const TTS_FIELDS: readonly string[] = Object.keys(fields);

/** Options of the speech job for a language (ISO 639-1). */
export function speakOptions(request: TtsRequest, language: string): SpeakOptions {
  return {
    output: output(request),
    language,
    speed: request.prosody?.speed ?? 1,
    volumeDb: request.prosody?.volume ?? 0,
    normalizeLoudness: request.prosody?.normalize_loudness ?? true,
    chunkLength: request.chunk_length,
    latency: request.latency,
  };
}

function output({ format, sample_rate, mp3_bitrate, opus_bitrate }: TtsRequest): AudioOutput {
  const sampleRateHz = sample_rate ?? 44_100;
  if (format === 'mp3')
    return { format, sampleRateHz, bitRate: (mp3_bitrate * 1_000) as 64_000 | 128_000 | 192_000 };
  if (format === 'opus') return { format, sampleRateHz: 48_000, bitRate: opusBitRate(opus_bitrate) };
  return { format, sampleRateHz };
}

/** In bit/s; clients of this API also send kbit/s. */
function opusBitRate(asked: number): number | null {
  if (asked < 0) return null;
  return asked < 1_000 ? asked * 1_000 : asked;
}

/**
 * Splits text into segments by speaker; remembers the current speaker from one text to the next. Throws
 * `bad_request` for a speaker without a voice and for a text that is too long.
 */
export class Script {
  readonly #voices: readonly (string | null)[];
  readonly #items;
  #speaker = 0;

  /** Voices in the order of the speakers; a single voice speaks for all. */
  constructor(voices: readonly (string | null)[], dictionaries: TtsRequest['pronunciation_dictionary']) {
    this.#voices = voices;
    // There are no stored dictionaries: an unknown id is ignored.
    this.#items = (dictionaries ?? []).flatMap((dictionary) =>
      'items' in dictionary ? dictionary.items : [],
    );
  }

  segments(text: string): Segment[] {
    if (text.length > LIMITS.spokenChars) throw fault('bad_request', { detail: TOO_LONG });
    const segments: Segment[] = [];
    for (const [index, part] of text.split(/<\|speaker:(\d{1,3})\|>/).entries()) {
      if (index % 2 === 1) this.#speaker = Number(part);
      else if (part.trim() !== '') segments.push({ text: part, voiceId: this.#voice() });
    }
    return segments;
  }

  /** Like `segments`, with pronunciations applied. Rejects like `segments` and `pronounce`. */
  async pronounced(text: string): Promise<Segment[]> {
    const segments: Segment[] = [];
    for (const { text: written, voiceId } of this.segments(text))
      segments.push({ text: await pronounce(written, this.#items), voiceId });
    return segments;
  }

  #voice(): string | null {
    const voice = this.#voices.length === 1 ? this.#voices[0] : this.#voices[this.#speaker];
    if (voice === undefined)
      throw fault('bad_request', {
        detail: `speaker:${this.#speaker} has no voice: reference_id lists ${this.#voices.length}`,
      });
    return voice;
  }
}
