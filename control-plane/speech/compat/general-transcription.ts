/**
 * `POST …/audio/transcriptions` in the general vendor's protocol: a form with a file, or JSON with the audio
 * in base64.
 */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Transcript } from '#media/speech/pool/speech-jobs.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { bytes } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { hearRecording } from '../requests/heard-recording.ts';
import { requireListeningModel } from './compat-models.ts';
import { OWN_KEY_SPEECH } from './compat-scope.ts';
import { refuseNative, refuseOptions } from './native-options.ts';
import { toSrt, toVerbose, toVtt, usageOf } from './transcript-forms.ts';

const transcriptionBody = z.looseObject({
  model: z.string().meta({ examples: ['parley/transcribe-1'] }),
  file: bytes.optional(),
  input_audio: z
    .looseObject({ data: z.string() })
    .optional()
    .meta({ description: 'Instead of file: {data: base64, format}' }),
  language: z.string().nullish().meta({ description: 'ISO 639-1; the answer repeats it' }),
  response_format: z.enum(['json', 'verbose_json', 'text', 'srt', 'vtt']).nullish(),
});
/** Options our engines do not support. */
const REFUSED = [
  'stream',
  'include',
  'include[]',
  'known_speaker_names',
  'known_speaker_names[]',
  'known_speaker_references',
  'known_speaker_references[]',
];

/** Registers it. */
export function registerGeneralTranscription(scope: ApiServer, context: Context): void {
  const schema = {
    tags: ['compatible'],
    description: "The text of a recording in the general AI vendor's protocol.",
    consumes: ['multipart/form-data', 'application/json'],
    body: transcriptionBody,
  };
  scope.post(
    '/audio/transcriptions',
    { bodyLimit: LIMITS.compatVendorBodyBytes, config: OWN_KEY_SPEECH, schema },
    async (request, reply) => {
      const { body, headers } = request;
      requireListeningModel(body.model);
      refuseNative({ headers, body });
      refuseOptions(body, REFUSED);
      const audio = body.file ?? fromBase64(body.input_audio?.data);
      if (!audio)
        throw fault('bad_request', {
          detail: 'file is missing: send the audio as a file of the form, or as input_audio in JSON',
        });
      const language = languageCode(body.language);
      const asked = {
        caller: callerOf(request),
        requestId: request.id,
        audio: checkedAudio(audio),
        language,
      };
      const transcript = await hearRecording(context, reply, asked);
      const granularities = [
        body['timestamp_granularities[]'] ?? body['timestamp_granularities'] ?? [],
      ].flat();
      return sendTranscript(reply, transcript, {
        form: body.response_format ?? 'json',
        language: body.language ?? '',
        withWords: granularities.includes('word'),
      });
    },
  );
}

function sendTranscript(
  reply: FastifyReply,
  transcript: Transcript,
  {
    form,
    language,
    withWords,
  }: { form: 'json' | 'verbose_json' | 'text' | 'srt' | 'vtt'; language: string; withWords: boolean },
) {
  switch (form) {
    case 'json':
      return { text: transcript.text, usage: usageOf(transcript) };
    case 'verbose_json':
      return toVerbose(transcript, { language, withWords });
    case 'text':
      return reply.type('text/plain; charset=utf-8').send(`${transcript.text}\n`);
    case 'srt':
      return reply.type('text/plain; charset=utf-8').send(toSrt(transcript));
    case 'vtt':
      return reply.type('text/vtt; charset=utf-8').send(toVtt(transcript));
  }
}

/** Decodes base64, or returns null if absent. Throws `bad_request` for invalid base64. */
export function fromBase64(text: string | undefined): Buffer | null {
  if (text === undefined || text === '') return null;
  const audio = Buffer.from(text.replace(/^data:[^,]{0,100},/, ''), 'base64');
  if (audio.length === 0) throw fault('bad_request', { detail: 'The audio is not base64' });
  return audio;
}

/** The audio, if it is within the limit. Throws `too_large`. */
export function checkedAudio(audio: Uint8Array): Uint8Array {
  if (audio.length > LIMITS.compatAudioBytes) throw fault('too_large');
  return audio;
}

/** ISO 639-1 code of a vendor's language code (`en`, `en-US`, `eng`); null: the engine detects it. */
export function languageCode(language: string | null | undefined): string | null {
  if (!language) return null;
  try {
    const code = new Intl.Locale(language).language;
    return /^[a-z]{2}$/.test(code) ? code : null;
  } catch {
    throw fault('bad_request', { detail: 'The language is not an ISO 639-1 code such as en' });
  }
}
