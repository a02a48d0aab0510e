/**
 * One timer wheel for every leg of a media thread: four slots of 5 ms, each leg ticked once per 20 ms at its place on the wheel,
 * so that sends are spread and one timer serves them all. A late wake-up is caught up tick by tick: no slot of any leg is left out.
 */
import type { Clock, Timer } from '#config/clock.ts';
import { FRAME_MS } from './leg.ts';

/** Length of one tick, ms. */
const TICK_MS = 5;
const WHEEL_SLOTS = FRAME_MS / TICK_MS;

/** What the wheel turns. */
export interface Paced {
  /** Called once per 20 ms slot in order; `dueMs` is the slot's own time, however late the call is. */
  tick(slot: number, dueMs: number): void;
  /** Told what its `tick` threw: one thing's fault must not stop the wheel for the others. */
  fail(error: unknown): void;
}

interface Place {
  readonly paced: Paced;
  readonly firstTick: number;
}

/** Drives `Paced` things from one timer. */
export class Pacer {
  readonly #clock: Clock;
  readonly #onTurn: (nowMs: number) => void;
  readonly #wheel: Place[][] = Array.from({ length: WHEEL_SLOTS }, () => []);
  readonly #startMs: number;
  #tick = 0;
  #timer: Timer | null = null;
  #isClosed = false;

  /** `onTurn` is called after each wake-up that turned the wheel, once however many ticks it caught up. */
  constructor(clock: Clock, onTurn: (nowMs: number) => void) {
    this.#clock = clock;
    this.#onTurn = onTurn;
    this.#startMs = clock.now();
    this.#turn();
  }

  /** Puts a thing on the emptiest place of the wheel; returns the time of its slot 0, which is in the future by at most 20 ms. */
  add(paced: Paced): number {
    let firstTick = this.#tick;
    for (let tick = this.#tick; tick < this.#tick + WHEEL_SLOTS; tick++) {
      if (this.#at(tick).length < this.#at(firstTick).length) firstTick = tick;
    }
    this.#at(firstTick).push({ paced, firstTick });
    return this.#startMs + firstTick * TICK_MS;
  }

  /** Takes a thing off the wheel; safe from within its own tick. */
  remove(paced: Paced): void {
    for (const [index, places] of this.#wheel.entries()) this.#wheel[index] = places.filter((place) => place.paced !== paced);
  }

  /** Stops the timer. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #at(tick: number): Place[] {
    return this.#wheel[tick % WHEEL_SLOTS] as Place[];
  }

  #turn = (): void => {
    const nowMs = this.#clock.now();
    for (let dueMs = this.#dueMs(); dueMs <= nowMs; dueMs = this.#dueMs()) {
      const tick = this.#tick++;
      for (const { paced, firstTick } of this.#at(tick)) {
        try {
          paced.tick((tick - firstTick) / WHEEL_SLOTS, dueMs);
        } catch (error) {
          paced.fail(error);
        }
      }
    }
    this.#onTurn(nowMs);
    if (!this.#isClosed) this.#timer = this.#clock.after(Math.max(1, this.#dueMs() - this.#clock.now()), this.#turn);
  };

  #dueMs(): number {
    return this.#startMs + this.#tick * TICK_MS;
  }
}
