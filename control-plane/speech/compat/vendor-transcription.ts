/** `POST /v1/speech-to-text` of the voice vendor's protocol. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { wavHeader } from '#media/speech/audio/wav.ts';
import type { Transcript } from '#media/speech/pool/speech-jobs.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { bytes } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { hearRecording } from '../requests/heard-recording.ts';
import { requireListeningModel } from './compat-models.ts';
import { OWN_KEY_SPEECH } from './compat-scope.ts';
import { checkedAudio, languageCode } from './general-transcription.ts';
import { refuseNative, refuseOptions } from './native-options.ts';
import { wordsOf } from './transcript-forms.ts';

const transcriptionBody = z.looseObject({
  model_id: z.string().meta({ examples: ['parley/transcribe-1'] }),
  file: bytes,
  language_code: z.string().nullish().meta({ description: 'ISO 639-1; the answer repeats it' }),
  timestamps_granularity: z.enum(['none', 'word', 'character']).nullish(),
  file_format: z.enum(['pcm_s16le_16', 'other']).nullish(),
});
/** Options our engines do not support. */
const REFUSED = [
  'diarize',
  'num_speakers',
  'diarization_threshold',
  'detect_speaker_roles',
  'use_multi_channel',
  'use_speaker_library',
  'additional_formats',
  'cloud_storage_url',
  'source_url',
  'webhook',
  'entity_detection',
  'entity_redaction',
  'transcript_edit',
];

/** Registers it. */
export function registerVendorTranscription(scope: ApiServer, context: Context): void {
  const schema = {
    tags: ['compatible'],
    description: "The text of a recording in the voice vendor's protocol.",
    consumes: ['multipart/form-data'],
    body: transcriptionBody,
  };
  const options = {
    bodyLimit: LIMITS.compatVendorBodyBytes,
    config: OWN_KEY_SPEECH,
    schema,
    preValidation: dropNulls,
  };
  scope.post('/v1/speech-to-text', options, async (request, reply) => {
    const { body, headers } = request;
    requireListeningModel(body.model_id);
    refuseNative({ headers, body });
    refuseOptions(body, REFUSED);
    if (body.timestamps_granularity === 'character')
      throw fault('bad_request', { detail: 'timestamps_granularity must be word or none' });
    const file = checkedAudio(body.file);
    const audio =
      body.file_format === 'pcm_s16le_16' ? Buffer.concat([wavHeader(16_000, file.length), file]) : file;
    const language = languageCode(body.language_code);
    const transcript = await hearRecording(context, reply, {
      caller: callerOf(request),
      requestId: request.id,
      audio,
      language,
    });
    return {
      language_code: body.language_code ?? '',
      // Not detected: certain if the request names a language, otherwise unknown.
      language_probability: body.language_code ? 1 : 0,
      text: transcript.text,
      words: body.timestamps_granularity === 'none' ? [] : vendorWords(transcript),
      transcription_id: request.id,
      audio_duration_secs: transcript.durationSeconds,
    };
  });
}

/** The vendor's Python client writes `null` into unset form fields. */
async function dropNulls(request: FastifyRequest): Promise<void> {
  if (!request.isMultipart()) return;
  request.body = Object.fromEntries(
    Object.entries(request.body as Record<string, unknown>).filter(([, value]) => value !== 'null'),
  );
}

/** Words and the text between them, with times in seconds. */
export function vendorWords(transcript: Pick<Transcript, 'segments'>) {
  const words = wordsOf(transcript);
  return words.flatMap(({ text, start, end }, index) => {
    const before = words[index - 1];
    const spacing = before ? [{ text: ' ', start: before.end, end: start, type: 'spacing', logprob: 0 }] : [];
    return [...spacing, { text, start, end, type: 'word', logprob: 0 }];
  });
}
