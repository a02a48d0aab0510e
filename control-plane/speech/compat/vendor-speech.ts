/**
 * `POST /v1/text-to-speech/{voice_id}` of the voice vendor's protocol in its four forms: whole or streamed,
 * with or without character times.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import type { AudioPiece } from '#media/speech/pool/speech-jobs.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { sendPieces, startSpeech } from '../requests/spoken-answer.ts';
import { CONTENT_TYPES, type TtsRequest } from '../requests/tts-request.ts';
import { CharacterTimes, inSeconds, type TimedCharacter } from './character-times.ts';
import { speakingModel } from './compat-models.ts';
import { OWN_KEY_SPEECH } from './compat-scope.ts';
import { languageCode } from './general-transcription.ts';
import { isUnset, nativeRequest, type OptionSources } from './native-options.ts';
import { DEFAULT_FORMAT, outputFormat } from './vendor-formats.ts';

/** Settings of a voice; others are ignored. */
export const voiceSettings = z
  .looseObject({ stability: z.number().min(0).max(1).nullish(), speed: z.number().min(0.5).max(2).nullish() })
  .nullish();

const vendorBody = z.looseObject({
  text: z
    .string()
    .max(LIMITS.spokenChars)
    .meta({ examples: ['Hello, and welcome.'] }),
  model_id: z
    .string()
    .nullish()
    .meta({ examples: ['parley/s2.1-pro'] }),
  language_code: z.string().nullish(),
  voice_settings: voiceSettings,
  apply_text_normalization: z.enum(['auto', 'on', 'off']).nullish(),
});
const voicePath = z.object({
  voice_id: z.string().meta({ description: 'A voice of /v1/voices; default or - is the default voice' }),
});
const formatQuery = z.looseObject({ output_format: z.string().default(DEFAULT_FORMAT) });
const schema = { tags: ['compatible'], params: voicePath, querystring: formatQuery, body: vendorBody };

type SpeechRequest = FastifyRequest<{
  Body: z.output<typeof vendorBody>;
  Params: z.output<typeof voicePath>;
  Querystring: z.output<typeof formatQuery>;
}>;

/** Registers the four. */
export function registerVendorSpeech(scope: ApiServer, context: Context): void {
  const options = { bodyLimit: LIMITS.compatVendorBodyBytes, config: OWN_KEY_SPEECH, schema };
  const path = '/v1/text-to-speech/:voice_id';
  for (const end of ['', '/stream'])
    scope.post(path + end, options, async (request, reply) => {
      const { pieces, spoken } = await begin(context, request as SpeechRequest, reply);
      reply.type(CONTENT_TYPES[spoken.format]);
      return sendPieces(reply, pieces, (piece) => piece.bytes);
    });

  scope.post(`${path}/with-timestamps`, options, async (request, reply) => {
    const { pieces } = await begin(context, request as SpeechRequest, reply);
    const [audio, characters]: [Uint8Array[], TimedCharacter[]] = [[], []];
    const times = new CharacterTimes();
    for await (const piece of pieces) {
      audio.push(piece.bytes);
      characters.push(...times.take(piece));
    }
    return timedAudio(Buffer.concat(audio), characters);
  });
  scope.post(`${path}/stream/with-timestamps`, options, async (request, reply) => {
    const { pieces } = await begin(context, request as SpeechRequest, reply);
    reply.type('application/json');
    const times = new CharacterTimes();
    const toLine = (piece: AudioPiece) =>
      Buffer.from(`${JSON.stringify(timedAudio(Buffer.from(piece.bytes), times.take(piece)))}\n`);
    return sendPieces(reply, pieces, toLine);
  });
}

async function begin(context: Context, request: SpeechRequest, reply: FastifyReply) {
  const { body, headers, params, query } = request;
  const asked = {
    text: body.text,
    voiceId: params.voice_id,
    format: query.output_format,
    settings: body.voice_settings,
  };
  const spoken = vendorRequest({ ...asked, normalization: body.apply_text_normalization }, { headers, body });
  const model = speakingModel(body.model_id, context.clock.wallTime());
  const language = languageCode(body.language_code);
  const pieces = await startSpeech(context, reply, {
    caller: callerOf(request),
    requestId: request.id,
    model,
    request: spoken,
    language,
  });
  reply.header('X-Service-Model', model);
  return { pieces, spoken };
}

/**
 * Maps the vendor's options of a synthesis; stability is the inverse of temperature. Throws `bad_request`,
 * `InvalidRequest`.
 */
export function vendorRequest(
  asked: {
    text: string;
    voiceId: string;
    format: string;
    settings?: z.output<typeof voiceSettings>;
    normalization?: 'auto' | 'on' | 'off' | null | undefined;
  },
  sources: OptionSources,
): TtsRequest {
  const { stability, speed } = asked.settings ?? {};
  const mapped = {
    text: asked.text,
    reference_id: asked.voiceId === '-' ? null : asked.voiceId,
    ...outputFormat(asked.format),
    ...(typeof stability === 'number' ? { temperature: 1 - stability } : {}),
    ...(isUnset(speed) ? {} : { speed }),
    ...(asked.normalization === 'off' ? { normalize: false } : {}),
  };
  return nativeRequest(mapped, sources);
}

function timedAudio(audio: Buffer, characters: readonly TimedCharacter[]) {
  const alignment = inSeconds(characters);
  return { audio_base64: audio.toString('base64'), alignment, normalized_alignment: alignment };
}
