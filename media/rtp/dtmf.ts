/**
 * Telephone events (RFC 4733 §2): a receiver that reports each key press once, however its packets are lost
 * or repeated, and a sender that produces one payload per 20 ms slot. Both are pure; durations are in units
 * of the negotiated clock.
 */
import { type Press, pressesOf, TELEPHONE_KEYS } from '#config/telephone-keys.ts';
import { FRAME_MS } from '../dsp/frame.ts';
import { unwrap } from './packet.ts';

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

interface ReceivedPress {
  readonly digit: string;
  readonly timestamp: number;
  readonly startedMs: number;
  duration: number;
  lastMs: number;
}

/** Receives the telephone events of one stream. */
export class DigitReceiver {
  readonly #clockHz: number;
  #running: ReceivedPress | null = null;
  #doneTimestamp: number | null = null;

  constructor(clockHz = DIGIT_CLOCK_HZ) {
    this.#clockHz = clockHz;
  }

  /**
   * Takes one event payload; returns the presses that it ends (an earlier one whose end was lost, this one,
   * or both).
   */
  push(timestamp: number, payload: Uint8Array, nowMs: number): ReceivedDigit[] {
    const digit = payload.length >= 4 ? TELEPHONE_KEYS[payload[0] as number] : undefined;
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

  #finish(press: ReceivedPress): ReceivedDigit {
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

/** Keys that were queued together. */
interface QueuedPresses {
  readonly presses: Press[];
  /** Named when all of them have been sent; null: nobody waits for them. */
  readonly pressId: string | null;
}

const PRESS_SLOTS = PRESS_MS / FRAME_MS;
/** With its repeated end and the pause after it. */
const KEY_SLOTS = PRESS_SLOTS + END_REPEATS - 1 + PAUSE_MS / FRAME_MS;

/** Sends queued keys and pauses, one packet per slot. */
export class DigitSender {
  readonly #onSent: (pressId: string) => void;
  #queue: QueuedPresses[] = [];
  /** Slots since the current press or pause began. */
  #slot = 0;

  /** `onSent` gets the id of presses after the pause that follows their last key. */
  constructor(onSent: (pressId: string) => void = () => undefined) {
    this.#onSent = onSent;
  }

  /** Appends keys and pauses; ignores other characters. */
  enqueue(digits: string, pressId: string | null = null): void {
    const presses = pressesOf(digits);
    if (presses.length > 0) this.#queue.push({ presses, pressId });
    else if (pressId !== null) this.#onSent(pressId);
  }

  /** Sends none of the queued keys; nothing is said about them. */
  drop(): void {
    this.#queue = [];
    this.#slot = 0;
  }

  /** True while a press or a pause replaces audio. */
  get isSending(): boolean {
    return this.#queue.length > 0;
  }

  /**
   * The packet of this slot, or null in a pause; only while `isSending`. `clockHz` is the clock rate of
   * durations.
   */
  next(clockHz = DIGIT_CLOCK_HZ): DigitPacket | null {
    const press = this.#queue[0]?.presses[0];
    if (press === undefined) return null;
    const slot = this.#slot++;
    if (this.#slot >= ('key' in press ? KEY_SLOTS : press.pauseMs / FRAME_MS)) this.#takeNext();
    if ('pauseMs' in press || slot >= PRESS_SLOTS + END_REPEATS - 1) return null;
    const duration = (Math.min(slot + 1, PRESS_SLOTS) * FRAME_MS * clockHz) / 1000;
    const end = slot >= PRESS_SLOTS - 1 ? 0x80 : 0;
    const event = TELEPHONE_KEYS.indexOf(press.key);
    const payload = Uint8Array.of(event, end | VOLUME_DBM0, duration >> 8, duration & 0xff);
    return {
      isFirst: slot === 0,
      key: press.key,
      heldMs: slot < PRESS_SLOTS ? slot * FRAME_MS : null,
      payload,
    };
  }

  #takeNext(): void {
    this.#slot = 0;
    const [first] = this.#queue;
    first?.presses.shift();
    if (first === undefined || first.presses.length > 0) return;
    this.#queue.shift();
    if (first.pressId !== null) this.#onSent(first.pressId);
  }
}
