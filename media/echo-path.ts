/**
 * Learns how a far end gives back what is played to it (design §5): 10 ms levels of what was played and of what is heard are correlated over 0 to 600 ms,
 * which tells the echo's delay and loss, or that there is none. Pure; nothing is allocated per frame.
 */
import { levelDb } from './pcm.ts';

const SLOT_MS = 10;
/** Delays looked at: 0 to 600 ms. */
const LAGS = 61;
/** Levels kept, in slots; a power of two. */
const HISTORY = 256;
const MASK = HISTORY - 1;
/** Levels are counted from here, dBFS: what is fainter disturbs nobody. */
const FLOOR_DB = -60;
/** Played sound of this level can be heard as echo. */
const LOUD_DB = -40;
/** The past fades with a time constant of two seconds. */
const KEPT_PER_SLOT = 0.995;
const DECIDE_EVERY_SLOTS = 20;
/** Loud sound that must have been played before an echo is believed in, and before its absence is. */
const ECHO_FROM_SLOTS = 80;
const NO_ECHO_FROM_SLOTS = 150;
/** Correlation of an echo; levels of unrelated speech stay below the second. */
const ECHO_CORRELATION = 0.7;
const NO_ECHO_CORRELATION = 0.5;
/** Audio may be heard this far ahead of its time: arrivals wander. What a burst brings beyond it is not learned from, as nobody knows when it was heard. */
const AHEAD_SLOTS = 4;
/** Levels that vary by less than this (dB²) are the line's own noise. */
const STEADY_VARIANCE = 4;
/** A path once learned is given up after so many decisions against it: while both speak there are some. */
const DOUBTS = 10;
/** What stands this far above the echo to be expected is somebody. */
const MARGIN_DB = 9;
/** The echo of one moment is smeared over its neighbours, slots. */
const SMEAR = 2;
/** New measurements of the loss count for this much. */
const LOSS_WEIGHT = 0.3;

/** What is known of the way from our sound back to our ear. */
export type Echo = { readonly delayMs: number; readonly lossDb: number } | 'none' | 'unknown';

/** The echo path of one leg. */
export class EchoPath {
  #echo: Echo = 'unknown';
  #doubts = 0;
  /** Levels above the floor, dB, by slot. */
  readonly #played = new Float64Array(HISTORY);
  readonly #heard = new Float64Array(HISTORY);
  #playedSlot = Number.NEGATIVE_INFINITY;
  #heardSlot = Number.NEGATIVE_INFINITY;
  #lastLoudSlot = Number.NEGATIVE_INFINITY;
  /** Loud slots heard out so far, and slots since the last decision. */
  #loudSlots = 0;
  #undecided = 0;
  // Faded sums over slots: their number, levels heard and played (by lag), squares and products.
  #count = 0;
  #sumHeard = 0;
  #sumHeard2 = 0;
  readonly #sumPlayed = new Float64Array(LAGS);
  readonly #sumPlayed2 = new Float64Array(LAGS);
  readonly #sumProduct = new Float64Array(LAGS);

  /** What has been learned. */
  get echo(): Echo {
    return this.#echo;
  }

  /** True while echo may come that nothing is known of yet. */
  isUnsure(atMs: number): boolean {
    return this.#echo === 'unknown' && atMs / SLOT_MS - this.#lastLoudSlot < LAGS;
  }

