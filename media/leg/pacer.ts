/**
 * One timer wheel for every leg of a media thread: four slots of 5 ms, each leg ticked once per 20 ms at its
 * place, which spreads the sends and needs one timer only. What has arrived by a tick is read before it:
 * packets and pieces of replies that the tick does not find wait for the next slot. After a late wake-up the
 * missed ticks run one by one, so no leg misses a slot. Ticks without legs do not wake the thread unless
 * requested: a thread without legs sleeps.
 */
import type { Clock, Timer } from '#base/clock.ts';
import { FRAME_MS } from '../dsp/frame.ts';
import type { PacerThread } from './pacer-thread.ts';

/** Length of one tick, ms. */
const TICK_MS = 5;
const WHEEL_SLOTS = FRAME_MS / TICK_MS;

/** A leg on the wheel. */
export interface PacedLeg {
  /** Called once per 20 ms slot, in order; `dueMs` is the due time of the slot, however late the call is. */
  tick(slot: number, dueMs: number): void;
  /** Called with an error thrown by its `tick`: the error of one leg must not stop the wheel. */
  fail(error: unknown): void;
}

interface Place {
  readonly leg: PacedLeg;
  readonly firstTick: number;
}

/** Drives legs from one timer. */
export class Pacer {
  readonly #clock: Clock;
  readonly #onTurn: (nowMs: number) => void;
  readonly #thread: PacerThread;
  readonly #wheel: Place[][] = Array.from({ length: WHEEL_SLOTS }, () => []);
  readonly #startMs: number;
  #tick = 0;
  #timer: Timer | null = null;
  #timerTick = 0;
  #isTurning = false;
  #isClosed = false;
  #mostLateMs = 0;

  /** `onTurn` is called once after each wake-up that ran ticks, however many. */
  constructor(clock: Clock, onTurn: (nowMs: number) => void, thread: PacerThread) {
    this.#clock = clock;
    this.#onTurn = onTurn;
    this.#thread = thread;
    this.#startMs = clock.now();
  }

  /**
   * Adds a leg at the place of the wheel with the fewest legs; returns the time of its slot 0, which is at
   * most 20 ms in the future.
   */
  add(leg: PacedLeg): number {
    const next = this.#futureTick();
    if (this.#nextTaken() === null) this.#tick = next;
    let firstTick = next;
    for (let tick = next; tick < next + WHEEL_SLOTS; tick++) {
      if (this.#at(tick).length < this.#at(firstTick).length) firstTick = tick;
    }
    this.#at(firstTick).push({ leg, firstTick });
    this.#wakeAt(firstTick);
    return this.#startMs + firstTick * TICK_MS;
  }

  /** Makes the wheel turn at its next tick even if no leg has a place there. */
  wake(): void {
    const isSetForNext = this.#timer !== null && this.#timerTick <= this.#tick;
    if (!this.#isTurning && !isSetForNext) this.#wakeAt(this.#futureTick());
  }

  /** How late a tick with a leg was at most since the last call, ms. */
  takeLateness(): number {
    const mostLateMs = this.#mostLateMs;
    this.#mostLateMs = 0;
    return mostLateMs;
  }

  /** Removes a leg from the wheel; safe within its own tick. */
  remove(leg: PacedLeg): void {
    for (const [index, places] of this.#wheel.entries())
      this.#wheel[index] = places.filter((place) => place.leg !== leg);
  }

  /** Stops the timer. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #at(tick: number): Place[] {
    return this.#wheel[tick % WHEEL_SLOTS] as Place[];
  }

  /** The first tick that is not due yet. */
  #futureTick(): number {
    return Math.max(this.#tick, Math.floor((this.#clock.now() - this.#startMs) / TICK_MS) + 1);
  }

  /** The next tick with a leg. */
  #nextTaken(): number | null {
    for (let tick = this.#tick; tick < this.#tick + WHEEL_SLOTS; tick++)
      if (this.#at(tick).length > 0) return tick;
    return null;
  }

  #wakeAt(tick: number): void {
    if (this.#isClosed || (this.#timer && this.#timerTick <= tick)) return;
    this.#timer?.cancel();
    this.#timerTick = tick;
    const waitMs = Math.floor(this.#startMs + tick * TICK_MS - this.#clock.now());
    this.#timer = this.#clock.after(Math.max(1, waitMs), this.#onTimer);
  }

  /**
   * Node's timers know whole milliseconds only. They wake the thread up to one too early, and the rest is
   * waited here: packets that are late by another fraction each time are jitter to the caller's phone.
   */
  #onTimer = (): void => {
    const restMs = this.#startMs + this.#timerTick * TICK_MS - this.#clock.now();
    if (restMs > 0) this.#thread.hold(Math.min(restMs, 1));
    this.#timer = this.#thread.afterReading(this.#turn);
  };

  #turn = (): void => {
    this.#timer = null;
    const timerDueMs = this.#startMs + this.#timerTick * TICK_MS;
    // The thread may have been held a few microseconds too short.
    const nowMs = Math.max(timerDueMs, this.#clock.now());
    this.#mostLateMs = Math.max(this.#mostLateMs, nowMs - timerDueMs);
    this.#isTurning = true;
    for (let dueMs = this.#dueMs(); dueMs <= nowMs; dueMs = this.#dueMs()) {
      const tick = this.#tick++;
      for (const { leg, firstTick } of this.#at(tick)) {
        if (tick < firstTick) continue;
        try {
          leg.tick((tick - firstTick) / WHEEL_SLOTS, dueMs);
        } catch (error) {
          leg.fail(error);
        }
      }
    }
    this.#onTurn(nowMs);
    this.#isTurning = false;
    const next = this.#nextTaken();
    if (next !== null) this.#wakeAt(next);
  };

  #dueMs(): number {
    return this.#startMs + this.#tick * TICK_MS;
  }
}
