/** From the voices a request names to voices of the engine (supplement 4.9): the platform's own by their id, voice models by what they are spoken with. */
import { fault } from '#config/errors.ts';
import type { Caller } from '../auth.ts';
import type { Context } from '../context.ts';
import { readableBy } from './voice-store.ts';

/** Engine voices in the order asked for, null for the default one. Throws `reference_not_found` for one the caller may not use. */
export async function resolveVoices(
  context: Pick<Context, 'models' | 'platform'>,
  caller: Pick<Caller, 'teamId'>,
  references: string | readonly string[] | null,
): Promise<(string | null)[]> {
  if (references === null) return [null];
  return Promise.all((typeof references === 'string' ? [references] : references).map((reference) => resolveVoice(context, caller, reference)));
}

/** The first language of an engine's voice (ISO 639-1), English where it has none of its own; null is the default voice. */
export function languageOf(context: Pick<Context, 'platform'>, voiceId: string | null): string {
  const voice = context.platform.voices.find((offered) => (voiceId === null ? offered.default : offered.id === voiceId));
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
    .findOneAndUpdate({ _id: reference, ...readableBy(caller.teamId) }, { $inc: { task_count: 1 } }, { projection: { engine_voice_id: 1 } })
    .lean();
  if (!voice) throw fault('reference_not_found');
  return voice.engine_voice_id;
}
