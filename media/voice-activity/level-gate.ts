/**
 * Keeps silence away from the speech detector: follows the noise floor of one stream and closes after half a
 * second at it. It loses no speech: it passes the windows just before it reopens, and never closes during
 * speech. Pure.
 */
import { SILENCE_DB } from '../dsp/pcm.ts';
import { WINDOW_MS } from './speech-tracker.ts';

/** Levels this close to the floor are noise. */
const MARGIN_DB = 3;
/** Time at the floor after which the gate closes. */
const CLOSE_AFTER_MS = 500;
/**
 * The floor follows a falling level at once and a rising one at this rate, so that speech hardly raises it.
 */
const FLOOR_RISE_DB_PER_WINDOW = (3 * WINDOW_MS) / 1000;
/** Lowest assumed floor: in digital silence the faintest line noise would otherwise count as loud. */
const LOWEST_FLOOR_DB = -70;
/** The fallback detector: this far above the floor, and at least this loud, is speech. */
const VOICE_ABOVE_FLOOR_DB = 12;
const MIN_VOICE_DB = -45;
/**
 * Audible: at least the first value above the floor, and at most the second below the voice's loudest window.
 */
const AUDIBLE_ABOVE_FLOOR_DB = 6;
const AUDIBLE_BELOW_LOUDEST_DB = 36;

/** Level gate and noise floor of one stream. */
export class LevelGate {
  #floorDb: number | null = null;
  #quietMs = 0;
  #isOpen = true;

  /**
   * Takes the level of the next window; `isHeld` keeps the gate open during speech. Returns whether the
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

  /** Level at or above which a voice is audible whose loudest window had `loudestDb`. */
  audibleDb(loudestDb: number): number {
    return Math.max(
      (this.#floorDb ?? SILENCE_DB) + AUDIBLE_ABOVE_FLOOR_DB,
      loudestDb - AUDIBLE_BELOW_LOUDEST_DB,
    );
  }

  /** Probability of speech by level alone, for when the detector does not answer. */
  probabilityOf(levelDb: number): number {
    const floorDb = this.#floorDb ?? SILENCE_DB;
    return levelDb >= MIN_VOICE_DB && levelDb >= floorDb + VOICE_ABOVE_FLOOR_DB ? 1 : 0;
  }
}
