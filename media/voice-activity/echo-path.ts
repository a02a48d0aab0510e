/**
 * Learns how a peer echoes what is played to it: correlates 10 ms levels of played and heard audio over 0 to
 * 600 ms, which yields the delay and loss of the echo, or that there is none. Pure; allocates nothing per
 * frame.
 */
import { levelDb } from '../dsp/pcm.ts';
import { HISTORY, LAGS, LevelCorrelation, SlotLevels } from './level-correlation.ts';

const SLOT_MS = 10;
const MASK = HISTORY - 1;
/** Levels are counted from here, dBFS: a fainter echo is not heard. */
const FLOOR_DB = -60;
/** Played audio of this level can be heard as echo. */
const LOUD_DB = -40;
const DECIDE_EVERY_SLOTS = 20;
/** More often at first, because each moment of an echo is taken for the caller. */
const FIRST_DECIDE_EVERY_SLOTS = 5;
/**
 * Loud audio that must be played before an echo, or its absence, is certain: two people who begin at once
 * look like one for a while.
 */
const CERTAIN_FROM_SLOTS = 150;
/** Correlation of an echo; levels of unrelated speech stay below the second value. */
const ECHO_CORRELATION = 0.7;
const NO_ECHO_CORRELATION = 0.5;
/**
 * The greeting must not be cut off by its echo: a clear echo of constant loss is assumed at once,
 * provisionally.
 */
const EARLY_CORRELATION = 0.9;
const EARLY_LOSS_DB = 10;
const EARLY_STEADY_SHARE = 0.7;
const STEADY_DB = 2;
/**
 * Audio may arrive this far ahead of its time. Audio of a burst beyond it is not learned from, since the time
 * it was heard is unknown.
 */
const AHEAD_SLOTS = 4;
/** A learned path is dropped after this many decisions against it: double talk causes a few. */
const DOUBTS = 10;
/** Audio this far above the expected echo is speech. */
const MARGIN_DB = 9;
/**
 * The echo of one moment spreads over adjacent slots, and the detector reports speech for a while after it.
 */
const SMEAR = 2;
const TAIL = 20;
/** Weight of new measurements of the loss. */
const LOSS_WEIGHT = 0.3;
const LOSS_BINS = 64;
/** Fewest slots for a measurement: at the edges of a word, levels of adjacent slots mix. */
const LOSS_FROM_SLOTS = 20;

/** The echo path: measured, absent, or not known yet. */
export type Echo = { readonly delayMs: number; readonly lossDb: number } | 'none' | 'unknown';

/** The echo path of one leg. */
export class EchoPath {
  #echo: Echo = 'unknown';
  #isOnTrial = false;
  #doubts = 0;
  readonly #played = new SlotLevels();
  readonly #correlation = new LevelCorrelation(this.#played);
  /** Levels above the floor, in dB by slot. */
  readonly #heard = new Float64Array(HISTORY);
  #heardSlot = Number.NEGATIVE_INFINITY;
  #lastLoudSlot = Number.NEGATIVE_INFINITY;
  /** Histogram of the difference between played and heard level in whole dB, for its median. */
  readonly #losses = new Uint16Array(LOSS_BINS);
  #measured = 0;
  /** Loud slots fully heard so far, and slots since the last decision. */
  #loudSlots = 0;
  #undecided = 0;
  /** The result so far. */
  get echo(): Echo {
    return this.#echo;
  }

  /** True while an echo is possible and nothing is known of it yet. */
  isUnsure(atMs: number): boolean {
    return this.#echo === 'unknown' && atMs / SLOT_MS - this.#lastLoudSlot < LAGS;
  }

  /** Takes audio played from `atMs` on. */
  play(samples: Int16Array, rateHz: number, atMs: number): void {
    const block = (rateHz * SLOT_MS) / 1_000;
    let slot = Math.round(atMs / SLOT_MS);
    for (let from = 0; from + block <= samples.length; from += block, slot++) {
      const level = levelDb(samples, from, from + block);
      this.#played.set(slot, Math.max(0, level - FLOOR_DB));
      if (level >= LOUD_DB) this.#lastLoudSlot = slot;
    }
  }

