/**
 * Features of a voice's audio in steps of 20 ms of voice: loudness, hiss, and whether silence preceded it.
 * Silence itself is no step.
 */

/** A step of voice and its end. */
export interface VoiceStep {
  /** 3 × hiss (0 to 2) + loudness (0 to 2), or one of the following. */
  readonly heard: number;
  /** Ms from the start of the piece. */
  readonly endMs: number;
}

/** Voice per step, in ms. */
export const STEP_MS = 20;
/** After a stop consonant, or the gap between two words. */
export const AFTER_GAP = 9;
/** After a pause of the voice. */
export const AFTER_PAUSE = 10;
/** Voice whose features could not be measured, or say nothing about its words. */
export const UNCLASSIFIED = 11;
/**
 * So many equal steps in a row are no speech, whose sounds change several times in half a second: the voice
 * is a tone, a hum, or a recording of something else.
 */
const MONOTONOUS_STEPS = 25;

const FRAMES_PER_STEP = 2;
const FRAME_MS = STEP_MS / FRAMES_PER_STEP;
/**
 * A frame is voiced when its mean amplitude exceeds this share of the loudest frame's, and the noise floor
 * before the first sound.
 */
const VOICED_PART = 1 / 80;
const NOISE = 40;
const GAP_MS = 30;
/** Silence too long for a stop consonant. */
const PAUSE_MS = 120;
/** Audio below this rate cannot contain hiss. */
const LEAST_RATE_HZ = 8_000;
/** Zero crossings per second of a sound with some hiss, and with much. */
const HISS_HZ = [2_600, 4_200] as const;
/** Share of the loudest frame's amplitude for medium loudness, and for loud. */
const LOUDNESS = [0.12, 0.4] as const;

/** Analyses one piece as its audio arrives. */
export class VoiceListener {
  readonly steps: VoiceStep[] = [];
  #elapsedMs = 0;
  #loudest = 0;
  /** Silence since the last voiced frame, and the longest within the current step, in ms. */
  #quietMs = 0;
  #gapMs = 0;
  /** Voiced frames of the current step, and their sums. */
  #frames = 0;
  #amplitude = 0;
  #crossingsHz = 0;
  /** The last observation, and how many steps in a row had it. */
  #run = { heard: UNCLASSIFIED, steps: 0 };
  #hasBegunMonotonously = false;

  /**
   * True once the audio from its first step on was no speech. Those steps are unclassified from then on, also
   * if they were returned as something else before.
   */
  get hasBegunMonotonously(): boolean {
    return this.#hasBegunMonotonously;
  }

  /** True while the audio so far ends in a pause. */
  get isPausing(): boolean {
    return this.steps.length > 0 && this.#quietMs >= PAUSE_MS;
  }

  /** Analyses the next audio; returns the steps it completes. */
  listen(samples: Int16Array, rateHz: number): VoiceStep[] {
    const before = this.steps.length;
    const frame = Math.max(1, Math.round((rateHz * FRAME_MS) / 1_000));
    for (let start = 0; start < samples.length; start += frame)
      this.#frame(samples, start, Math.min(samples.length, start + frame), rateHz);
    return this.steps.slice(before);
  }

  #frame(samples: Int16Array, start: number, end: number, rateHz: number): void {
    let [sum, crossings] = [0, 0];
    let wasNegative = (samples[start] as number) < 0;
    for (let index = start; index < end; index++) {
      const sample = samples[index] as number;
      sum += Math.abs(sample);
      const isNegative = sample < 0;
      if (isNegative !== wasNegative) crossings += 1;
      wasNegative = isNegative;
    }
    const frameMs = ((end - start) * 1_000) / rateHz;
    const amplitude = sum / (end - start);
    this.#elapsedMs += frameMs;
    this.#loudest = Math.max(this.#loudest, amplitude);
    if (amplitude < Math.max(NOISE, this.#loudest * VOICED_PART)) {
      this.#quietMs += frameMs;
      return;
    }
    // Silence before the first sound is not a pause.
    if (this.steps.length > 0 || this.#frames > 0) this.#gapMs = Math.max(this.#gapMs, this.#quietMs);
    this.#quietMs = 0;
    this.#frames += 1;
    this.#amplitude += amplitude;
    this.#crossingsHz += (crossings * rateHz) / (end - start);
    if (this.#frames === FRAMES_PER_STEP) this.#endStep(rateHz);
  }

  #endStep(rateHz: number): void {
    const heard = this.#heard(rateHz);
    this.#run = { heard, steps: heard === this.#run.heard ? this.#run.steps + 1 : 1 };
    const isSpeech = this.#run.steps < MONOTONOUS_STEPS;
    this.steps.push({ heard: isSpeech ? heard : UNCLASSIFIED, endMs: this.#elapsedMs });
    if (!isSpeech && this.steps.length === MONOTONOUS_STEPS && heard !== UNCLASSIFIED) this.#forget();
    [this.#frames, this.#amplitude, this.#crossingsHz, this.#gapMs] = [0, 0, 0, 0];
  }

  /** Takes back the observations so far. */
  #forget(): void {
    this.#hasBegunMonotonously = true;
    this.steps.forEach(({ endMs }, index) => {
      this.steps[index] = { heard: UNCLASSIFIED, endMs };
    });
  }

  #heard(rateHz: number): number {
    if (this.#gapMs >= PAUSE_MS) return AFTER_PAUSE;
    if (this.#gapMs >= GAP_MS) return AFTER_GAP;
    if (rateHz < LEAST_RATE_HZ) return UNCLASSIFIED;
    return (
      3 * levelIn(HISS_HZ, this.#crossingsHz / FRAMES_PER_STEP) +
      levelIn(LOUDNESS, this.#amplitude / FRAMES_PER_STEP / this.#loudest)
    );
  }
}

function levelIn([some, much]: readonly [number, number], value: number): number {
  return value < some ? 0 : value < much ? 1 : 2;
}
