/**
 * Speech for every API that offers it, native or compatible: admission by account and by pool, resolution of
 * voices, the work on the pool's threads, and the charge afterwards, never in advance.
 *
 *     const slot = await admit(context, caller, 'synthesis');        // 429
 *     try { … synthesise(context, { caller, requestId, model, slot }, job, signal) … }
 *     finally { slot.release(); }
 */
import { fault } from '#config/errors.ts';
import {
  type AudioPiece,
  type Segment,
  type SpeakOptions,
  SpeechJobError,
  type TranscribeOptions,
  type Transcript,
} from '#media/speech/pool/speech-jobs.ts';
import type { SpeechWork } from '#media/speech/pool/speech-pool.ts';
import type { SpeechSlot } from '#media/speech/pool/speech-thread.ts';
import type { Context } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { takeSpeechPlace } from '../../platform/limits/request-places.ts';
import type { SynthesisModel } from './speech-models.ts';

/** The client, and the name under which it is charged. */
export interface SpeechRequest {
  readonly caller: Pick<Caller, 'userId'>;
  /** Unique; recorded in the ledger's entry. */
  readonly requestId: string;
  readonly slot: SpeechSlot;
}

/** Most requests finish within this time. */
const BUSY_SECONDS = 1;

/**
 * Reserves a place for a request. Throws `overdrawn`, and `speech_busy` if the account or the pool has none
 * left.
 */
export async function admit(
  context: Context,
  caller: Pick<Caller, 'userId' | 'teamId'>,
  work: SpeechWork,
): Promise<SpeechSlot> {
  const leave = await takeSpeechPlace(context, caller);
  const slot = context.speech.take(work, caller.userId);
  if (!slot) {
    leave();
    throw fault('speech_busy', { limit: 'the', of: 'server', seconds: BUSY_SECONDS });
  }
  return {
    ...slot,
    release: () => {
      slot.release();
      leave();
    },
  };
}

/** The text to speak: at once, or streamed. */
export interface SynthesisJob {
  readonly options: SpeakOptions;
  readonly segments: Iterable<Segment> | AsyncIterable<Segment>;
}

/**
 * Speaks; yields pieces as they are made, at the reader's pace. When it ends, even by an abort, the spoken
 * text is charged by UTF-8 byte before the end is reported. Throws the faults of `speechFault`.
 */
export async function* synthesise(
  context: Context,
  request: SpeechRequest & { readonly model: SynthesisModel },
  { options, segments }: SynthesisJob,
  signal: AbortSignal,
): AsyncGenerator<AudioPiece> {
  const own = new AbortController();
  const speaking = request.slot.speak(options, AbortSignal.any([signal, own.signal]));
  let saidBytes = 0;
  const feeding = (async () => {
    for await (const segment of segments) {
      if (own.signal.aborted) return;
      saidBytes += Buffer.byteLength(segment.text);
      speaking.say(segment);
    }
    speaking.end();
  })();
  // The source of the text may fail; then no more text follows.
  feeding.catch((error: unknown) => own.abort(error));
  try {
    yield* speaking;
  } catch (error) {
    throw speechFault(error);
  } finally {
    own.abort(new Error('over'));
    const micros =
      request.model === 's2.1-pro-free'
        ? 0
        : Math.round((saidBytes * context.settings.PRICE_TTS_PER_MILLION_BYTES) / 1_000_000);
    await charge(context, request, `tts:${request.requestId}`, micros);
  }
}

/** Recognises a recording and charges its duration in seconds, rounded up. Throws `SpeechJobError`. */
export async function recognise(
  context: Context,
  request: SpeechRequest,
  work: {
    readonly audio: Uint8Array<ArrayBuffer>;
    readonly options: TranscribeOptions;
    readonly signal: AbortSignal;
  },
): Promise<Transcript> {
  const transcript = await request.slot.transcribe(work.audio, work.options, work.signal);
  const micros = Math.round(
    (Math.ceil(transcript.durationSeconds) * context.settings.PRICE_ASR_PER_HOUR) / 3_600,
  );
  await charge(context, request, `asr:${request.requestId}`, micros);
  return transcript;
}

/** The API's error for a failed job. */
export function speechFault(error: unknown): unknown {
  if (!(error instanceof SpeechJobError)) return error;
  return error.failure === 'bad_request' || error.failure.startsWith('audio_')
    ? fault('bad_request', { detail: error.message }, { cause: error })
    : fault('speech_unavailable', { detail: error.message }, { cause: error });
}

/** Usage is settled afterwards and never fails a request. */
async function charge(context: Context, request: SpeechRequest, key: string, micros: number): Promise<void> {
  if (micros === 0) return;
  try {
    await context.ledger.post({ userId: request.caller.userId, key, kind: 'settle', amountMicros: -micros });
  } catch (error) {
    context.logger.error({ err: error, key }, 'failed to charge speech usage');
  }
}
