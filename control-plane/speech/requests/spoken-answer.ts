/** A synthesised HTTP answer, for any of the APIs: streamed piece by piece while the rest is synthesised. */
import { finished, Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { AudioPiece } from '#media/speech/pool/speech-jobs.ts';
import type { Context } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { languageOf, requestedVoices } from '../voices/resolve-voice.ts';
import type { SynthesisModel } from './speech-models.ts';
import { admit, synthesise } from './speech-service.ts';
import { Script, speakOptions, type TtsRequest } from './tts-request.ts';

/** The text to speak, its options and its account. */
export interface SpeechRequest {
  readonly caller: Caller;
  /** Unique; recorded in the ledger's entry. */
  readonly requestId: string;
  readonly model: SynthesisModel;
  readonly request: TtsRequest;
  /** ISO 639-1; default: that of the voice. */
  readonly language?: string | null;
}

/**
 * Starts the synthesis and resolves with the first piece; until then a refusal can still be sent. However the
 * answer ends, sent or aborted, the work stops and the place is released. Throws what `admit`,
 * `requestedVoices` and `synthesise` throw, and `speech_silent`.
 */
export async function startSpeech(
  context: Context,
  reply: FastifyReply,
  asked: SpeechRequest,
): Promise<AsyncGenerator<AudioPiece>> {
  const { caller, requestId, model, request } = asked;
  const slot = await admit(context, caller, 'synthesis');
  const gone = new AbortController();
  finished(reply.raw, () => {
    gone.abort(new Error('the client disconnected'));
    slot.release();
  });
  const silence = context.clock.after(LIMITS.firstByteMs, () => gone.abort(fault('speech_silent')));
  try {
    const voices = await requestedVoices(context, caller, request, gone.signal);
    const options = speakOptions(request, asked.language ?? languageOf(context, voices[0] ?? null));
    const segments = await new Script(voices, request.pronunciation_dictionary).pronounced(request.text);
    const pieces = synthesise(
      context,
      { caller, requestId, model, slot },
      { options, segments },
      gone.signal,
    );
    return startingWith(await pieces.next(), pieces);
  } catch (error) {
    slot.release();
    throw error;
  } finally {
    silence.cancel();
  }
}

/** Sends the pieces as bytes of the requested form. */
export async function sendPieces(
  reply: FastifyReply,
  pieces: AsyncIterable<AudioPiece>,
  toBytes: (piece: AudioPiece) => Uint8Array,
): Promise<FastifyReply> {
  return reply.send(
    Readable.from(bytesOf(pieces, toBytes), { objectMode: false, highWaterMark: 64 * 1_024 }),
  );
}

async function* startingWith(
  first: IteratorResult<AudioPiece>,
  rest: AsyncIterable<AudioPiece>,
): AsyncGenerator<AudioPiece> {
  if (!first.done) yield first.value;
  yield* rest;
}

async function* bytesOf(pieces: AsyncIterable<AudioPiece>, toBytes: (piece: AudioPiece) => Uint8Array) {
  for await (const piece of pieces) {
    const bytes = toBytes(piece);
    if (bytes.length > 0) yield bytes;
  }
}
