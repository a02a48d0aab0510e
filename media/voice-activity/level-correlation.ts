/** Levels of played audio, and their correlation with levels heard up to 600 ms later; 10 ms slots. Pure. */

/** Delays considered: 0 to 600 ms. */
export const LAGS = 61;
/** Levels kept, in slots; a power of two. */
export const HISTORY = 256;
const MASK = HISTORY - 1;
/** The past fades with a time constant of two seconds. */
const KEPT_PER_SLOT = 0.995;
/** Levels that vary by less than this (dB²) are the line's own noise. */
const STEADY_VARIANCE = 4;

/** Levels above the floor, in dB by slot; the newest ones are kept. */
export class SlotLevels {
  readonly #levels = new Float64Array(HISTORY);
  #newest = Number.NEGATIVE_INFINITY;

  /** Sets a slot's level; slots skipped before it were silent. */
  set(slot: number, level: number): void {
    for (let missed = Math.max(this.#newest + 1, slot - HISTORY); missed < slot; missed++)
      this.#levels[missed & MASK] = 0;
    this.#levels[slot & MASK] = level;
    this.#newest = slot;
  }

  /** A slot's level; 0 outside of what is kept. */
  at(slot: number): number {
    const isKept = slot <= this.#newest && slot > this.#newest - HISTORY;
    return isKept ? (this.#levels[slot & MASK] as number) : 0;
  }
}

/** Correlation of heard with played levels for each delay, over faded sums. */
export class LevelCorrelation {
  readonly #played: SlotLevels;
  #count = 0;
  #sumHeard = 0;
  #sumHeard2 = 0;
  readonly #sumPlayed = new Float64Array(LAGS);
  readonly #sumPlayed2 = new Float64Array(LAGS);
  readonly #sumProduct = new Float64Array(LAGS);

  constructor(played: SlotLevels) {
    this.#played = played;
  }

  /** Adds the level heard in a slot. */
  add(slot: number, heard: number): void {
    this.#count = this.#count * KEPT_PER_SLOT + 1;
    this.#sumHeard = this.#sumHeard * KEPT_PER_SLOT + heard;
    this.#sumHeard2 = this.#sumHeard2 * KEPT_PER_SLOT + heard * heard;
    const levels = this.#played;
    const sumPlayed = this.#sumPlayed;
    const sumPlayed2 = this.#sumPlayed2;
    const sumProduct = this.#sumProduct;
    for (let lag = 0; lag < LAGS; lag++) {
      const played = levels.at(slot - lag);
      sumPlayed[lag] = (sumPlayed[lag] as number) * KEPT_PER_SLOT + played;
      sumPlayed2[lag] = (sumPlayed2[lag] as number) * KEPT_PER_SLOT + played * played;
      sumProduct[lag] = (sumProduct[lag] as number) * KEPT_PER_SLOT + played * heard;
    }
  }

  /** The delay with the highest correlation, in slots; 0 for a steady line. */
  best(): { readonly lag: number; readonly correlation: number } {
    const heardVariance = this.#sumHeard2 / this.#count - (this.#sumHeard / this.#count) ** 2;
    let best = { lag: 0, correlation: 0 };
    for (let lag = 0; lag < LAGS && heardVariance >= STEADY_VARIANCE; lag++) {
      const correlation = this.#at(lag, heardVariance);
      if (correlation > best.correlation) best = { lag, correlation };
    }
    return best;
  }

  #at(lag: number, heardVariance: number): number {
    const mean = (this.#sumPlayed[lag] as number) / this.#count;
    const variance = (this.#sumPlayed2[lag] as number) / this.#count - mean * mean;
    const covariance =
      (this.#sumProduct[lag] as number) / this.#count - (mean * this.#sumHeard) / this.#count;
    return variance < STEADY_VARIANCE ? 0 : covariance / Math.sqrt(variance * heardVariance);
  }
}
