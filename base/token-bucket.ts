/** An allowance that refills with time: so much at once, and so much a second. */
import type { Clock } from './clock.ts';

/** How much it allows. */
export interface Allowance {
  readonly perSecond: number;
  readonly burst: number;
}

/** One allowance, full at first. */
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

  /** Whether so much is there now. */
  has(amount: number): boolean {
    const nowMs = this.#clock.now();
    const { burst, perSecond } = this.#allowance;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) * perSecond) / 1_000);
    this.#atMs = nowMs;
    return this.#tokens >= amount;
  }

  /** Milliseconds until so much is there; 0 when it is there now. */
  waitMs(amount: number): number {
    return this.has(amount) ? 0 : Math.ceil(((amount - this.#tokens) * 1_000) / this.#allowance.perSecond);
  }

  /** Takes an amount; what was not there is a debt. */
  take(amount: number): void {
    this.#tokens -= amount;
  }
}
