/** The jobs of the speech pool, and the messages between it and its threads. */
import type { SpeechErrorCategory } from '../speech.ts';
import type { AudioOutput } from './audio-encoder.ts';

/** How a text is spoken. */
export interface SpeakOptions {
  readonly output: AudioOutput;
  readonly language: string;
  /** 0.5 to 2. */
  readonly speed: number;
  /** Gain, dB. */
  readonly volumeDb: number;
  /** Normalises the loudness of every voice first. */
  readonly normalizeLoudness: boolean;
  /** Most characters passed to the engine at once. */
  readonly chunkLength: number;
  /** `low` begins with the first clause, `balanced` with the first sentence. */
  readonly latency: 'low' | 'balanced' | 'normal';
}

/** A segment of text for one voice. */
export interface Segment {
  readonly text: string;
  /** Null: the platform's default voice. */
  readonly voiceId: string | null;
}

/**
 * Text with its times in seconds: a word, from the start of its chunk; or a segment or turn of a transcript,
 * from the start of the recording.
 */
export interface TimedText {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Encoded audio in order, with the known facts about its chunk of text. */
export interface AudioPiece {
  readonly bytes: Uint8Array;
  /** Duration of this piece, ms. */
  readonly durationMs: number;
  readonly chunk: {
    /** From 0. */
    readonly seq: number;
    readonly text: string;
    /** Start of the chunk in the whole, seconds. */
    readonly offsetSeconds: number;
    /** Its audio so far, seconds. */
    readonly seconds: number;
    /** Its words so far; null if the engine has reported none. */
    readonly words: readonly TimedText[] | null;
  };
}

/** Options of recognising a recording. */
export interface TranscribeOptions {
  /** ISO 639-1; null: the engine detects it. */
  readonly language: string | null;
  /** Longest accepted audio, seconds. */
  readonly longestSeconds: number;
  /** Shortest accepted audio, seconds. */
  readonly shortestSeconds: number;
  /** Diarisation; absent: none. `required` fails with `speakers_not_told_apart` if the engine cannot. */
  readonly speakers?: 'where_possible' | 'required';
}

/** What was said in a recording. */
export interface Transcript {
  readonly text: string;
  readonly durationSeconds: number;
  readonly segments: readonly TimedText[];
  /** As the engine detected it. */
  readonly language: string | null;
  /** Turns by speaker, counted from 0; null if not requested or not supported. */
  readonly speakerTurns: readonly (TimedText & { readonly speaker: number })[] | null;
}

/** Why a job failed; `audio_*` concern the input. */
export type JobFailure =
  | SpeechErrorCategory
  | 'speakers_not_told_apart'
  | 'audio_unreadable'
  | 'audio_unsupported'
  | 'audio_too_long'
  | 'audio_too_short';

/** Messages to a thread. */
export type ToThread =
  /**
   * `account` owns the stream. `mustShare`: other accounts were active recently, so the thread pauses
   * after each piece of an account that has used up its allowance.
   */
  | {
      readonly type: 'speak';
      readonly id: number;
      readonly account: string;
      readonly mustShare: boolean;
      readonly options: SpeakOptions;
    }
  /** More text; null ends it. */
  | { readonly type: 'segment'; readonly id: number; readonly segment: Segment | null }
  | {
      readonly type: 'transcribe';
      readonly id: number;
      readonly audio: Uint8Array<ArrayBuffer>;
      readonly options: TranscribeOptions;
    }
  /** A piece was taken: one more may be sent. `mustShare` replaces the earlier value of the stream. */
  | { readonly type: 'taken'; readonly id: number; readonly mustShare: boolean }
  | { readonly type: 'cancel'; readonly id: number }
  /** Answered with `alive` at once. */
  | { readonly type: 'ping' }
  | { readonly type: 'close' };

/** Messages from a thread. */
export type FromThread =
  | { readonly type: 'piece'; readonly id: number; readonly piece: AudioPiece }
  | { readonly type: 'transcript'; readonly id: number; readonly transcript: Transcript }
  | { readonly type: 'spoken'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly failure: JobFailure; readonly message: string }
  /** Sent when the thread is ready, and in answer to each ping. */
  | { readonly type: 'alive' }
  | { readonly type: 'closed' };

/** Most pieces sent and not yet taken. Each is at most a second: a slow reader costs little memory. */
export const PIECES_IN_FLIGHT = 4;

/** Thrown for a job that failed. */
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
