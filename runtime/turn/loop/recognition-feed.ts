/**
 * The caller's audio on its way to the recogniser: written as it arrives while a voice is heard, in larger
 * pieces while none is, kept for a few seconds, and given again to the stream that replaces a failed one, so
 * that words said in the gap are not lost. The first stream is opened before the call is answered: nobody's
 * first words wait for a handshake.
 */
import type { RecognitionEvent, RecognitionStream, Recognizer } from '#media/speech/speech.ts';
import { SpeechError } from '#media/speech/speech.ts';
import { KeptAudio } from './kept-audio.ts';

/** Audio kept for a replacement stream… */
const KEPT_MS = 5_000;
/**
 * …and while words of it are owed: a stream may take long to fail, and what was said before it was asked must
 * not be gone by then.
 */
const KEPT_WHILE_OWED_MS = 20_000;
/**
 * Audio without a voice goes to the recogniser in pieces of this length at least: each is a message to a
 * vendor, most of a call's are silence, and it comes in pieces of 100 ms that every word the agent says cuts
 * in two.
 */
const QUIET_PIECE_MS = 200;

/** What the feed is built from. */
export interface RecognitionFeedOptions {
  readonly recognizer: Recognizer;
  readonly language: string;
  readonly multilingual: boolean;
  readonly keyterms: readonly string[];
  readonly onEvent: (event: RecognitionEvent) => void;
}

/** One call's recognition over however many streams it takes. */
export class RecognitionFeed {
  readonly #options: RecognitionFeedOptions;
  #stream: RecognitionStream | null = null;
  /**
   * The stream was opened before anybody is to be heard: it is given nothing, and what becomes of it is
   * nobody's concern.
   */
  #isAhead = false;
  #rateHz = 8_000;
  readonly #kept = new KeptAudio();
  #wantsFinal = false;
  #hasVoice = false;
  /** So many of the newest samples kept are not written to the stream yet. */
  #unwritten = 0;

  constructor(options: RecognitionFeedOptions) {
    this.#options = options;
  }

  /** Opens the first stream ahead of `open`, for audio of this rate. */
  prepare(rateHz: number): void {
    if (this.#isAhead && this.#stream !== null && rateHz === this.#rateHz) return;
    this.#rateHz = rateHz;
    this.#isAhead = true;
    this.#begin();
  }

  /**
   * Opens a stream in place of the one there is, or takes the one opened ahead; it first hears what was not
   * settled yet.
   */
  open(): void {
    const isReady = this.#isAhead && this.#stream !== null;
    this.#isAhead = false;
    if (!isReady) this.#begin();
    this.#catchUp();
  }

  #begin(): void {
    this.#close();
    const { recognizer, language, multilingual, keyterms } = this.#options;
    try {
      const stream = recognizer.open({
        sampleRateHz: this.#rateHz,
        language,
        multilingual,
        keyterms,
        onEvent: (event) => {
          if (stream === this.#stream) this.#onEvent(event);
        },
      });
      this.#stream = stream;
    } catch (error) {
      this.#onEvent({
        type: 'failed',
        error:
          error instanceof SpeechError
            ? error
            : new SpeechError('unavailable', 'the recogniser cannot be opened', { cause: error }),
      });
    }
  }

  #catchUp(): void {
    this.#unwritten = this.#kept.length;
    this.#flush();
    if (this.#wantsFinal) this.#stream?.finalise();
  }

  /** Hands in caller audio. */
  write(samples: Int16Array, rateHz: number): void {
    if (rateHz !== this.#rateHz) {
      this.#rateHz = rateHz;
      this.#unwritten = 0;
      this.#forget();
      if (this.#stream) {
        this.#begin();
        if (!this.#isAhead) this.#catchUp();
      }
    }
    this.#kept.push(samples);
    this.#kept.keepNewest(((this.#wantsFinal ? KEPT_WHILE_OWED_MS : KEPT_MS) * rateHz) / 1_000);
    if (this.#isAhead) return;
    this.#unwritten += samples.length;
    if (this.#hasVoice || this.#unwritten * 1_000 >= QUIET_PIECE_MS * rateHz) this.#flush();
  }

  /** A voice was detected, or is over. The piece in which it began goes at once. */
  setVoice(hasVoice: boolean): void {
    this.#hasVoice = hasVoice;
    if (hasVoice) this.#flush();
  }

  /** Asks for what was said so far to be settled. */
  finalise(): void {
    this.#wantsFinal = true;
    this.#flush();
    this.#stream?.finalise();
  }

  /** Ends recognition for good. */
  close(): void {
    this.#close();
    this.#unwritten = 0;
    this.#forget();
  }

  #onEvent(event: RecognitionEvent): void {
    if (event.type === 'finalised' || event.type === 'final') {
      // What was settled need not be said again.
      this.#forget();
      if (event.type === 'finalised') this.#wantsFinal = false;
    }
    if (event.type === 'failed') this.#close();
    if (!this.#isAhead) this.#options.onEvent(event);
  }

  #flush(): void {
    const unwritten = this.#kept.newest(this.#unwritten);
    this.#unwritten = 0;
    for (const samples of unwritten) this.#stream?.write(samples);
  }

  /** All but what no stream has heard. */
  #forget(): void {
    this.#kept.keepNewest(this.#unwritten);
  }

  #close(): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.close();
  }
}
