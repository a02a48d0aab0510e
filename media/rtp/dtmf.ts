/**
 * Telephone events (RFC 4733 §2): a receiver that reports each key press once, however its packets are lost
 * or repeated, and a sender that produces one payload per 20 ms slot. Both are pure; durations are in units
 * of the negotiated clock.
 */
import { FRAME_MS } from '../dsp/frame.ts';
import { unwrap } from './packet.ts';

const DIGITS = '0123456789*#ABCD';
/** Default clock rate of telephone events, Hz. */
export const DIGIT_CLOCK_HZ = 8000;
/** A press whose end packets were all lost is over after this long without another packet. */
const LOST_END_MS = 120;
/**
 * Length of a sent press and of the pause after it; RFC 4733 §2.5.1.2 leaves both to the sender, and gateways
 * expect 100/60.
 */
const PRESS_MS = 100;
const PAUSE_MS = 60;
/** The final packet is sent three times (RFC 4733 §2.5.1.4). */
const END_REPEATS = 3;
const VOLUME_DBM0 = 10;

/** A received key press. */
export interface ReceivedDigit {
  readonly digit: string;
  readonly durationMs: number;
  readonly atMs: number;
}

interface Press {
  readonly digit: string;
  readonly timestamp: number;
  readonly startedMs: number;
  duration: number;
  lastMs: number;
}

/** Receives the telephone events of one stream. */
export class DigitReceiver {
  readonly #clockHz: number;
  #running: Press | null = null;
  #doneTimestamp: number | null = null;

  constructor(clockHz = DIGIT_CLOCK_HZ) {
    this.#clockHz = clockHz;
  }

  /**
   * Takes one event payload; returns the presses that it ends (an earlier one whose end was lost, this one,
   * or both).
   */
  push(timestamp: number, payload: Uint8Array, nowMs: number): ReceivedDigit[] {
    const digit = payload.length >= 4 ? DIGITS[payload[0] as number] : undefined;
    if (digit === undefined || this.#isOver(timestamp)) return [];
    const over: ReceivedDigit[] = [];
    if (this.#running && this.#running.timestamp !== timestamp) over.push(this.#finish(this.#running));
    const press = this.#running ?? { digit, timestamp, startedMs: nowMs, duration: 0, lastMs: nowMs };
    press.duration = Math.max(press.duration, ((payload[2] as number) << 8) | (payload[3] as number));
    press.lastMs = nowMs;
    this.#running = press;
    if ((payload[1] as number) & 0x80) over.push(this.#finish(press));
    return over;
  }

  /** Returns the press whose packets stopped without an end, if any. */
  expire(nowMs: number): ReceivedDigit | null {
    return this.#running && nowMs - this.#running.lastMs >= LOST_END_MS ? this.#finish(this.#running) : null;
  }

  /** Packets of a reported press keep arriving: repeats of its end, and late ones. */
  #isOver(timestamp: number): boolean {
    return this.#doneTimestamp !== null && unwrap(this.#doneTimestamp, timestamp, 32) <= this.#doneTimestamp;
  }

  #finish(press: Press): ReceivedDigit {
    this.#running = null;
    this.#doneTimestamp = press.timestamp;
    return { digit: press.digit, durationMs: (press.duration * 1000) / this.#clockHz, atMs: press.startedMs };
  }
}

/** What to send in a slot instead of audio. */
export interface DigitPacket {
  /** First packet of a press: it has the marker bit, and later packets of the press repeat its timestamp. */
  readonly isFirst: boolean;
  /**
   * For peers that accept only tones: the key and the time since it went down, ms; null if it is not held.
   */
  readonly key: string;
  readonly heldMs: number | null;
  readonly payload: Uint8Array;
}

/** Sends queued digits, one packet per slot. */
export class DigitSender {
  #queue: number[] = [];
  /** Slots since the current press or its pause began. */
  #slot = 0;

  /** Appends digits; ignores other characters. */
  enqueue(digits: string): void {
    for (const character of digits.toUpperCase()) {
      const event = DIGITS.indexOf(character);
      if (event >= 0) this.#queue.push(event);
    }
  }

  /** True while a press or the pause after it replaces audio. */
  get isSending(): boolean {
    return this.#queue.length > 0;
  }

  /**
   * The packet of this slot, or null in the pause between two presses; only while `isSending`. `clockHz` is
   * the clock rate of durations.
   */
  next(clockHz = DIGIT_CLOCK_HZ): DigitPacket | null {
    const event = this.#queue[0];
    if (event === undefined) return null;
    const pressSlots = PRESS_MS / FRAME_MS;
    const slot = this.#slot++;
    if (this.#slot >= pressSlots + END_REPEATS - 1 + PAUSE_MS / FRAME_MS) {
      this.#queue.shift();
      this.#slot = 0;
    }
    if (slot >= pressSlots + END_REPEATS - 1) return null;
    const duration = (Math.min(slot + 1, pressSlots) * FRAME_MS * clockHz) / 1000;
    const end = slot >= pressSlots - 1 ? 0x80 : 0;
    const payload = Uint8Array.of(event, end | VOLUME_DBM0, duration >> 8, duration & 0xff);
    return {
      isFirst: slot === 0,
      key: DIGITS[event] ?? '',
      heldMs: slot < pressSlots ? slot * FRAME_MS : null,
      payload,
    };
  }
}
