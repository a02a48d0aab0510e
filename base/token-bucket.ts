/** A token bucket: a capacity that refills at a rate per second. */
import type { Clock } from './clock.ts';

/** Capacity and rate. */
export interface Allowance {
  readonly perSecond: number;
  readonly burst: number;
}

/** One bucket, full at first. */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #allowance: Allowance;
  #tokens: number;
  #atMs: number;

  constructor(clock: Pick<Clock, 'now'>, allowance: Allowance) {
    this.#clock = clock;
    this.#allowance = allowance;
    this.#tokens = allowance.burst;
    this.#atMs = clock.now();
  }

  /** Whether this amount is available now. */
  has(amount: number): boolean {
    const nowMs = this.#clock.now();
    const { burst, perSecond } = this.#allowance;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) * perSecond) / 1_000);
    this.#atMs = nowMs;
    return this.#tokens >= amount;
  }

  /** Milliseconds until this amount is available; 0 if it is available now. */
  waitMs(amount: number): number {
    return this.has(amount) ? 0 : Math.ceil(((amount - this.#tokens) * 1_000) / this.#allowance.perSecond);
  }

  /** Takes an amount if it is available; false, without taking it, otherwise. */
  tryTake(amount: number): boolean {
    if (!this.has(amount)) return false;
    this.take(amount);
    return true;
  }

  /** Takes an amount; may go below zero. */
  take(amount: number): void {
    this.#tokens -= amount;
  }
}
