/** The timers of the turn machine, on the call's clock. */

import type { Clock, Timer } from '#base/clock.ts';
import type { Effect } from '../machine/turn-effects.ts';
import type { TimerName } from '../machine/turn-inputs.ts';

/** At most one running timer per name. */
export class TurnTimers {
  readonly #clock: Clock;
  readonly #onDue: (name: TimerName, atMs: number) => void;
  readonly #running = new Map<TimerName, Timer>();

  /** `onDue` gets the time the timer was asked for, in ms of the clock. */
  constructor(clock: Clock, onDue: (name: TimerName, atMs: number) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Starting a timer replaces a running one of the same name. */
  carryOut(effect: Extract<Effect, { do: 'startTimer' | 'stopTimer' }>): void {
    this.#stop(effect.name);
    if (effect.do === 'startTimer') this.#start(effect.name, effect.atMs);
  }

  stopAll(): void {
    for (const timer of this.#running.values()) timer.cancel();
    this.#running.clear();
  }

  #start(name: TimerName, atMs: number): void {
    const timer = this.#clock.after(Math.max(0, atMs - this.#clock.now()), () => {
      this.#running.delete(name);
      this.#onDue(name, atMs);
    });
    this.#running.set(name, timer);
  }

  #stop(name: TimerName): void {
    this.#running.get(name)?.cancel();
    this.#running.delete(name);
  }
}
