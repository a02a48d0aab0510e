/**
 * Tracks the caller's loudness, so that a distant voice (a television, the next table) is not taken for
 * theirs: follows the loud windows of detected voice, upwards within a second, downwards over minutes. Pure.
 */

/** A voice this much weaker than the caller's is another person's. */
const BEHIND_DB = 15;
/**
 * Voice this soon after the caller's is still theirs: consonants and word endings are that much weaker than
 * vowels.
 */
const HELD_MS = 200;
/**
 * Louder voice becomes the caller's level at this rate: a cough or a shouted word must not make the rest of
 * their speech count as faint.
 */
const RISE_DB_PER_WINDOW = 1;
/**
 * A caller who moved away from the telephone counts as near again after a minute or two; meanwhile words
 * count.
 */
const FALL_DB_PER_MS = 0.15 / 1_000;

/** Level of one caller's voice. */
export class Foreground {
  /** Null before the first voice. */
  #levelDb: number | null = null;
  #atMs = Number.NEGATIVE_INFINITY;
  /** When the caller's own voice was last heard. */
  #ownMs = Number.NEGATIVE_INFINITY;

  /** Takes the level of a voiced window at `atMs`; returns whether the voice is in the background. */
  isBehind(levelDb: number, atMs: number): boolean {
    const before =
      this.#levelDb === null ? levelDb : this.#levelDb - Math.max(0, atMs - this.#atMs) * FALL_DB_PER_MS;
    this.#atMs = atMs;
    this.#levelDb = Math.max(before, Math.min(levelDb, before + RISE_DB_PER_WINDOW));
    if (levelDb >= this.#levelDb - BEHIND_DB) this.#ownMs = atMs;
    return atMs - this.#ownMs > HELD_MS;
  }
}
