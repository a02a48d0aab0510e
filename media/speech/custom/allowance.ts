/** How much a server may send: an amount at once, and more with time. */
import type { Clock } from '#base/clock.ts';

/** An amount that is used up, and grows again up to its limit. */
export class Allowance {
  readonly #clock: Clock;
  readonly #atOnce: number;
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  constructor(clock: Clock, { atOnce, perSecond }: { readonly atOnce: number; readonly perSecond: number }) {
    this.#clock = clock;
    this.#atOnce = atOnce;
    this.#perSecond = perSecond;
    this.#left = atOnce;
    this.#atMs = clock.now();
  }

  /** Uses up an amount; false, without using it up, if it is too much. */
  take(amount: number): boolean {
    const nowMs = this.#clock.now();
    const earned = ((nowMs - this.#atMs) * this.#perSecond) / 1_000;
    this.#left = Math.min(this.#atOnce, this.#left + earned);
    this.#atMs = nowMs;
    if (amount > this.#left) return false;
    this.#left -= amount;
    return true;
  }
}
