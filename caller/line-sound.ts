/** Sounds that a caller's line adds to the voice: faint noise, a background, and an echo of the agent. */
import { CALLER_RATE_HZ, type Scene } from './scene.ts';

/** More than the longest echo. */
const KEPT_SAMPLES = CALLER_RATE_HZ;

/** The sound of one call's line, at the caller's rate. */
export class LineSound {
  readonly #scene: Scene;
  readonly #echoGain: number;
  readonly #echoDelay: number;
  readonly #echo = new Int16Array(KEPT_SAMPLES);
  /** Write position of received audio, and read position of its echo. */
  #heardAt = -1;
  #echoAt = 0;
  #backgroundAt = 0;

  constructor(scene: Scene) {
    const { echo } = scene.conditions;
    this.#scene = scene;
    this.#echoGain = echo ? 10 ** (-echo.lossDb / 20) : 0;
    this.#echoDelay = Math.round(((echo?.delayMs ?? 0) * CALLER_RATE_HZ) / 1_000);
  }

  /** The line has an echo. */
  get hasEcho(): boolean {
    return this.#echoGain !== 0;
  }

  /** The line adds nothing but noise. */
  get isSteady(): boolean {
    return !this.hasEcho && this.#scene.conditions.background === null;
  }

  /** Loudest sample of the noise. */
  get noisePeak(): number {
    return this.#scene.noisePeak;
  }

  /** Takes the agent's audio. */
  hear(samples: Int16Array): void {
    if (!this.hasEcho) return;
    // The two directions start at different times and may drift.
    if (this.#heardAt < this.#echoAt) this.#heardAt = this.#echoAt + this.#echoDelay;
    for (const sample of samples) this.#echo[this.#heardAt++ % KEPT_SAMPLES] = sample;
  }

  /** Adds the line's sound to the audio to send. */
  addTo(frame: Int16Array): void {
    const { noisePeak, random, conditions } = this.#scene;
    const background = conditions.background?.samples;
    for (let index = 0; index < frame.length; index++) {
      const behind = background ? (background[this.#backgroundAt++ % background.length] ?? 0) : 0;
      const sum = (frame[index] ?? 0) + (random() * 2 - 1) * noisePeak + behind + this.#nextEcho();
      frame[index] = Math.round(Math.max(-32_768, Math.min(32_767, sum)));
    }
  }

  /** Audio not yet received has no echo. */
  #nextEcho(): number {
    if (!this.hasEcho) return 0;
    const at = this.#echoAt++ % KEPT_SAMPLES;
    const sample = this.#echo[at] ?? 0;
    this.#echo[at] = 0;
    return sample * this.#echoGain;
  }
}
