/**
 * What a caller's line carries beside the voice: faint noise, a background, and the agent's own words coming
 * back.
 */
import { CALLER_RATE_HZ, type Scene } from './scene.ts';

/** More than the longest echo. */
const KEPT_SAMPLES = CALLER_RATE_HZ;

/** The sound of one call's line, at the caller's rate. */
export class LineSound {
  readonly #scene: Scene;
  readonly #echoGain: number;
  readonly #echoDelay: number;
  readonly #echo = new Int16Array(KEPT_SAMPLES);
  /** Where the next sample that is heard goes, and where the next one that comes back is taken. */
  #heardAt = -1;
  #echoAt = 0;
  #backgroundAt = 0;

  constructor(scene: Scene) {
    const { echo } = scene.conditions;
    this.#scene = scene;
    this.#echoGain = echo ? 10 ** (-echo.lossDb / 20) : 0;
    this.#echoDelay = Math.round(((echo?.delayMs ?? 0) * CALLER_RATE_HZ) / 1_000);
  }

  /** Something of what the agent says comes back. */
  get hasEcho(): boolean {
    return this.#echoGain !== 0;
  }

  /** It carries nothing but the voice and noise. */
  get isSteady(): boolean {
    return !this.hasEcho && this.#scene.conditions.background === null;
  }

  /** Loudest sample of the noise. */
  get noisePeak(): number {
    return this.#scene.noisePeak;
  }

  /** Takes what the agent says. */
  hear(samples: Int16Array): void {
    if (!this.hasEcho) return;
    // The two directions begin apart, and may drift.
    if (this.#heardAt < this.#echoAt) this.#heardAt = this.#echoAt + this.#echoDelay;
    for (const sample of samples) this.#echo[this.#heardAt++ % KEPT_SAMPLES] = sample;
  }

  /** Adds the line's sound to what is sent next. */
  addTo(frame: Int16Array): void {
    const { noisePeak, random, conditions } = this.#scene;
    const background = conditions.background?.samples;
    for (let index = 0; index < frame.length; index++) {
      const behind = background ? (background[this.#backgroundAt++ % background.length] ?? 0) : 0;
      const sum = (frame[index] ?? 0) + (random() * 2 - 1) * noisePeak + behind + this.#nextEcho();
      frame[index] = Math.round(Math.max(-32_768, Math.min(32_767, sum)));
    }
  }

  /** What has not been heard yet does not come back. */
  #nextEcho(): number {
    if (!this.hasEcho) return 0;
    const at = this.#echoAt++ % KEPT_SAMPLES;
    const sample = this.#echo[at] ?? 0;
    this.#echo[at] = 0;
    return sample * this.#echoGain;
  }
}
