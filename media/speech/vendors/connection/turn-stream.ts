/**
 * Recognition at a vendor whose protocol has no request for the final words so far but the end of a turn's
 * audio: each `finalise` ends the turn. Audio that arrives meanwhile is held back and begins the next turn. A
 * turn has a longest age at such vendors; it is ended earlier, where no word is cut.
 */
import type { Clock } from '#base/clock.ts';
import { RateConverter } from '../../../dsp/pcm.ts';
import { SampleBlocks } from '../../audio/sample-blocks.ts';
import { PendingFinalises } from '../../pending-finalises.ts';
import { type RecognitionOptions, type RecognitionStream, SpeechError } from '../../speech.ts';
import { VoiceProgress } from './voice-progress.ts';

const PHONE_RATE_HZ = 8_000;
const WIDE_RATE_HZ = 16_000;
/** Longest wait for the end of a turn. */
const FINALISE_TIMEOUT_MS = 2_000;
/** Most audio held back while a turn ends, ms. Beyond it the vendor has forgotten to end the turn. */
const MAX_HELD_MS = 10_000;

/** Words that will not change. Times are ms since the start of the turn. */
interface Phrase {
  /** Empty if there were none. */
  readonly text: string;
  readonly startMs: number | null;
  readonly endMs: number | null;
  /** ISO 639-1, if the vendor has detected it. */
  readonly language: string | null;
}

/** An event of a connection; nothing follows `failed`. */
export type TurnEvent =
  | { readonly type: 'opened' }
  /** The vendor has heard something in the audio. */
  | { readonly type: 'reacted' }
  | { readonly type: 'interim'; readonly text: string }
  | ({ readonly type: 'phrase' } & Phrase)
  /** Everything sent is settled; the next audio begins another turn. */
  | { readonly type: 'turn-ended' }
  | { readonly type: 'failed'; readonly error: SpeechError };

/** One connection to the vendor; connects at once. */
export interface TurnConnection {
  readonly isInTurn: boolean;
  /** The turn should be ended soon: the vendor will do it. False outside a turn. */
  readonly isOld: boolean;
  /** Another connection is needed for the next turn. */
  readonly isSpent: boolean;
  /** Sends samples, in a new turn if there is none. Not allowed between `endTurn` and its `turn-ended`. */
  send(samples: Int16Array): void;
  /** Ends the audio of the turn, which settles it. */
  endTurn(): void;
  /** Fails it for this reason. */
  fail(error: SpeechError): void;
  close(): void;
}

/** How a vendor's turns work. */
export interface TurnStreamOptions {
  /** The vendor's name, for messages. */
  readonly vendor: string;
  readonly clock: Clock;
  /** Audio sent at once, ms. */
  readonly messageMs: number;
  readonly connect: (onEvent: (event: TurnEvent) => void) => TurnConnection;
}

/** The rate at which a stream sends samples that are written at this rate, Hz. */
export function turnRateHz(sampleRateHz: number): number {
  return sampleRateHz === PHONE_RATE_HZ ? PHONE_RATE_HZ : WIDE_RATE_HZ;
}

/** Audio or a request that arrived while a turn ended, kept in order. */
type Held = Int16Array | 'finalise';

/** The recognition of one call. */
export class TurnStream implements RecognitionStream {
  readonly #options: TurnStreamOptions;
  readonly #recognition: RecognitionOptions;
  readonly #rateHz: number;
  readonly #converter: RateConverter;
  readonly #blocks: SampleBlocks;
  readonly #finalises: PendingFinalises;
  readonly #progress: VoiceProgress;
  readonly #held: Held[] = [];
  #heldSamples = 0;
  #connection: TurnConnection;
  /** Why the turn is being ended: for a finalise, or because of its age. */
  #ending: 'finalise' | 'age' | null = null;
  /** Samples were written since the last finalise. */
  #hasUnsettledAudio = false;
  /** Words without a phrase. */
  #interim = '';
  #sentSamples = 0;
  /** Samples sent before the turn. */
  #turnAt = 0;
  #isOver = false;

