/** What the speech pool is asked to do, and the messages between it and its threads. */
import type { SpeechErrorCategory } from '../speech.ts';
import type { AudioOutput } from './audio-encoder.ts';

/** How a text is spoken. */
export interface SpeakOptions {
  readonly output: AudioOutput;
  readonly language: string;
  /** 0.5 to 2. */
  readonly speed: number;
  /** Added to the loudness, dB. */
  readonly volumeDb: number;
  /** Brings every voice to one loudness first. */
  readonly normalizeLoudness: boolean;
  /** Most characters handed to the engine at once. */
  readonly chunkLength: number;
  /** `low` begins with the first clause, `balanced` with the first sentence. */
  readonly latency: 'low' | 'balanced' | 'normal';
}

/** A stretch of text for one voice; null is the platform's default voice. */
export interface Segment {
  readonly text: string;
  readonly voiceId: string | null;
}

/** One timed word; times in seconds from the start of its chunk. */
export interface TimedText {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Encoded audio in order, with what is known so far about the chunk of text it belongs to. */
export interface AudioPiece {
  readonly bytes: Uint8Array;
  /** Milliseconds of audio in this piece. */
  readonly durationMs: number;
  readonly chunk: {
    /** Counts from 0. */
    readonly seq: number;
    readonly text: string;
    /** Where the chunk begins in the whole, seconds. */
    readonly offsetSeconds: number;
    /** Its audio so far, seconds. */
    readonly seconds: number;
    /** Its words so far; null while the engine has told none. */
    readonly words: readonly TimedText[] | null;
  };
}

/** What a recording is recognised with. */
export interface TranscribeOptions {
  /** ISO 639-1; null leaves it to the engine. */
  readonly language: string | null;
  /** Longest audio taken, seconds. */
  readonly longestSeconds: number;
  /** Shortest audio taken, seconds. */
  readonly shortestSeconds: number;
  /**
   * Whether speakers are told apart; absent, they are not. `required` fails with `speakers_not_told_apart`
   * where the engine cannot.
   */
  readonly speakers?: 'where_possible' | 'required';
}

/** What was heard. */
export interface Transcript {
  readonly text: string;
  readonly durationSeconds: number;
  readonly segments: readonly TimedText[];
  /** As the engine detected it. */
  readonly language: string | null;
  /** Who said what, speakers counted from 0; null where nobody asked or the engine cannot tell. */
  readonly speakerTurns: readonly (TimedText & { readonly speaker: number })[] | null;
}

/** Why a job failed; `audio_*` concern what was sent. */
export type JobFailure =
  | SpeechErrorCategory
  | 'speakers_not_told_apart'
  | 'audio_unreadable'
  | 'audio_unsupported'
  | 'audio_too_long'
  | 'audio_too_short';

/** To a thread. */
export type ToThread =
  /** `account`: whose stream it is; accounts take turns, and one that must share rests in between. */
  | {
      readonly type: 'speak';
      readonly id: number;
      readonly account: string;
      readonly mustShare: boolean;
      readonly options: SpeakOptions;
    }
  /** More to say; null ends it. */
  | { readonly type: 'segment'; readonly id: number; readonly segment: Segment | null }
  | {
      readonly type: 'transcribe';
      readonly id: number;
      readonly audio: Uint8Array<ArrayBuffer>;
      readonly options: TranscribeOptions;
    }
  /** A piece was taken: one more may be sent. */
  | { readonly type: 'taken'; readonly id: number }
  | { readonly type: 'cancel'; readonly id: number }
  /** Answered with `alive` at once. */
  | { readonly type: 'ping' }
  | { readonly type: 'close' };

/** From a thread. */
export type FromThread =
  | { readonly type: 'piece'; readonly id: number; readonly piece: AudioPiece }
  | { readonly type: 'transcript'; readonly id: number; readonly transcript: Transcript }
  | { readonly type: 'spoken'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly failure: JobFailure; readonly message: string }
  /** When the thread is ready, and to each ping. */
  | { readonly type: 'alive' }
  | { readonly type: 'closed' };

/**
 * Pieces under way to a consumer that has not taken them; each holds a second of audio at most, so a slow
 * reader costs little.
 */
export const PIECES_IN_FLIGHT = 4;

/** Thrown to whoever asked for a job that failed. */
export class SpeechJobError extends Error {
  readonly failure: JobFailure;

  constructor(failure: JobFailure, message: string) {
    super(message);
    this.name = 'SpeechJobError';
    this.failure = failure;
  }
}

/** The refusal of a recording longer than this. */
export function audioTooLong(longestSeconds: number): SpeechJobError {
  return new SpeechJobError(
    'audio_too_long',
    `The audio is longer than ${Math.round(longestSeconds / 60)} minutes`,
  );
}
