/**
 * Keys heard as tones in the caller's audio (ITU-T Q.23, Q.24), for phones that send no telephone events.
 * Short blocks are measured at the eight frequencies (Goertzel). A key is two of them, alike in level, with
 * next to nothing beside them: that is what tells it from a voice.
 */
import { COLUMNS_HZ, KEYPAD, ROWS_HZ } from './tones.ts';

/** Length of a block, ms: two fit into the shortest press that must be heard (40 ms), however they fall. */
const BLOCK_MS = 12.75;
/** Blocks in a row that make a press, and that end it. */
const PRESS_BLOCKS = 2;
const PAUSE_BLOCKS = 2;
/** A press counts as over when no audio has come for this long. */
const LOST_END_MS = 120;
/** Least amplitude of each tone: about −28 dBm0. */
const MIN_AMPLITUDE = 900;
/**
 * Ratios of power. The high tone may be 8 dB above the low one or 6 below (Q.24 leaves more to the network
 * than to the phone).
 */
const MAX_TWIST = 10 ** 0.8;
const MAX_REVERSE_TWIST = 10 ** 0.6;
/** The strongest tone of a group stands this far above the others of its group. */
const MIN_LEAD = 10 ** 0.8;
/** Share of the block's energy in the two tones. */
const MIN_SHARE = 0.82;

/** One press as heard. */
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

/** Listens to one stream. */
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

  /** Takes audio whose first sample was sent at `atMs`; returns the presses that are over by it. */
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

  /** The press after which no more audio came, if any. */
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
    // The power of a whole sine of amplitude A over N samples is (A·N/2)²; its energy is A²·N/2.
    const tones = (2 * (row.power + column.power)) / this.#block.length;
    return tones >= MIN_SHARE * energy ? (KEYPAD[row.index]?.[column.index] ?? null) : null;
  }

  /** The tone of a group that leads it clearly, if one does. */
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
