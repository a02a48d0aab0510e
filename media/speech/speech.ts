/**
 * The contracts of speech engines: `Recognizer` (audio to text), `Synthesizer` (text to audio) and
 * `VoiceCloning`. Each vendor implements them in files of its own, which contain the vendor's peculiarities;
 * `engines.ts` creates the configured engines. Every recogniser and synthesiser passes one conformance suite
 * (`test/media/speech/conformance.ts`).
 */
import type { VendorFault } from '#config/vendor-meters.ts';

/**
 * Why an engine failed, independent of the vendor. `retryable` is decided here, or by failover, which knows
 * of other engines.
 */
export class SpeechError extends Error {
  readonly category: SpeechErrorCategory;
  readonly retryable: boolean;

  constructor(
    category: SpeechErrorCategory,
    message: string,
    options?: { cause?: unknown; retryable?: boolean },
  ) {
    super(message, options);
    this.name = 'SpeechError';
    this.category = category;
    this.retryable =
      options?.retryable ??
      (category === 'connectivity' || category === 'overloaded' || category === 'stalled');
  }
}

/** `stalled`: the engine accepted work and then returned nothing before its deadline. */
export type SpeechErrorCategory = VendorFault;

/** Options of a recognition. */
export interface RecognitionOptions {
  /** Rate of the samples to write, Hz. */
  readonly sampleRateHz: number;
  /** Expected language, ISO 639-1. */
  readonly language: string;
  readonly multilingual: boolean;
  /** Likely words and phrases (`asr.keyterms`). */
  readonly keyterms: readonly string[];
  /**
   * Longest wait for the text of an utterance, ms, if no caller waits; absent: the engine's own for live
   * calls.
   */
  readonly deadlineMs?: number;
  /** Called in order; never after `close`. */
  readonly onEvent: (event: RecognitionEvent) => void;
}

/** Times are ms since the first written sample. */
export type RecognitionEvent =
  /** The text so far of the current speech; replaces the last interim. */
  | { readonly type: 'interim'; readonly text: string }
  /** A segment of speech whose text will not change; finals of one turn are joined with a space. */
  | {
      readonly type: 'final';
      readonly text: string;
      readonly startMs: number | null;
      readonly endMs: number | null;
      readonly language: string | null;
    }
  /** Answer to `finalise`: everything written before it was reported as finals (possibly none). */
  | { readonly type: 'finalised' }
  /** The stream has failed; open another. */
  | { readonly type: 'failed'; readonly error: SpeechError };

/** A recognition stream: the caller's audio of a whole call, or part of it. */
export interface RecognitionStream {
  /** Mono 16-bit samples in order; the caller may reuse the array after the call returns. */
  write(samples: Int16Array): void;
  /** Asks the engine to settle everything written so far. */
  finalise(): void;
  /** Idempotent; no event follows. */
  close(): void;
}

/** A recognition engine. */
export interface Recognizer {
  /** Stable id, `<provider>` or `<provider>:<model>`. */
  readonly id: string;
  /** False: the engine returns only finals, so an interruption cannot wait for words. */
  readonly givesInterims: boolean;
  /** Initial estimate of the p99 time from `finalise` to its answer, ms; replaced by measurements. */
  readonly expectedFinalMs: number;
  open(options: RecognitionOptions): RecognitionStream;
  /**
   * Recognises a whole recording at once; absent if the engine is live only. Throws `SpeechError`, or the
   * signal's reason.
   */
  readonly transcribe?: (request: RecordingRequest) => Promise<RecordedSpeech>;
}

/** A recording to recognise. */
export interface RecordingRequest {
  /** Mono. */
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
  /** ISO 639-1; null: the engine detects it. */
  readonly language: string | null;
  /** Requests diarisation. */
  readonly diarize: boolean;
  readonly signal: AbortSignal;
}

/** The recognised recording. Times are ms from its start. */
export interface RecordedSpeech {
  readonly stretches: readonly {
    readonly text: string;
    readonly startMs: number;
    readonly endMs: number;
    readonly speaker: number | null;
  }[];
  /** As the engine detected it, ISO 639-1. */
  readonly language: string | null;
}

/** Speaking style, for voices that support it (`voice.expressive`). */
export const EMOTIONS = [
  'happy',
  'excited',
  'calm',
  'curious',
  'surprised',
  'sympathetic',
  'apologetic',
  'sad',
] as const;
export type Emotion = (typeof EMOTIONS)[number];

/** Options of a synthesis. */
export interface SynthesisOptions {
  /** Voice id of the engine; null: the engine's default. */
  readonly voiceId: string | null;
  readonly language: string;
  /** 0.5 to 2. */
  readonly speed: number;
  /** Absent or null: the voice's own style. Engines without styles ignore it. */
  readonly emotion?: Emotion | null;
  /** Wanted rate, Hz; each chunk states its actual rate. */
  readonly sampleRateHz: number;
  /** The text is the same in other calls: its audio may be cached and played to them. */
  readonly isFixed?: boolean;
  /** The account: local engines serve accounts in turn. Absent: all count as one. */
  readonly account?: string;
  /** The reply that the text belongs to. Names it in traces; engines ignore it. */
  readonly replyId?: string;
  /** Where engines replace each other: told which one is asked, again for the next. For traces. */
  readonly onEngine?: (engineId: string) => void;
  readonly signal: AbortSignal;
}

/** Facts about a call's syntheses, known before the first. */
export type SynthesisOutlook = Pick<SynthesisOptions, 'voiceId' | 'language' | 'speed' | 'sampleRateHz'>;

/** A piece of synthesised audio, in order. */
export interface SpeechChunk {
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
  /**
   * Words that begin in this chunk, times in ms from the start of the synthesis; null if the engine reports
   * none.
   */
  readonly words: readonly SpokenWord[] | null;
  /** Made for an earlier call: the engine was not used. */
  readonly isKept?: boolean;
}

/** A spoken word, as timed by the engine. `textStart` and `textEnd` are indices into the requested text. */
export interface SpokenWord {
  readonly textStart: number;
  readonly textEnd: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** A synthesis engine. */
export interface Synthesizer {
  readonly id: string;
  readonly voices: readonly {
    readonly id: string;
    readonly name: string;
    readonly languages: readonly string[];
  }[];
  /**
   * True: reads only plain words and English numerals. Dates, times, money, units and other numerals must be
   * written out first.
   */
  readonly needsWords?: boolean;
  /**
   * Opens in advance what the first text would wait for; absent if there is nothing to open. A failure is
   * reported by the text that needs it.
   */
  prepare?(outlook: SynthesisOutlook): void;
  /** Throws `SpeechError`; stops at once when the signal is aborted. */
  synthesise(text: string, options: SynthesisOptions): AsyncIterable<SpeechChunk>;
  /** Ends threads and connections; no use is allowed afterwards. */
  close?(): Promise<void>;
}

/** Creates and deletes voices. All methods throw `SpeechError`, or the signal's reason. */
export interface VoiceCloning {
  /** Creates a voice; resolves with its id here, `<provider>:<voice>`. */
  clone(request: CloneRequest): Promise<string>;
  /** Deletes a voice created here; succeeds if it no longer exists. */
  forget(voiceId: string): Promise<void>;
}

/** A voice to create. */
export interface CloneRequest {
  readonly name: string;
  /** Audio files as uploaded. */
  readonly samples: readonly Uint8Array[];
  readonly signal: AbortSignal;
}
