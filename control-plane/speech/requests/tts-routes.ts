/** `POST /v1/tts` and `POST /v1/tts/stream/with-timestamp`: streamed audio, chunk by chunk. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import type { AudioPiece } from '#media/speech/pool/speech-jobs.ts';
import { type Context, newId } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { acceptBodies } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { synthesisModel } from './speech-models.ts';
import { sendPieces, startSpeech } from './spoken-answer.ts';
import { timedPiece } from './timed-piece.ts';
import { CONTENT_TYPES, type TtsRequest, ttsRequest } from './tts-request.ts';

const headers = z.object({
  model: z.string().optional().meta({
    description:
      's1 (deprecated), s2-pro, s2.1-pro or s2.1-pro-free, also after `parley/`; any other is s2.1-pro',
  }),
});

/** Registers the synthesis routes. */
export async function registerTtsRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    acceptBodies(scope, { kinds: ['msgpack'], json: true, mostBytes: LIMITS.synthesisBodyBytes });
    const schema = {
      tags: ['speech'],
      consumes: ['application/json', 'application/msgpack'],
      headers,
      body: ttsRequest,
    };

    scope.post(
      '/v1/tts',
      {
        config: { isSpeech: true, isAudited: false },
        schema,
      },
      async (request, reply) => {
        reply.type(CONTENT_TYPES[request.body.format]);
        return respond(context, request, reply, (piece) => piece.bytes);
      },
    );

    scope.post(
      '/v1/tts/stream/with-timestamp',
      {
        config: { isSpeech: true, isAudited: false },
        schema,
      },
      async (request, reply) => {
        reply.type('text/event-stream');
        return respond(context, request, reply, (piece) =>
          Buffer.from(`event: message\ndata: ${JSON.stringify(eventOf(piece))}\n\n`),
        );
      },
    );
    done();
  });
}

function eventOf(piece: AudioPiece) {
  return { audio_base64: Buffer.from(piece.bytes).toString('base64'), ...timedPiece(piece) };
}

type Speech = Pick<FastifyRequest, 'headers' | 'caller' | 'routeOptions'> & { readonly body: TtsRequest };

async function respond(
  context: Context,
  request: Speech,
  reply: FastifyReply,
  toBytes: (piece: AudioPiece) => Uint8Array,
): Promise<FastifyReply> {
  const caller = callerOf(request as FastifyRequest);
  const model = synthesisModel(String(request.headers['model'] ?? ''), context.clock.wallTime());
  try {
    const pieces = await startSpeech(context, reply, {
      caller,
      requestId: newId(),
      model,
      request: request.body,
    });
    reply.header('X-Service-Model', model);
    return await sendPieces(reply, pieces, toBytes);
  } catch (error) {
    reply.removeHeader('content-type');
    throw error;
  }
}
