/**
 * Keeps silence away from the speech detector: follows the noise floor of one stream and closes after half a
 * second at it. It costs no speech: it reopens with the windows just before, and never closes while speech
 * runs. Pure.
 */
import { SILENCE_DB } from '../dsp/pcm.ts';
import { WINDOW_MS } from './speech-tracker.ts';

/** Levels this close to the floor are noise. */
const MARGIN_DB = 3;
/** Time at the floor after which the gate closes. */
const CLOSE_AFTER_MS = 500;
/**
 * The floor follows a falling level at once and a rising one at this rate, so that speech does not lift it
 * much.
 */
const FLOOR_RISE_DB_PER_WINDOW = (3 * WINDOW_MS) / 1000;
/**
 * No floor is assumed below this: in digital silence the faintest line noise would otherwise count as loud.
 */
const LOWEST_FLOOR_DB = -70;
/** The fallback detector's verdict: this far above the floor, and at least this loud, is speech. */
const VOICE_ABOVE_FLOOR_DB = 12;
const QUIETEST_VOICE_DB = -45;
/**
 * Audible is what stands this far above the floor and is not fainter than the voice's loudest window by more
 * than the second.
 */
const AUDIBLE_ABOVE_FLOOR_DB = 6;
const AUDIBLE_BELOW_LOUDEST_DB = 36;

/** Level gate and noise floor of one stream. */
export class LevelGate {
  #floorDb: number | null = null;
  #quietMs = 0;
  #isOpen = true;

  /**
   * Takes the level of the next window; `isHeld` keeps the gate open (speech is running). Returns whether the
   * window passes.
   */
  pass(levelDb: number, isHeld: boolean): boolean {
    const level = Math.max(levelDb, LOWEST_FLOOR_DB);
    this.#floorDb =
      this.#floorDb === null ? level : Math.min(level, this.#floorDb + FLOOR_RISE_DB_PER_WINDOW);
    this.#quietMs = level <= this.#floorDb + MARGIN_DB ? this.#quietMs + WINDOW_MS : 0;
    this.#isOpen = isHeld || this.#quietMs === 0 || (this.#isOpen && this.#quietMs < CLOSE_AFTER_MS);
    return this.#isOpen;
  }

  /** Level from which on a voice is audible whose loudest window had `loudestDb`. */
  audibleDb(loudestDb: number): number {
    return Math.max(
      (this.#floorDb ?? SILENCE_DB) + AUDIBLE_ABOVE_FLOOR_DB,
      loudestDb - AUDIBLE_BELOW_LOUDEST_DB,
    );
  }

  /** Probability of speech by level alone, for when the detector does not answer. */
  probabilityOf(levelDb: number): number {
    const floorDb = this.#floorDb ?? SILENCE_DB;
    return levelDb >= QUIETEST_VOICE_DB && levelDb >= floorDb + VOICE_ABOVE_FLOOR_DB ? 1 : 0;
  }
}
