/**
 * Maps the voices that a request names, or the samples it contains, to voices of the engine: the platform's
 * own by their id, voice models by their engine voice.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { cloneVoice, forgetVoice } from './clone-voice.ts';
import { readableBy } from './voice-store.ts';

interface Sample {
  readonly audio: Uint8Array;
}

/**
 * The speakers of a request. `references` takes precedence: a list of samples is one speaker, a list of lists
 * one speaker each.
 */
export interface VoicesRequest {
  readonly reference_id: string | readonly string[] | null;
  readonly references: readonly (Sample | readonly Sample[])[] | null;
}

/**
 * The voices of a request in the order of its speakers, null for the default; those created from its samples
 * are deleted once `over` is aborted. Throws `reference_not_found`, `bad_request` for samples if the engine
 * cannot clone or refuses them, and `speech_unavailable`.
 */
export async function requestedVoices(
  context: Context,
  caller: Caller,
  asked: VoicesRequest,
  over: AbortSignal,
): Promise<(string | null)[]> {
  const { references, reference_id } = asked;
  if (references === null || references.length === 0) return resolveVoices(context, caller, reference_id);
  const speakers = references.some((each) => Array.isArray(each))
    ? references.map((each) => [each].flat())
    : [references.flat()];
  return Promise.all(speakers.map((samples) => passingVoice(context, samples, over)));
}

async function passingVoice(
  context: Context,
  samples: readonly Sample[],
  over: AbortSignal,
): Promise<string> {
  const voice = await cloneVoice(context, {
    name: 'Parley, for one request',
    samples: samples.map(({ audio }) => audio),
  });
  if (voice === null)
    throw fault('bad_request', {
      detail:
        'references: the synthesis engine of this deployment cannot clone voices; use reference_id with a ' +
        'voice of GET /model',
    });
  const forget = () => void forgetVoice(context, voice);
  if (over.aborted) forget();
  else over.addEventListener('abort', forget, { once: true });
  return voice;
}

/**
 * Engine voices in the requested order, null for the default. Throws `reference_not_found` for a voice the
 * caller may not use.
 */
export async function resolveVoices(
  context: Pick<Context, 'models' | 'platform'>,
  caller: Pick<Caller, 'teamId'>,
  references: string | readonly string[] | null,
): Promise<(string | null)[]> {
  if (references === null) return [null];
  return Promise.all(
    (typeof references === 'string' ? [references] : references).map((reference) =>
      resolveVoice(context, caller, reference),
    ),
  );
}

/** First language of an engine's voice (ISO 639-1), or English if it has none; null is the default voice. */
export function languageOf(context: Pick<Context, 'platform'>, voiceId: string | null): string {
  const voice = context.platform.voices.find((offered) =>
    voiceId === null ? offered.default : offered.id === voiceId,
  );
  return voice?.languages.find((language) => /^[a-z]{2}$/.test(language)) ?? 'en';
}

async function resolveVoice(
  context: Pick<Context, 'models' | 'platform'>,
  caller: Pick<Caller, 'teamId'>,
  reference: string,
): Promise<string | null> {
  if (reference === '' || reference === 'default') return null;
  if (context.platform.voices.some(({ id }) => id === reference)) return reference;
  const voice = await context.models.voices
    .findOneAndUpdate(
      { _id: reference, ...readableBy(caller.teamId) },
      { $inc: { task_count: 1 } },
      { projection: { engine_voice_id: 1 } },
    )
    .lean();
  if (!voice) throw fault('reference_not_found');
  return voice.engine_voice_id;
}
