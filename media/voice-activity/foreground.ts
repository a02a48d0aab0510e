/**
 * How loud a caller is, so that a voice far behind them (a television, the next table) is not taken for
 * theirs: follows the loud windows of what is heard as voice, upwards within a second, downwards over
 * minutes. Pure.
 */

/** A voice this much weaker than the caller's is somebody else's. */
const BEHIND_DB = 15;
/**
 * What follows the caller's voice this closely is theirs still: the consonants and ends of their own words
 * are that much weaker than its vowels.
 */
const HELD_MS = 200;
/**
 * Louder voice becomes the caller's at this rate: neither a cough nor one shouted word makes the rest of what
 * they say faint.
 */
const RISE_DB_PER_WINDOW = 1;
/**
 * A caller who has moved away from the telephone has a voice again after a minute or two; what they say is
 * understood meanwhile, by its words.
 */
const FALL_DB_PER_MS = 0.15 / 1_000;

/** The level of one caller's voice. */
export class Foreground {
  /** Null before the first voice. */
  #levelDb: number | null = null;
  #atMs = Number.NEGATIVE_INFINITY;
  /** When the caller's own voice was last heard. */
  #ownMs = Number.NEGATIVE_INFINITY;

  /**
   * Takes the level of a window heard as voice, of `atMs`; returns whether it is a voice behind the caller's.
   */
  isBehind(levelDb: number, atMs: number): boolean {
    const before =
      this.#levelDb === null ? levelDb : this.#levelDb - Math.max(0, atMs - this.#atMs) * FALL_DB_PER_MS;
    this.#atMs = atMs;
    this.#levelDb = Math.max(before, Math.min(levelDb, before + RISE_DB_PER_WINDOW));
    if (levelDb >= this.#levelDb - BEHIND_DB) this.#ownMs = atMs;
    return atMs - this.#ownMs > HELD_MS;
  }
}
