/**
 * Voices cloned from samples, if the configured engine supports it: ElevenLabs (`POST /v1/voices/add`).
 * Requests only, no thread needed.
 */
import { z } from 'zod';
import { type Settings, vendorAccess } from '#config/env.ts';
import { SpeechError } from './speech.ts';
import { requestVendor } from './vendors/connection/vendor-request.ts';

/** Creates and deletes voices. All methods throw `SpeechError`, or the signal's reason. */
export interface VoiceCloning {
  /** Creates a voice; resolves with its id here, `<provider>:<voice>`. */
  clone(request: CloneRequest): Promise<string>;
  /** Deletes a voice created here; succeeds if it no longer exists. */
  forget(voiceId: string): Promise<void>;
}

/** A voice to create. */
export interface CloneRequest {
  readonly name: string;
  /** Audio files as uploaded. */
  readonly samples: readonly Uint8Array[];
  readonly signal: AbortSignal;
}

const LONGEST_MS = 120_000;
const PREFIX = 'elevenlabs:';
const added = z.object({ voice_id: z.string().min(1) });

/** Voice cloning of the platform's synthesis engine; null if it has none. */
export function voiceCloning(settings: Settings): VoiceCloning | null {
  if (settings.TTS_PROVIDER !== 'elevenlabs') return null;
  const { apiKey, baseUrl = 'https://api.elevenlabs.io' } = vendorAccess(settings, 'elevenlabs');
  const base = `${baseUrl.replace(/^ws/, 'http')}/v1/voices`;
  const headers: Record<string, string> = apiKey === undefined ? {} : { 'xi-api-key': apiKey };
  const ask = { vendor: 'ElevenLabs', headers };
  return {
    async clone({ name, samples, signal }) {
      const body = new FormData();
      body.set('name', name);
      for (const [index, sample] of samples.entries())
        body.append('files', new Blob([new Uint8Array(sample)]), `sample-${index + 1}`);
      const limited = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
      const response = await requestVendor({
        ...ask,
        url: `${base}/add`,
        method: 'POST',
        body,
        signal: limited,
      });
      const parsed = added.safeParse(await response.json().catch(() => null));
      if (!parsed.success) throw new SpeechError('unavailable', 'ElevenLabs did not name the voice it made');
      return `${PREFIX}${parsed.data.voice_id}`;
    },
    async forget(voiceId) {
      if (!voiceId.startsWith(PREFIX)) return;
      const url = `${base}/${encodeURIComponent(voiceId.slice(PREFIX.length))}`;
      await requestVendor({ ...ask, url, method: 'DELETE', signal: AbortSignal.timeout(LONGEST_MS) }).catch(
        (error: unknown) => {
          // The vendor answers 400 or 404 for an unknown voice.
          if (!(error instanceof SpeechError) || error.category !== 'bad_request') throw error;
        },
      );
    },
  };
}