  /** Takes audio heard from `atMs` on. */
  hear(samples: Int16Array, rateHz: number, atMs: number): void {
    const block = (rateHz * SLOT_MS) / 1_000;
    let slot = Math.round(atMs / SLOT_MS);
    if (this.#heardSlot + 1 > slot + AHEAD_SLOTS) return;
    slot = Math.max(this.#heardSlot + 1, slot);
    for (let from = 0; from + block <= samples.length; from += block, slot++) {
      this.#heardSlot = slot;
      // Nothing is learned before audio that could come back was played.
      if (slot - this.#lastLoudSlot < LAGS)
        this.#correlate(slot, Math.max(0, levelDb(samples, from, from + block) - FLOOR_DB));
    }
  }

  /** True if audio of this level, heard for `ms` from `atMs`, is no louder than the expected echo. */
  covers(level: number, atMs: number, ms: number): boolean {
    if (this.#echo === 'unknown' || this.#echo === 'none') return false;
    const { delayMs, lossDb } = this.#echo;
    const first = Math.floor((atMs - delayMs) / SLOT_MS) - TAIL;
    const last = Math.ceil((atMs + ms - delayMs) / SLOT_MS) + SMEAR;
    let loudest = 0;
    for (let slot = first; slot <= last; slot++) loudest = Math.max(loudest, this.#played.at(slot));
    return loudest > lossDb && level < FLOOR_DB + loudest - lossDb + MARGIN_DB;
  }

  #correlate(slot: number, heard: number): void {
    this.#heard[slot & MASK] = heard;
    this.#correlation.add(slot, heard);
    if (slot - this.#lastLoudSlot <= AHEAD_SLOTS) this.#loudSlots++;
    const isFirst = this.#loudSlots < CERTAIN_FROM_SLOTS;
    if (++this.#undecided < (isFirst ? FIRST_DECIDE_EVERY_SLOTS : DECIDE_EVERY_SLOTS)) return;
    this.#undecided = 0;
    this.#decide(slot);
  }

  #decide(slot: number): void {
    const { lag, correlation } = this.#correlation.best();
    this.#measureLosses(slot, lag);
    if (this.#loudSlots < CERTAIN_FROM_SLOTS) this.#try(lag, correlation);
    else if (correlation >= ECHO_CORRELATION) this.#believe(lag);
    else if (this.#isOnTrial) this.#echo = 'unknown';
    else if (correlation < NO_ECHO_CORRELATION) this.#doubt();
    this.#isOnTrial &&= this.#loudSlots < CERTAIN_FROM_SLOTS;
  }

  /** Assumes a clear echo until it stops looking like one. */
  #try(lag: number, correlation: number): void {
    const lossDb = this.#medianLoss();
    if (lossDb < 0) return;
    const isClear =
      correlation >= EARLY_CORRELATION &&
      lossDb >= EARLY_LOSS_DB &&
      this.#steadyShare(lossDb) >= EARLY_STEADY_SHARE;
    this.#isOnTrial = isClear || (this.#isOnTrial && correlation >= ECHO_CORRELATION);
    if (isClear) this.#echo = { delayMs: lag * SLOT_MS, lossDb };
    else if (!this.#isOnTrial) this.#echo = 'unknown';
  }

  #believe(lag: number): void {
    this.#doubts = 0;
    const measuredDb = this.#medianLoss();
    if (measuredDb < 0) return;
    const before = typeof this.#echo === 'object' ? this.#echo.lossDb : measuredDb;
    this.#echo = { delayMs: lag * SLOT_MS, lossDb: before + LOSS_WEIGHT * (measuredDb - before) };
  }

  #measureLosses(slot: number, lag: number): void {
    this.#losses.fill(0);
    this.#measured = 0;
    for (let at = slot - HISTORY + LAGS; at <= slot; at++) {
      const played = this.#played.at(at - lag);
      if (played < LOUD_DB - FLOOR_DB) continue;
      const loss = Math.round(played - (this.#heard[at & MASK] as number));
      const bin = Math.max(0, Math.min(LOSS_BINS - 1, loss));
      this.#losses[bin] = (this.#losses[bin] as number) + 1;
      this.#measured++;
    }
  }

  /**
   * Loss of the echo, dB: a caller who speaks over it less than half of the time changes nothing. Below 0:
   * too little data.
   */
  #medianLoss(): number {
    if (this.#measured < LOSS_FROM_SLOTS) return -1;
    let [bin, below] = [0, this.#losses[0] as number];
    while (below * 2 < this.#measured) below += this.#losses[++bin] as number;
    return bin;
  }

  /** Share of the echo with that loss. */
  #steadyShare(lossDb: number): number {
    let count = 0;
    for (let bin = Math.max(0, lossDb - STEADY_DB); bin <= lossDb + STEADY_DB && bin < LOSS_BINS; bin++)
      count += this.#losses[bin] as number;
    return count / this.#measured;
  }

  #doubt(): void {
    if (this.#echo === 'unknown' || ++this.#doubts >= DOUBTS) this.#echo = 'none';
  }
}
