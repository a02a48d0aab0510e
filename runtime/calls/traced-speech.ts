/**
 * The speech engines of a call, traced: syntheses are spans, also if they were broken off, and a recogniser's
 * events say which engine they come from. Only calls with a trace use them.
 */
import { askedSpeechEngine, GEN_AI, OPERATION, spanName } from '#config/gen-ai.ts';
import { vendorOfEngine } from '#config/vendor-labels.ts';
import type { Recognizer, SpeechChunk, SynthesisOptions, Synthesizer } from '#media/speech/speech.ts';
import {
  begin,
  type Described,
  type EngineTrace,
  endingWith,
  failureAttributes,
  failureType,
} from './engine-trace.ts';
import { spokenContent } from './trace-content.ts';

/** The recognition stream whose event was passed on last. */
export interface Recognition {
  latest: {
    readonly engineId: string;
    /** Why it failed; null while it has not. */
    failure: string | null;
  } | null;
}

/** A recogniser that notes where each event comes from, before it passes the event on. */
export function tracedRecognizer(recognizer: Recognizer, recognition: Recognition): Recognizer {
  return {
    get id() {
      return recognizer.id;
    },
    get givesInterims() {
      return recognizer.givesInterims;
    },
    get expectedFinalMs() {
      return recognizer.expectedFinalMs;
    },
    ...(recognizer.transcribe === undefined ? {} : { transcribe: recognizer.transcribe }),
    open(options) {
      // When it has failed, the recogniser already has the id of the engine that takes over.
      const stream = { engineId: recognizer.id, failure: null as string | null };
      const failed = (error: unknown) => {
        stream.failure = failureType(error);
        recognition.latest = stream;
      };
      try {
        return recognizer.open({
          ...options,
          onEvent(event) {
            recognition.latest = stream;
            if (event.type === 'failed') failed(event.error);
            options.onEvent(event);
          },
        });
      } catch (error) {
        failed(error);
        throw error;
      }
    },
  };
}

/** A synthesiser whose syntheses are traced. */
export function tracedSynthesizer(synthesizer: Synthesizer, trace: EngineTrace): Synthesizer {
  return {
    get id() {
      return synthesizer.id;
    },
    get voices() {
      return synthesizer.voices;
    },
    get needsWords() {
      return synthesizer.needsWords === true;
    },
    prepare: (outlook) => synthesizer.prepare?.(outlook),
    synthesise: (text, options) => tracedSynthesis(synthesizer, { text, options }, trace),
  };
}

async function* tracedSynthesis(
  synthesizer: Synthesizer,
  { text, options }: { readonly text: string; readonly options: SynthesisOptions },
  trace: EngineTrace,
): AsyncGenerator<SpeechChunk> {
  const startMs = trace.clock.now();
  const made: Made = {
    engineId: synthesizer.id,
    audioMs: 0,
    firstMs: null,
    isKept: false,
    isComplete: false,
  };
  const end = begin(trace, options.replyId ?? null, (error) => {
    // Another engine speaks in a voice of its own, and so does a server of the agent's owner.
    const hasVoice = made.engineId === synthesizer.id && vendorOfEngine(made.engineId) !== 'custom';
    const voice = hasVoice ? voiceName(options.voiceId) : null;
    const { attributes, ...span } = synthesisSpan(voice, { made, error });
    return { ...span, attributes: { ...attributes, ...(trace.hasContent ? spokenContent(text) : {}) } };
  });
  const onEngine = (engineId: string) => {
    made.engineId = engineId;
  };
  const chunks = async function* () {
    for await (const chunk of synthesizer.synthesise(text, { ...options, onEngine })) {
      made.firstMs ??= trace.clock.now() - startMs;
      made.audioMs += (chunk.samples.length * 1_000) / chunk.sampleRateHz;
      made.isKept ||= chunk.isKept === true;
      yield chunk;
    }
    made.isComplete = true;
  };
  yield* endingWith(chunks(), end, options.signal);
}

/** The progress of a synthesis, and the engine that makes it. */
interface Made {
  engineId: string;
  audioMs: number;
  firstMs: number | null;
  isKept: boolean;
  isComplete: boolean;
}

function voiceName(voiceId: string | null): string {
  return voiceId?.split(':').at(-1) ?? 'default';
}

function synthesisSpan(
  voice: string | null,
  { made, error }: { readonly made: Made; readonly error: unknown },
): Described {
  const { provider, model, isInProcess } = askedSpeechEngine(made.engineId);
  return {
    name: spanName(OPERATION.synthesis, voice),
    kind: isInProcess || made.isKept ? 'internal' : 'client',
    attributes: {
      [GEN_AI.operation]: OPERATION.synthesis,
      [GEN_AI.provider]: provider,
      [GEN_AI.requestModel]: model,
      [GEN_AI.voice]: voice,
      [GEN_AI.outputType]: 'speech',
      [GEN_AI.firstChunk]: made.firstMs === null ? null : made.firstMs / 1_000,
      'parley.audio_seconds': Math.round(made.audioMs) / 1_000,
      'parley.kept': made.isKept,
      'parley.aborted': !made.isComplete && error === null,
      ...failureAttributes(error),
    },
    error: failureType(error),
  };
}
