/**
 * Brings speech to one loudness whatever the engine's voice, and then as much louder or softer as was asked
 * for.
 */
import { levelDb } from '../../dsp/pcm.ts';

/** Where voiced speech is brought to, dBFS. */
const TARGET_DB = -20;
/** Beyond this something is wrong with the audio, not with its level. */
const MOST_GAIN_DB = 12;
/** Quieter frames are pauses. */
const VOICED_DB = -45;
const FRAME_MS = 20;

/** The levels of one stream. The gain moves slowly: it follows the mean of all speech so far. */
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

  /** Listens to what is coming. */
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

  /** The samples at their level; a change of gain is spread over the block. */
  level(samples: Int16Array): Int16Array {
    const to = 10 ** (this.#gainDb() / 20);
    const from = this.#gain ?? to;
    this.#gain = to;
    if (from === 1 && to === 1) return samples;
    const step = (to - from) / samples.length;
    return Int16Array.from(samples, (sample, index) =>
      Math.max(-32_768, Math.min(32_767, Math.round(sample * (from + step * index)))),
    );
  }

  #gainDb(): number {
    if (this.#voicedFrames === 0) return this.#volumeDb;
    const mean = 10 * Math.log10(this.#voicedEnergy / this.#voicedFrames);
    return this.#volumeDb + Math.max(-MOST_GAIN_DB, Math.min(MOST_GAIN_DB, TARGET_DB - mean));
  }
}
