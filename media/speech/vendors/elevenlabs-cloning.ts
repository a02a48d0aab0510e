/** Voices cloned at ElevenLabs (`POST /v1/voices/add`). */
import { z } from 'zod';
import { SpeechError, type VoiceCloning } from '../speech.ts';
import { requestVendor } from './connection/vendor-request.ts';
import type { SpeechAccess } from './speech-access.ts';

const REQUEST_TIMEOUT_MS = 120_000;
const PREFIX = 'elevenlabs:';
const added = z.object({ voice_id: z.string().min(1) });

/** Creates and deletes voices of one account at ElevenLabs. */
export function createElevenlabsCloning({ apiKey, baseUrl }: SpeechAccess): VoiceCloning {
  const base = `${baseUrl.replace(/^ws/, 'http')}/v1/voices`;
  const headers: Record<string, string> = apiKey === undefined ? {} : { 'xi-api-key': apiKey };
  const ask = { vendor: 'ElevenLabs', headers };
  return {
    async clone({ name, samples, signal }) {
      const body = new FormData();
      body.set('name', name);
      for (const [index, sample] of samples.entries())
        body.append('files', new Blob([new Uint8Array(sample)]), `sample-${index + 1}`);
      const limited = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
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
      await requestVendor({
        ...ask,
        url,
        method: 'DELETE',
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      }).catch((error: unknown) => {
        // The vendor answers 400 or 404 for an unknown voice.
        if (!(error instanceof SpeechError) || error.category !== 'bad_request') throw error;
      });
    },
  };
}
