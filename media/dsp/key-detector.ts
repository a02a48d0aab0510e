/**
 * Detects keys in the caller's audio as tones (ITU-T Q.23, Q.24), for phones that send no telephone events.
 * Each short block is measured at the eight frequencies (Goertzel). A key is two of them at similar levels
 * with almost no other energy, which distinguishes it from a voice.
 */
import { COLUMNS_HZ, KEYPAD, ROWS_HZ } from './tones.ts';

/** Length of a block, ms: two fit into the shortest valid press (40 ms) at any alignment. */
const BLOCK_MS = 12.75;
/** Consecutive blocks that make a press, and that end it. */
const PRESS_BLOCKS = 2;
const PAUSE_BLOCKS = 2;
/** A press is over if no audio arrives for this long. */
const LOST_END_MS = 120;
/** Minimum amplitude of each tone: about −28 dBm0. */
const MIN_AMPLITUDE = 900;
/**
 * Power ratios. The high tone may be 8 dB above the low one or 6 dB below it (Q.24 allows the network more
 * than the phone).
 */
const MAX_TWIST = 10 ** 0.8;
const MAX_REVERSE_TWIST = 10 ** 0.6;
/** The strongest tone of a group exceeds the others of its group by this factor. */
const MIN_LEAD = 10 ** 0.8;
/** Minimum share of the block's energy in the two tones. */
const MIN_SHARE = 0.82;

/** A detected press. */
interface HeardKey {
  readonly digit: string;
  readonly durationMs: number;
  readonly atMs: number;
}

interface Press {
  readonly digit: string;
  readonly atMs: number;
  blocks: number;
  missed: number;
  lastMs: number;
}

/** Detects the keys of one stream. */
export class KeyDetector {
  readonly #rateHz: number;
  readonly #block: Float64Array;
  readonly #rows: readonly number[];
  readonly #columns: readonly number[];
  readonly #powers = new Float64Array(ROWS_HZ.length);
  #filled = 0;
  #press: Press | null = null;

  constructor(rateHz: number) {
    this.#rateHz = rateHz;
    this.#block = new Float64Array(Math.round((BLOCK_MS * rateHz) / 1000));
    const turnOf = (hz: number) => 2 * Math.cos((2 * Math.PI * hz) / rateHz);
    this.#rows = ROWS_HZ.map(turnOf);
    this.#columns = COLUMNS_HZ.map(turnOf);
  }

  /** Takes audio whose first sample was sent at `atMs`; returns the presses that have ended. */
  push(samples: Int16Array, atMs: number): HeardKey[] {
    const over: HeardKey[] = [];
    for (let n = 0; n < samples.length; n++) {
      this.#block[this.#filled++] = samples[n] as number;
      if (this.#filled < this.#block.length) continue;
      this.#filled = 0;
      const key = this.#take(this.#keyOfBlock(), atMs + ((n + 1) * 1000) / this.#rateHz);
      if (key) over.push(key);
    }
    return over;
  }

  /** Returns the press that was followed by no more audio, if any. */
  expire(nowMs: number): HeardKey | null {
    return this.#press && nowMs - this.#press.lastMs >= LOST_END_MS ? this.#finish(this.#press) : null;
  }

  #take(digit: string | null, endMs: number): HeardKey | null {
    const press = this.#press;
    if (press && digit === press.digit) {
      press.blocks += 1 + press.missed;
      press.missed = 0;
      press.lastMs = endMs;
      return null;
    }
    if (press && press.blocks >= PRESS_BLOCKS && digit === null && ++press.missed < PAUSE_BLOCKS) return null;
    this.#press =
      digit === null ? null : { digit, atMs: endMs - BLOCK_MS, blocks: 1, missed: 0, lastMs: endMs };
    return press ? heard(press) : null;
  }

  #finish(press: Press): HeardKey | null {
    this.#press = null;
    return heard(press);
  }

  #keyOfBlock(): string | null {
    const row = this.#strongest(this.#rows);
    const column = row && this.#strongest(this.#columns);
    if (!row || !column) return null;
    if (column.power > row.power * MAX_TWIST || row.power > column.power * MAX_REVERSE_TWIST) return null;
    let energy = 0;
    for (const sample of this.#block) energy += sample * sample;
    // A sine of amplitude A over N samples has the power (A·N/2)² and the energy A²·N/2.
    const tones = (2 * (row.power + column.power)) / this.#block.length;
    return tones >= MIN_SHARE * energy ? (KEYPAD[row.index]?.[column.index] ?? null) : null;
  }

  /** The tone that clearly exceeds the others of its group, if one does. */
  #strongest(turns: readonly number[]): { readonly index: number; readonly power: number } | null {
    const powers = this.#powers;
    for (const [index, turn] of turns.entries()) powers[index] = powerOf(this.#block, turn);
    const power = Math.max(...powers);
    if (power < ((MIN_AMPLITUDE * this.#block.length) / 2) ** 2) return null;
    const index = powers.indexOf(power);
    return powers.every((other, each) => each === index || other * MIN_LEAD <= power)
      ? { index, power }
      : null;
  }
}

function heard(press: Press): HeardKey | null {
  return press.blocks < PRESS_BLOCKS
    ? null
    : { digit: press.digit, durationMs: press.blocks * BLOCK_MS, atMs: press.atMs };
}

function powerOf(block: Float64Array, turn: number): number {
  let [last, before] = [0, 0];
  for (const sample of block) {
    const next = sample + turn * last - before;
    before = last;
    last = next;
  }
  return last * last + before * before - turn * last * before;
}
