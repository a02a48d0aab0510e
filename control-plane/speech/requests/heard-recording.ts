/**
 * Recognises the recording of a request: admits it, works as long as the client is connected, and charges it.
 */
import { finished } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { LIMITS } from '#config/limits.ts';
import type { TranscribeOptions, Transcript } from '#media/speech/pool/speech-jobs.ts';
import type { Context } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { admit, recognise } from './speech-service.ts';

/** A recording to recognise, and its account. */
export interface RecordingRequest {
  readonly caller: Caller;
  /** Unique; recorded in the ledger's entry. */
  readonly requestId: string;
  readonly audio: Uint8Array;
  /** ISO 639-1; null: the engine detects it. */
  readonly language: string | null;
  /** Diarisation, as the engine's option. */
  readonly speakers?: TranscribeOptions['speakers'];
}

/** Recognises the recording of a request. Throws what `admit` and `recognise` throw. */
export async function hearRecording(
  context: Context,
  reply: FastifyReply,
  asked: RecordingRequest,
): Promise<Transcript> {
  const { caller, requestId, audio, language, speakers } = asked;
  const slot = await admit(context, caller, 'recognition');
  const gone = new AbortController();
  finished(reply.raw, () => gone.abort(new Error('the client disconnected')));
  try {
    const options = {
      language,
      longestSeconds: LIMITS.transcribeMinutes * 60,
      shortestSeconds: LIMITS.transcribeSeconds,
      ...(speakers ? { speakers } : {}),
    };
    return await recognise(
      context,
      { caller, requestId, slot },
      { audio: new Uint8Array(audio), options, signal: gone.signal },
    );
  } finally {
    slot.release();
  }
}