  /** Takes what is played from `atMs` on. */
  play(samples: Int16Array, rateHz: number, atMs: number): void {
    const block = (rateHz * SLOT_MS) / 1_000;
    let slot = Math.round(atMs / SLOT_MS);
    for (let from = 0; from + block <= samples.length; from += block, slot++) {
      const level = levelDb(samples, from, from + block);
      // Slots that were left out were silent.
      for (let missed = Math.max(this.#playedSlot + 1, slot - HISTORY); missed < slot; missed++) this.#played[missed & MASK] = 0;
      this.#played[slot & MASK] = Math.max(0, level - FLOOR_DB);
      this.#playedSlot = slot;
      if (level >= LOUD_DB) this.#lastLoudSlot = slot;
    }
  }

  /** Takes what was heard from `atMs` on. */
  hear(samples: Int16Array, rateHz: number, atMs: number): void {
    const block = (rateHz * SLOT_MS) / 1_000;
    let slot = Math.round(atMs / SLOT_MS);
    if (this.#heardSlot + 1 > slot + AHEAD_SLOTS) return;
    slot = Math.max(this.#heardSlot + 1, slot);
    for (let from = 0; from + block <= samples.length; from += block, slot++) {
      this.#heardSlot = slot;
      // Nothing is learned while nothing that could come back has been played.
      if (slot - this.#lastLoudSlot < LAGS) this.#correlate(slot, Math.max(0, levelDb(samples, from, from + block) - FLOOR_DB));
    }
  }

  /** True when sound of this level, heard from `atMs` on for `ms`, is no more than the echo that is to be expected then. */
  covers(level: number, atMs: number, ms: number): boolean {
    if (this.#echo === 'unknown' || this.#echo === 'none') return false;
    const { delayMs, lossDb } = this.#echo;
    const first = Math.floor((atMs - delayMs) / SLOT_MS) - SMEAR;
    const last = Math.ceil((atMs + ms - delayMs) / SLOT_MS) + SMEAR;
    let loudest = 0;
    for (let slot = first; slot <= last; slot++) loudest = Math.max(loudest, this.#playedAt(slot));
    return loudest > lossDb && level < FLOOR_DB + loudest - lossDb + MARGIN_DB;
  }

  #playedAt(slot: number): number {
    const isKept = slot <= this.#playedSlot && slot > this.#playedSlot - HISTORY;
    return isKept ? (this.#played[slot & MASK] as number) : 0;
  }

  #correlate(slot: number, heard: number): void {
    this.#heard[slot & MASK] = heard;
    this.#count = this.#count * KEPT_PER_SLOT + 1;
    this.#sumHeard = this.#sumHeard * KEPT_PER_SLOT + heard;
    this.#sumHeard2 = this.#sumHeard2 * KEPT_PER_SLOT + heard * heard;
    for (let lag = 0; lag < LAGS; lag++) {
      const played = this.#playedAt(slot - lag);
      this.#sumPlayed[lag] = (this.#sumPlayed[lag] as number) * KEPT_PER_SLOT + played;
      this.#sumPlayed2[lag] = (this.#sumPlayed2[lag] as number) * KEPT_PER_SLOT + played * played;
      this.#sumProduct[lag] = (this.#sumProduct[lag] as number) * KEPT_PER_SLOT + played * heard;
    }
    if (slot - this.#lastLoudSlot <= AHEAD_SLOTS) this.#loudSlots++;
    if (++this.#undecided < DECIDE_EVERY_SLOTS) return;
    this.#undecided = 0;
    this.#decide(slot);
  }

  #decide(slot: number): void {
    const heardVariance = this.#sumHeard2 / this.#count - (this.#sumHeard / this.#count) ** 2;
    let [bestLag, best] = [0, 0];
    for (let lag = 0; lag < LAGS && heardVariance >= STEADY_VARIANCE; lag++) {
      const correlation = this.#correlationAt(lag, heardVariance);
      if (correlation > best) [bestLag, best] = [lag, correlation];
    }
    if (best >= ECHO_CORRELATION && this.#loudSlots >= ECHO_FROM_SLOTS) this.#believe(slot, bestLag);
    else if (best < NO_ECHO_CORRELATION && this.#loudSlots >= NO_ECHO_FROM_SLOTS) this.#doubt();
  }

  #correlationAt(lag: number, heardVariance: number): number {
    const mean = (this.#sumPlayed[lag] as number) / this.#count;
    const variance = (this.#sumPlayed2[lag] as number) / this.#count - mean * mean;
    const covariance = (this.#sumProduct[lag] as number) / this.#count - (mean * this.#sumHeard) / this.#count;
    return variance < STEADY_VARIANCE ? 0 : covariance / Math.sqrt(variance * heardVariance);
  }

  #believe(slot: number, lag: number): void {
    this.#doubts = 0;
    let [loss, loud] = [0, 0];
    for (let at = slot - HISTORY + LAGS; at <= slot; at++) {
      const played = this.#playedAt(at - lag);
      if (played < LOUD_DB - FLOOR_DB) continue;
      loss += played - (this.#heard[at & MASK] as number);
      loud++;
    }
    if (loud === 0) return;
    const measured = Math.max(0, loss / loud);
    const before = typeof this.#echo === 'object' ? this.#echo.lossDb : measured;
    this.#echo = { delayMs: lag * SLOT_MS, lossDb: before + LOSS_WEIGHT * (measured - before) };
  }

  #doubt(): void {
    if (this.#echo === 'unknown' || ++this.#doubts >= DOUBTS) this.#echo = 'none';
  }
}
