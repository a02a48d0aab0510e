/**
 * Speech that a vendor was sent and has not reacted to: tells a vendor that has stalled from a caller who
 * says nothing.
 */
import type { Clock, Timer } from '#base/clock.ts';
import { levelDb } from '../../../dsp/pcm.ts';

/** Longest wait for any reaction after speech was sent. */
const PROGRESS_TIMEOUT_MS = 6_000;
/** Minimum speech that must be answered, ms: a final may arrive before the last part of a word was sent. */
const MIN_VOICE_MS = 300;
/** Audio at or above this level may be speech. */
const MIN_VOICE_DB = -45;

/** The properties of a stream. */
export interface VoiceProgressOptions {
  readonly clock: Clock;
  /** Hz. */
  readonly sampleRateHz: number;
  /** Speech was sent, and nothing came back in time. */
  readonly onStall: () => void;
}

/** The progress of one stream. */
export class VoiceProgress {
  readonly #options: VoiceProgressOptions;
  #unansweredMs = 0;
  #isOpen = false;
  #timer: Timer | null = null;

  constructor(options: VoiceProgressOptions) {
    this.#options = options;
  }

  /** True if the vendor has not reacted to speech. */
  get isOwed(): boolean {
    return this.#unansweredMs >= MIN_VOICE_MS;
  }

  /** The connection is open: from now on the vendor can answer. */
  opened(): void {
    this.#isOpen = true;
    this.#await();
  }

  /** These samples were sent, or will be once the connection is open. */
  wrote(samples: Int16Array): void {
    if (levelDb(samples) >= MIN_VOICE_DB)
      this.#unansweredMs += (samples.length * 1_000) / this.#options.sampleRateHz;
    if (this.#isOpen) this.#await();
  }

  /** The vendor has reacted. */
  answered(): void {
    this.cancel();
    this.#unansweredMs = 0;
  }

  /** Stops waiting. */
  cancel(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #await(): void {
    if (this.isOwed) this.#timer ??= this.#options.clock.after(PROGRESS_TIMEOUT_MS, this.#options.onStall);
  }
}
