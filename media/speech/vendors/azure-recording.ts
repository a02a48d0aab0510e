/**
 * Recognition of a whole recording at Azure ("fast transcription"): one request, with diarisation on demand.
 *
 * Source: Microsoft's page "Use the fast transcription API", version 2024-11-15.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { toWav } from '../audio/wav.ts';
import { type RecordedSpeech, type RecordingRequest, SpeechError } from '../speech.ts';
import { AZURE_KEY_ADVICE, authorization, partAddress } from './azure-access.ts';
import { asSpeechError, requestVendor } from './connection/vendor-request.ts';
import { localeOf } from './locales.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

const PATH = '/speechtotext/transcriptions:transcribe?api-version=2024-11-15';
/** Two hours, the vendor's longest recording, take minutes. */
const REQUEST_TIMEOUT_MS = 600_000;
/** Most people told apart. */
const MAX_SPEAKERS = 8;

const answer = z.object({
  phrases: z.array(
    z.object({
      offsetMilliseconds: z.number(),
      durationMilliseconds: z.number(),
      text: z.string(),
      locale: z.string().nullish(),
      speaker: z.number().int().nullish(),
    }),
  ),
});

/** Throws `SpeechError`, or the signal's reason. */
export async function transcribeRecording(
  options: SpeechVendorOptions,
  request: RecordingRequest,
): Promise<RecordedSpeech> {
  const { samples, sampleRateHz, language, diarize } = request;
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  const body = new FormData();
  body.set(
    'audio',
    new Blob([new Uint8Array(toWav(samples, sampleRateHz))], { type: 'audio/wav' }),
    'audio.wav',
  );
  body.set(
    'definition',
    JSON.stringify({
      // Without a locale the vendor detects the language.
      ...(language === null ? {} : { locales: [localeOf(language)] }),
      ...(diarize ? { diarization: { enabled: true, maxSpeakers: MAX_SPEAKERS } } : {}),
    }),
  );
  const response = await requestVendor({
    vendor: 'Azure',
    url: `${partAddress(options.baseUrl, 'api').replace(/^ws/, 'http')}${PATH}`,
    method: 'POST',
    headers: authorization(options),
    body,
    keyAdvice: AZURE_KEY_ADVICE,
    signal,
  });
  const text = await response.text().catch((error: unknown) => {
    throw asSpeechError('Azure', error, signal);
  });
  const parsed = parseJson(answer, text);
  if (!parsed) throw new SpeechError('unavailable', 'The transcript does not follow the protocol');
  const stretches = parsed.phrases
    .filter((phrase) => phrase.text.trim() !== '')
    .map(({ offsetMilliseconds, durationMilliseconds, text: words, speaker }) => ({
      text: words.trim(),
      startMs: offsetMilliseconds,
      endMs: offsetMilliseconds + durationMilliseconds,
      speaker: diarize ? (speaker ?? null) : null,
    }));
  return { stretches, language: parsed.phrases[0]?.locale?.slice(0, 2) ?? null };
}
