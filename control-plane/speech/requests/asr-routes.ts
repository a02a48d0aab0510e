/** `POST /v1/asr`: recording in, text out. Errors of the pro model contain a code and the request's id. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Fault, fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { type JobFailure, SpeechJobError, type Transcript } from '#media/speech/pool/speech-jobs.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { firstProblem, InvalidRequest, sendProblem } from '../../platform/http/problems.ts';
import { acceptBodies, bytes } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { hearRecording } from './heard-recording.ts';
import { type RecognitionModel, recognitionModel } from './speech-models.ts';

/** A form contains only text: anything but `true` is false. Null counts as absent. */
const formFlag = z.union([
  z.boolean(),
  z.string().transform((text) => text === 'true'),
  z.null().transform(() => true),
]);
const count = z.coerce.number().int().min(1).nullable().default(null);

const basic = {
  audio: bytes.meta({ description: 'WAV, MP3, FLAC, Ogg (Opus, Vorbis) or WebM' }),
  language: z
    .union([z.literal('').transform(() => null), z.string().regex(/^[a-z]{2}$/)])
    .nullable()
    .default(null)
    .meta({ description: 'ISO 639-1; if omitted, the engine detects the language', examples: ['en'] }),
  ignore_timestamps: formFlag.default(true),
};
const pro = {
  tag_audio_events: formFlag.default(true),
  diarize: z
    .union([z.literal('auto'), z.enum(['true', 'false']).transform((text) => text === 'true'), z.boolean()])
    .default('auto'),
  num_speakers: count,
  min_speakers: count,
  max_speakers: count,
};
const asrRequest = z.strictObject({ ...basic, ...pro }).superRefine((request, refinement) => {
  const { diarize, num_speakers: exact, min_speakers: least, max_speakers: most } = request;
  const problem = (path: string, message: string) =>
    refinement.addIssue({ code: 'custom', path: [path], message });
  if (exact !== null && (least !== null || most !== null))
    problem('num_speakers', 'excludes min_speakers and max_speakers');
  if (diarize === false && [exact, least, most].some((value) => value !== null))
    problem('diarize', 'must not be false if speakers are counted');
  if (least !== null && most !== null && least > most)
    problem('min_speakers', 'must not be above max_speakers');
});

const segment = z.object({ text: z.string(), start: z.number(), end: z.number() });
const asrResponse = z.object({
  text: z.string(),
  duration: z.number(),
  segments: z.array(segment),
  language_code: z.string().optional(),
  language: z.string().optional(),
  request_id: z.string().optional(),
  speaker_turns: z.array(segment.extend({ speaker: z.string() })).optional(),
});

/** Registers the recognition route. */
export async function registerAsrRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    scope.setErrorHandler((error, request, reply) => {
      const refusal = refusalOf(error);
      if (!refusal) return sendProblem(error as Error, request, reply);
      const { status, message, code } = refusal;
      const isPro = modelOf(request) === 'transcribe-1-pro';
      return reply
        .code(status)
        .send(isPro ? { status, message, code, request_id: request.id } : { status, message, reason: null });
    });
    acceptBodies(scope, {
      kinds: ['multipart', 'msgpack'],
      json: false,
      mostBytes: LIMITS.transcribeProBytes,
    });
    scope.post(
      '/v1/asr',
      {
        bodyLimit: LIMITS.transcribeProBytes,
        config: { bodyOptional: true, isSpeech: true, isAudited: false },
        schema: {
          tags: ['speech'],
          consumes: ['multipart/form-data', 'application/msgpack'],
          body: asrRequest,
          response: { 200: asrResponse },
        },
      },
      async (request, reply) => {
        const model = modelOf(request);
        const { audio, language, ignore_timestamps, diarize } = request.body;
        if (model === 'transcribe-1' && audio.length > LIMITS.transcribeBytes)
          throw new Refusal(413, 'request_too_large', 'The audio is larger than 50 MiB');
        const isDiarized = model === 'transcribe-1-pro' && diarize !== false;
        const speakers = isDiarized
          ? { speakers: diarize === true ? ('required' as const) : ('where_possible' as const) }
          : {};
        const transcript = await hearRecording(context, reply, {
          caller: callerOf(request),
          requestId: request.id,
          audio,
          language,
          ...speakers,
        });
        return answer(transcript, {
          model,
          language,
          withTimes: !ignore_timestamps,
          requestId: request.id,
          isDiarized,
        });
      },
    );
    done();
  });
}

function answer(
  transcript: Transcript,
  asked: {
    model: RecognitionModel;
    language: string | null;
    withTimes: boolean;
    requestId: string;
    isDiarized: boolean;
  },
): z.output<typeof asrResponse> {
  const code = transcript.language ?? asked.language;
  const name = code === null ? undefined : new Intl.DisplayNames('en', { type: 'language' }).of(code);
  // An engine without diarisation reports no turns, so the answer has none.
  const turns = (transcript.speakerTurns ?? []).map((turn) => ({
    ...turn,
    speaker: `speaker:${turn.speaker}`,
  }));
  return {
    text:
      turns.length > 0
        ? turns.map(({ speaker, text }) => `<|${speaker}|>${text}`).join(' ')
        : transcript.text,
    duration: transcript.durationSeconds,
    segments: asked.withTimes ? [...transcript.segments] : [],
    ...(code === null ? {} : { language_code: code }),
    ...(name === undefined ? {} : { language: name }),
    ...(asked.model === 'transcribe-1-pro' ? { request_id: asked.requestId } : {}),
    ...(asked.isDiarized && asked.withTimes ? { speaker_turns: turns } : {}),
  };
}

function modelOf(request: FastifyRequest): RecognitionModel {
  return recognitionModel(String(request.headers['model'] ?? ''));
}

/** Formats an error in the format of each model. */
class Refusal extends Error {
  readonly status: number;
  /** The pro model's; null if it has none. */
  readonly code: string | null;

  constructor(status: number, code: string | null, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const FAILURES: Partial<Record<JobFailure, readonly [status: number, code: string]>> = {
  audio_unreadable: [400, 'invalid_audio'],
  audio_unsupported: [415, 'unsupported_media_type'],
  audio_too_long: [400, 'audio_too_long'],
  audio_too_short: [400, 'audio_too_short'],
  bad_request: [400, 'invalid_parameter'],
  stalled: [503, 'upstream_timeout'],
  speakers_not_told_apart: [503, 'diarization_failed'],
};

/** Null for errors that the server's own handler formats. */
function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  if (error instanceof SpeechJobError) {
    const [status, code] = FAILURES[error.failure] ?? [503, 'upstream_unavailable'];
    return new Refusal(status, code, error.message);
  }
  if (error instanceof InvalidRequest) return new Refusal(400, 'invalid_parameter', firstProblem(error));
  if (error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return refusalOf(fault('too_large'));
  if (!(error instanceof Fault)) return null;
  return new Refusal(
    error.status,
    error.status === 413 ? 'request_too_large' : error.status === 400 ? 'invalid_request' : null,
    error.message,
  );
}