  constructor(options: TurnStreamOptions, recognition: RecognitionOptions) {
    const { clock, messageMs } = options;
    const { sampleRateHz } = recognition;
    this.#options = options;
    this.#recognition = recognition;
    this.#rateHz = turnRateHz(sampleRateHz);
    this.#converter = new RateConverter(this.#rateHz);
    this.#blocks = new SampleBlocks((this.#rateHz * messageMs) / 1_000);
    this.#finalises = new PendingFinalises({
      clock,
      timeoutMs: () => recognition.deadlineMs ?? FINALISE_TIMEOUT_MS,
      onTimeout: () => this.#stall('did not end the turn'),
      onFinalised: () => recognition.onEvent({ type: 'finalised' }),
      isOver: () => this.#isOver,
    });
    this.#progress = new VoiceProgress({
      clock,
      sampleRateHz,
      onStall: () => this.#stall('accepts speech and returns nothing'),
    });
    this.#connection = this.#connect();
  }

  write(samples: Int16Array): void {
    if (this.#isOver) return;
    this.#progress.wrote(samples);
    const converted = this.#converter.convert(samples, this.#recognition.sampleRateHz);
    if (converted.length === 0) return;
    this.#hasUnsettledAudio = true;
    this.#endIfOld();
    if (this.#ending === null) this.#blocks.write(converted, this.#sendAudio);
    // A copy: the caller may reuse its array.
    else this.#hold(converted.slice());
  }

  finalise(): void {
    if (this.#isOver) return;
    if (!this.#hasUnsettledAudio) {
      this.#finalises.share();
      return;
    }
    this.#hasUnsettledAudio = false;
    this.#finalises.add();
    if (this.#ending === null) this.#settle();
    else this.#held.push('finalise');
  }

  close(): void {
    if (this.#isOver) return;
    this.#stop();
    this.#connection.close();
  }

  readonly #sendAudio = (samples: Int16Array): void => {
    if (!this.#connection.isInTurn) {
      if (this.#connection.isSpent) this.#replace();
      this.#turnAt = this.#sentSamples;
    }
    this.#sentSamples += samples.length;
    this.#connection.send(samples);
  };

  #settle(): void {
    this.#blocks.flush(this.#sendAudio);
    if (!this.#connection.isInTurn) {
      this.#finalises.answered();
      return;
    }
    this.#ending = 'finalise';
    this.#connection.endTurn();
  }

  #hold(samples: Int16Array): void {
    this.#held.push(samples);
    this.#heldSamples += samples.length;
    if (this.#heldSamples * 1_000 > MAX_HELD_MS * this.#rateHz) this.#stall('did not end the turn');
  }

  /** Not in the middle of words, which would be cut. */
  #endIfOld(): void {
    if (this.#ending !== null || this.#interim !== '' || !this.#connection.isOld) return;
    this.#blocks.flush(this.#sendAudio);
    this.#ending = 'age';
    this.#connection.endTurn();
  }

  #onEvent(event: TurnEvent): void {
    switch (event.type) {
      case 'opened':
        this.#progress.opened();
        return;
      case 'reacted':
        this.#progress.answered();
        return;
      case 'interim':
        this.#progress.answered();
        this.#interim = event.text;
        this.#recognition.onEvent(event);
        return;
      case 'phrase':
        this.#progress.answered();
        this.#interim = '';
        this.#report(event);
        return;
      case 'turn-ended':
        this.#progress.answered();
        this.#turnEnded();
        return;
      case 'failed':
        this.#stop();
        this.#recognition.onEvent(event);
        return;
    }
  }

  #turnEnded(): void {
    // Words that the vendor has left without a phrase count as they are.
    const text = this.#interim;
    this.#interim = '';
    this.#report({ text, startMs: null, endMs: null, language: null });
    if (this.#isOver) return;
    const ended = this.#ending;
    this.#ending = null;
    // A turn that the vendor ended by itself has settled everything.
    if (ended === null) this.#hasUnsettledAudio = false;
    this.#replay();
    if (ended === 'finalise') this.#finalises.answered();
  }

  #replace(): void {
    this.#connection.close();
    this.#connection = this.#connect();
  }

  #connect(): TurnConnection {
    const opened: TurnConnection = this.#options.connect((event) => {
      if (!this.#isOver && this.#connection === opened) this.#onEvent(event);
    });
    return opened;
  }

  /** Does what was held back, as far as the next end of a turn. */
  #replay(): void {
    while (this.#ending === null) {
      const held = this.#held.shift();
      if (held === undefined) return;
      if (held === 'finalise') this.#settle();
      else {
        this.#heldSamples -= held.length;
        this.#blocks.write(held, this.#sendAudio);
      }
    }
  }

  #report({ text, startMs, endMs, language }: Phrase): void {
    if (text === '') return;
    const turnAtMs = (this.#turnAt * 1_000) / this.#rateHz;
    const at = (ms: number | null) => (ms === null ? null : Math.round(turnAtMs + ms));
    this.#recognition.onEvent({ type: 'final', text, startMs: at(startMs), endMs: at(endMs), language });
  }

  #stall(what: string): void {
    this.#connection.fail(new SpeechError('stalled', `${this.#options.vendor} ${what}`));
  }

  #stop(): void {
    this.#isOver = true;
    this.#progress.cancel();
    this.#finalises.cancel();
  }
}
