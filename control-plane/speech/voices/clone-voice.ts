/** Voices cloned by the deployment's engine, and their deletion there. */
import { fault } from '#config/errors.ts';
import { type CloneRequest, SpeechError } from '#media/speech/speech.ts';
import { voiceCloning } from '#media/speech/voice-cloning.ts';
import type { Context } from '../../platform/context.ts';

/** Maximum wait for the engine to create a voice; the engine's own limit is shorter. */
const CLONE_MS = 180_000;

/**
 * Clones a voice; null if the engine cannot. Throws `bad_request` for samples it refuses,
 * `speech_unavailable` if it fails.
 */
export async function cloneVoice(
  { settings }: Pick<Context, 'settings'>,
  asked: Omit<CloneRequest, 'signal'>,
): Promise<string | null> {
  try {
    return (await voiceCloning(settings)?.clone({ ...asked, signal: AbortSignal.timeout(CLONE_MS) })) ?? null;
  } catch (error) {
    if (!(error instanceof SpeechError)) throw error;
    throw fault(
      error.category === 'bad_request' ? 'bad_request' : 'speech_unavailable',
      { detail: error.message },
      { cause: error },
    );
  }
}

/** Deletes a voice created here. A failure is logged, and the voice stays with the vendor. */
export async function forgetVoice(
  { settings, logger }: Pick<Context, 'settings' | 'logger'>,
  voice: string,
): Promise<void> {
  await voiceCloning(settings)
    ?.forget(voice)
    .catch((error: unknown) =>
      logger.warn({ err: error, voice }, 'failed to delete a cloned voice at its engine'),
    );
}
