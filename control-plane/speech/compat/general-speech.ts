/** `POST …/audio/speech` in the general vendor's protocol. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { sendPieces, startSpeech } from '../requests/spoken-answer.ts';
import { CONTENT_TYPES, type TtsRequest } from '../requests/tts-request.ts';
import { speakingModel } from './compat-models.ts';
import { OWN_KEY_SPEECH } from './compat-scope.ts';
import { isUnset, nativeRequest, type OptionSources, refuseOptions } from './native-options.ts';

/** Sample rate of `pcm16`, Hz; the vendor's own. */
const PCM16_RATE_HZ = 24_000;

/** A voice as named by the vendor's clients. */
export const voiceField = z
  .union([z.string(), z.looseObject({ id: z.string() })])
  .nullish()
  .meta({ description: 'A voice of GET /model; empty or default is the default voice' });

/** Its id. */
export function voiceId(voice: z.output<typeof voiceField>): string | null {
  return (typeof voice === 'object' ? voice?.id : voice) ?? null;
}

const speechBody = z.looseObject({
  model: z.string().meta({
    examples: ['parley/s2.1-pro'],
    description: "One of …/models, or a vendor's name for one that speaks",
  }),
  input: z
    .string()
    .max(LIMITS.spokenChars)
    .meta({ examples: ['Hello, and welcome.'] }),
  voice: voiceField,
  response_format: z
    .string()
    .nullish()
    .meta({ description: 'pcm (the default, 44.1 kHz), pcm16 (24 kHz), wav, mp3 or opus' }),
  speed: z
    .number()
    .min(0.25)
    .max(4)
    .nullish()
    .meta({ description: 'Values beyond 0.5 to 2 are served as 0.5 or 2' }),
  sample_rate: z.number().int().nullish(),
});

/** Registers it. */
export function registerGeneralSpeech(scope: ApiServer, context: Context): void {
  const schema = {
    tags: ['compatible'],
    description: "Speech in the general AI vendor's protocol.",
    body: speechBody,
  };
  scope.post(
    '/audio/speech',
    { bodyLimit: LIMITS.compatSpeechBodyBytes, config: OWN_KEY_SPEECH, schema },
    async (request, reply) => {
      const { body, headers } = request;
      if (!isUnset(body['stream_format']) && body['stream_format'] !== 'audio')
        throw fault('bad_request', {
          detail: 'stream_format must be audio: the answer is the audio itself, sent while it is made',
        });
      refuseOptions(body, ['instructions', 'input_references']);
      const spoken = generalRequest(
        {
          text: body.input,
          voice: voiceId(body.voice),
          format: body.response_format ?? 'pcm',
          speed: body.speed,
        },
        { headers, body },
      );
      const model = speakingModel(body.model, context.clock.wallTime());
      const pieces = await startSpeech(context, reply, {
        caller: callerOf(request),
        requestId: request.id,
        model,
        request: spoken,
      });
      reply.type(CONTENT_TYPES[spoken.format]).header('X-Service-Model', model);
      return sendPieces(reply, pieces, (piece) => piece.bytes);
    },
  );
}

/** Maps the vendor's options of a synthesis. Throws `bad_request` for an unsupported format. */
export function generalRequest(
  asked: { text: string; voice: string | null; format: string; speed?: number | null | undefined },
  sources: OptionSources,
): TtsRequest {
  if (!['mp3', 'wav', 'opus', 'pcm', 'pcm16'].includes(asked.format))
    throw fault('bad_request', { detail: 'The format must be one of mp3, wav, opus, pcm and pcm16' });
  const isPcm16 = asked.format === 'pcm16';
  const mapped = {
    text: asked.text,
    reference_id: asked.voice || null,
    format: isPcm16 ? 'pcm' : asked.format,
    ...(isPcm16 ? { sample_rate: PCM16_RATE_HZ } : {}),
    ...(asked.speed ? { speed: Math.min(2, Math.max(0.5, asked.speed)) } : {}),
  };
  return nativeRequest(mapped, sources);
}
