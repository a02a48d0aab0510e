/**
 * Recognises a finished recording: in one request if the engine supports that, otherwise streamed in blocks
 * as if live, and settled at the end.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Clock } from '#base/clock.ts';
import { type RecognitionEvent, type Recognizer, type RecordedSpeech, SpeechError } from '../speech.ts';
import { DECODED_RATE_HZ, type Decode } from './decoders.ts';
import { SpeechJobError, type TimedText, type TranscribeOptions, type Transcript } from './speech-jobs.ts';

const BLOCK_MS = 100;
const BLOCK_SAMPLES = (DECODED_RATE_HZ * BLOCK_MS) / 1_000;
/** Live engines get the audio this much faster than real time, which their sockets can take. */
const LIVE_SPEEDUP = 10;

/** Longer than for a call, because no caller waits. */
const UTTERANCE_DEADLINE_MS = 60_000;

/** Options of recognising a recording. */
export interface TranscribeDeps {
  /** Null if the machine has none. */
  readonly recognizer: Recognizer | null;
  readonly decode: Decode;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Decodes and recognises. Throws `SpeechJobError`, `SpeechError`, or the signal's reason. */
export async function transcribe(
  audio: Uint8Array<ArrayBuffer>,
  options: TranscribeOptions,
  deps: TranscribeDeps,
): Promise<Transcript> {
  const { recognizer } = deps;
  const samples = await deps.decode({
    file: audio,
    longestSeconds: options.longestSeconds,
    signal: deps.signal,
  });
  const durationSeconds = samples.length / DECODED_RATE_HZ;
  if (durationSeconds < options.shortestSeconds)
    throw new SpeechJobError(
      'audio_too_short',
      `The audio is shorter than ${options.shortestSeconds} seconds`,
    );
  if (!recognizer)
    throw new SpeechError(
      'unavailable',
      'This deployment has no recognition engine: run npx parley models, or set ASR_PROVIDER with its key',
    );
  const diarize = options.speakers !== undefined;
  if (options.speakers === 'required' && !recognizer.transcribe)
    throw new SpeechJobError(
      'speakers_not_told_apart',
      `The recognition engine ${recognizer.id} cannot distinguish speakers`,
    );
  const { stretches, language } = recognizer.transcribe
    ? await recognizer.transcribe({
        samples,
        sampleRateHz: DECODED_RATE_HZ,
        language: options.language,
        diarize,
        signal: deps.signal,
      })
    : await listen(recognizer, samples, { language: options.language, ...deps });
  const segments: TimedText[] = stretches.map(({ text, startMs, endMs }) => ({
    text,
    start: startMs / 1_000,
    end: Math.min(durationSeconds, endMs / 1_000),
  }));
  const speakerTurns = diarize ? turnsOf(stretches, segments) : null;
  return {
    text: segments.map(({ text }) => text).join(' '),
    durationSeconds,
    segments,
    language,
    speakerTurns,
  };
}

/** Merges consecutive segments of one speaker into turns; null if a speaker is unknown. */
function turnsOf(
  stretches: RecordedSpeech['stretches'],
  segments: readonly TimedText[],
): Transcript['speakerTurns'] {
  const turns: { text: string; start: number; end: number; speaker: number }[] = [];
  for (const [index, { speaker }] of stretches.entries()) {
    const segment = segments[index];
    if (speaker === null || !segment) return null;
    const last = turns.at(-1);
    if (last?.speaker === speaker) {
      last.text += ` ${segment.text}`;
      last.end = segment.end;
    } else turns.push({ ...segment, speaker });
  }
  return turns;
}

type Final = Extract<RecognitionEvent, { type: 'final' }>;

async function listen(
  recognizer: Recognizer,
  samples: Int16Array,
  {
    language,
    clock,
    signal,
  }: Pick<TranscribeDeps, 'clock' | 'signal'> & { readonly language: string | null },
): Promise<RecordedSpeech> {
  const finals: Final[] = [];
  const outcome = Promise.withResolvers<void>();
  // Awaited only at the end; until then a failure must not be reported as unhandled.
  outcome.promise.catch(() => {});
  const onAbort = () => outcome.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const stream = recognizer.open({
    sampleRateHz: DECODED_RATE_HZ,
    language: language ?? 'en',
    multilingual: language === null,
    keyterms: [],
    deadlineMs: UTTERANCE_DEADLINE_MS,
    onEvent: (event) => {
      if (event.type === 'final') finals.push(event);
      else if (event.type === 'finalised') outcome.resolve();
      else if (event.type === 'failed') outcome.reject(event.error);
    },
  });
  try {
    for (let at = 0; at < samples.length; at += BLOCK_SAMPLES) {
      signal.throwIfAborted();
      stream.write(samples.subarray(at, at + BLOCK_SAMPLES));
      await (recognizer.givesInterims ? clock.sleep(BLOCK_MS / LIVE_SPEEDUP, signal) : nextRound());
    }
    stream.finalise();
    await outcome.promise;
    const durationMs = (samples.length * 1_000) / DECODED_RATE_HZ;
    const stretches = finals.map(({ text, startMs, endMs }) => ({
      text,
      startMs: startMs ?? 0,
      endMs: endMs ?? durationMs,
      speaker: null,
    }));
    return { stretches, language: finals.find((final) => final.language !== null)?.language ?? null };
  } finally {
    signal.removeEventListener('abort', onAbort);
    stream.close();
  }
}
