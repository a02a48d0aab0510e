/**
 * Feeds the caller's audio to the recogniser: at once during voice, in larger pieces during silence. The last
 * seconds are kept and repeated to the stream that replaces a failed one, so that no words are lost. The
 * first stream opens before the call is answered, so that the first words do not wait for a handshake.
 */
import type { RecognitionEvent, RecognitionStream, Recognizer } from '#media/speech/speech.ts';
import { SpeechError } from '#media/speech/speech.ts';
import { SampleRing } from './sample-ring.ts';

/** Audio kept for a replacement stream… */
const KEPT_MS = 5_000;
/**
 * …and while a result is pending: a stream may take long to fail, and audio from before the request must
 * still be there.
 */
const KEPT_WHILE_OWED_MS = 20_000;
/**
 * Minimum length of pieces without voice. Each piece is a message to a vendor and most of a call is silence;
 * audio arrives in pieces of 100 ms, which word marks of the agent's speech split further.
 */
const QUIET_PIECE_MS = 200;

/** Options of a feed. */
export interface RecognitionFeedOptions {
  readonly recognizer: Recognizer;
  readonly language: string;
  readonly multilingual: boolean;
  readonly keyterms: readonly string[];
  readonly onEvent: (event: RecognitionEvent) => void;
}

/** One call's recognition, over as many streams as it needs. */
export class RecognitionFeed {
  readonly #options: RecognitionFeedOptions;
  #stream: RecognitionStream | null = null;
  /**
   * The stream was opened before the call was answered: it gets no audio, and its failure does not matter.
   */
  #isAhead = false;
  #rateHz = 8_000;
  readonly #kept = new SampleRing();
  #wantsFinal = false;
  #hasVoice = false;
  /** Number of newest samples not yet written to the stream. */
  #unwritten = 0;

  constructor(options: RecognitionFeedOptions) {
    this.#options = options;
  }

  /** Opens the first stream before `open`, for audio of this rate. */
  prepare(rateHz: number): void {
    if (this.#isAhead && this.#stream !== null && rateHz === this.#rateHz) return;
    this.#rateHz = rateHz;
    this.#isAhead = true;
    this.#begin();
  }

  /**
   * Opens a stream in place of the current one, or uses the prepared one; it gets the audio without a final
   * result first.
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

  /** Writes caller audio. */
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

  /** Voice was detected or has ended. The piece in which it began is sent at once. */
  setVoice(hasVoice: boolean): void {
    this.#hasVoice = hasVoice;
    if (hasVoice) this.#flush();
  }

  /** Asks for a final result of everything said so far. */
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
      // Audio with a final result need not be repeated.
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

  /** Forgets all audio but what no stream has received. */
  #forget(): void {
    this.#kept.keepNewest(this.#unwritten);
  }

  #close(): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.close();
  }
}
