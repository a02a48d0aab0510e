/**
 * Recognition of a whole recording at Deepgram (`POST /v1/listen`): one request, with diarisation on demand.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { toWav } from '../audio/wav.ts';
import { type RecordedSpeech, type RecordingRequest, SpeechError } from '../speech.ts';
import { asSpeechError, requestVendor } from './connection/vendor-request.ts';
import { authorization } from './deepgram-access.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** The vendor gives up after ten minutes. */
const REQUEST_TIMEOUT_MS = 600_000;

const answer = z.object({
  results: z.object({
    channels: z.array(z.object({ detected_language: z.string().optional() })).min(1),
    utterances: z.array(
      z.object({
        start: z.number(),
        end: z.number(),
        transcript: z.string(),
        speaker: z.number().int().optional(),
      }),
    ),
  }),
});

/** Throws `SpeechError`, or the signal's reason. */
export async function transcribeRecording(
  model: string,
  options: SpeechVendorOptions,
  request: RecordingRequest,
): Promise<RecordedSpeech> {
  const url = new URL(`${options.baseUrl.replace(/^ws/, 'http')}/v1/listen`);
  const query = {
    model,
    punctuate: 'true',
    smart_format: 'true',
    utterances: 'true',
    ...(request.language === null ? { detect_language: 'true' } : { language: request.language }),
    ...(request.diarize ? { diarize: 'true' } : {}),
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  const headers = { ...authorization(options), 'content-type': 'audio/wav' };
  const body = new Uint8Array(toWav(request.samples, request.sampleRateHz));
  const response = await requestVendor({ vendor: 'Deepgram', url, method: 'POST', headers, body, signal });
  const text = await response.text().catch((error: unknown) => {
    throw asSpeechError('Deepgram', error, signal);
  });
  const parsed = parseJson(answer, text);
  if (!parsed) throw new SpeechError('unavailable', 'The transcript does not follow the protocol');
  const { channels, utterances } = parsed.results;
  const stretches = utterances
    .filter(({ transcript }) => transcript.trim() !== '')
    .map(({ start, end, transcript, speaker }) => ({
      text: transcript.trim(),
      startMs: Math.round(start * 1_000),
      endMs: Math.round(end * 1_000),
      speaker: speaker ?? null,
    }));
  return { stretches, language: channels[0]?.detected_language?.slice(0, 2) ?? null };
}
