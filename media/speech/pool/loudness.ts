/** Normalises the loudness of speech, whatever the engine's voice, then applies the requested gain. */
import { levelDb } from '../../dsp/pcm.ts';

/** Target level of voiced speech, dBFS. */
const TARGET_DB = -20;
/** A larger correction means faulty audio, not a quiet voice. */
const MAX_GAIN_DB = 12;
/** Quieter frames are pauses. */
const VOICED_DB = -45;
const FRAME_MS = 20;

/** The levels of one stream. The gain changes slowly: it follows the mean of all speech so far. */
export class Loudness {
  readonly #volumeDb: number;
  readonly #normalize: boolean;
  #voicedFrames = 0;
  #voicedEnergy = 0;
  #gain: number | null = null;

  constructor(volumeDb: number, normalize: boolean) {
    this.#volumeDb = volumeDb;
    this.#normalize = normalize;
  }

  /** Measures upcoming audio. */
  hear(samples: Int16Array, rateHz: number): void {
    if (!this.#normalize) return;
    const frame = Math.round((rateHz * FRAME_MS) / 1_000);
    for (let at = 0; at + frame <= samples.length; at += frame) {
      const level = levelDb(samples.subarray(at, at + frame));
      if (level < VOICED_DB) continue;
      this.#voicedFrames++;
      this.#voicedEnergy += 10 ** (level / 10);
    }
  }

  /** Applies the gain; a change of gain is spread over the block. */
  level(samples: Int16Array): Int16Array {
    const to = 10 ** (this.#gainDb() / 20);
    const from = this.#gain ?? to;
    this.#gain = to;
    if (from === 1 && to === 1) return samples;
    const step = (to - from) / samples.length;
    const levelled = new Int16Array(samples.length);
    // Not `Int16Array.from`: it asks an iterator for each sample, which takes ten times as long.
    for (let index = 0; index < samples.length; index++) {
      const wanted = Math.round((samples[index] ?? 0) * (from + step * index));
      levelled[index] = Math.max(-32_768, Math.min(32_767, wanted));
    }
    return levelled;
  }

  #gainDb(): number {
    if (this.#voicedFrames === 0) return this.#volumeDb;
    const mean = 10 * Math.log10(this.#voicedEnergy / this.#voicedFrames);
    return this.#volumeDb + Math.max(-MAX_GAIN_DB, Math.min(MAX_GAIN_DB, TARGET_DB - mean));
  }
}
