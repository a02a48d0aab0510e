/**
 * The contracts of speech engines: `Recognizer` (audio to text) and `Synthesizer` (text to audio). One file
 * per vendor implements them; `engines.ts` builds the configured ones. Vendor quirks stay inside the vendor's
 * file. One conformance suite (`test/media/speech/conformance.ts`) is passed by every implementation.
 */

/**
 * Why an engine failed, independent of the vendor; `retryable` is decided here, or by who knows of another
 * engine.
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

/** `stalled`: the engine accepted work and then said nothing within its progress deadline. */
export type SpeechErrorCategory =
  | 'authentication'
  | 'quota'
  | 'overloaded'
  | 'connectivity'
  | 'stalled'
  | 'bad_request'
  | 'unavailable';

/** What a recogniser is opened with. */
export interface RecognitionOptions {
  /** Rate of the samples that will be written, Hz. */
  readonly sampleRateHz: number;
  /** ISO 639-1 code of the expected language. */
  readonly language: string;
  readonly multilingual: boolean;
  /** Words and phrases likely to be said (`asr.keyterms`). */
  readonly keyterms: readonly string[];
  /**
   * Longest wait for an utterance's text, ms, where nobody is on the line; absent, the engine's own for live
   * calls.
   */
  readonly deadlineMs?: number;
  /** Called in order; never after `close`. */
  readonly onEvent: (event: RecognitionEvent) => void;
}

/** Times are ms since the first written sample. */
export type RecognitionEvent =
  /** The text so far of what is being said; replaces the interim before it. */
  | { readonly type: 'interim'; readonly text: string }
  /** A stretch of speech whose text will not change again; finals of one turn are joined with a space. */
  | {
      readonly type: 'final';
      readonly text: string;
      readonly startMs: number | null;
      readonly endMs: number | null;
      readonly language: string | null;
    }
  /** Answer to `finalise`: everything written before it has been reported as finals (possibly none). */
  | { readonly type: 'finalised' }
  /** The stream is dead; open another. */
  | { readonly type: 'failed'; readonly error: SpeechError };

/** One open recognition: a call's whole caller side, or one stretch of it. */
export interface RecognitionStream {
  /** Mono 16-bit samples in arrival order; the array may be reused by the caller after the call returns. */
  write(samples: Int16Array): void;
  /** Asks for what was written so far to be settled now. */
  finalise(): void;
  /** Idempotent; no event follows. */
  close(): void;
}

/** A recognition engine. */
export interface Recognizer {
  /** Stable id, `<provider>` or `<provider>:<model>`. */
  readonly id: string;
  /** False: only finals come, so an interruption cannot wait for words. */
  readonly givesInterims: boolean;
  /**
   * Seed for the engine's p99 time from `finalise` to its answer, ms; replaced by what is measured in use.
   */
  readonly expectedFinalMs: number;
  open(options: RecognitionOptions): RecognitionStream;
  /**
   * Recognises a whole recording at once; absent where the engine only listens live. Throws `SpeechError`, or
   * the signal's reason.
   */
  readonly transcribe?: (request: RecordingRequest) => Promise<RecordedSpeech>;
}

/** A recording to be recognised. */
export interface RecordingRequest {
  /** Mono. */
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
  /** ISO 639-1; null leaves it to the engine. */
  readonly language: string | null;
  /** Speakers are to be told apart. */
  readonly diarize: boolean;
  readonly signal: AbortSignal;
}

/** What was heard in a recording. Times are ms from its start. */
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

/** How something may be said, where a voice can (`voice.expressive`). */
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

/** What one synthesis is asked for. */
export interface SynthesisOptions {
  /** Engine voice id, or null for the engine's default. */
  readonly voiceId: string | null;
  readonly language: string;
  /** 0.5 to 2. */
  readonly speed: number;
  /** Absent or null: as the voice speaks by itself. Engines whose voices cannot ignore it. */
  readonly emotion?: Emotion | null;
  /** Wanted rate, Hz; the engine may answer with another and says so in each chunk. */
  readonly sampleRateHz: number;
  /**
   * The text is said in other calls too, word for word: what was made of it may be kept, and played to them.
   */
  readonly isFixed?: boolean;
  /** Whose text it is: an engine of this machine lets accounts take turns. Absent, all are one. */
  readonly account?: string;
  readonly signal: AbortSignal;
}

/** What is known of the syntheses of a call before the first one. */
export type SynthesisOutlook = Pick<SynthesisOptions, 'voiceId' | 'language' | 'speed' | 'sampleRateHz'>;

/** A stretch of synthesised audio, in order. */
export interface SpeechChunk {
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
  /**
   * Words that begin in this chunk, times in ms from the start of the synthesis; null where the engine gives
   * none.
   */
  readonly words: readonly SpokenWord[] | null;
  /** It was made for an earlier call: the engine has not been asked. */
  readonly isKept?: boolean;
}

/** One spoken word as the engine timed it. `textStart`/`textEnd` index the text that was asked for. */
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
   * True: reads plain words and English numerals only. Dates, times, money, units and other numerals are
   * worded before they reach it.
   */
  readonly needsWords?: boolean;
  /**
   * Opens ahead what the first text would wait for; absent where nothing need be opened. What fails then is
   * told by the text that needs it.
   */
  prepare?(outlook: SynthesisOutlook): void;
  /** Throws `SpeechError`; stops at once when the signal is aborted. */
  synthesise(text: string, options: SynthesisOptions): AsyncIterable<SpeechChunk>;
  /** Ends threads and connections; nothing may be asked afterwards. */
  close?(): Promise<void>;
}
