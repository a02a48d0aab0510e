/**
 * Fair scheduling between accounts: while several are active, only a limited number of each one's requests
 * run at once; the others wait, oldest first. Without this the busiest account would take most of the event
 * loop and the store.
 */
import type { Clock, Timer } from '#base/clock.ts';
import { fault } from '#config/errors.ts';

/** An account is active for this long after its last request, or the last stored report of its calls. */
const RECENT_MS = 10_000;
/**
 * A longer request is usually waiting for something external, such as a tool's endpoint, so it gives up its
 * place.
 */
const HOLD_MS = 250;
/**
 * Maximum waiting requests per account, and the bytes of their bodies. Each holds its parsed body, which
 * takes many times the memory.
 */
const MOST_WAITING = 200;
const MOST_WAITING_BYTES = 4 * 1_048_576;
const RETRY_SECONDS = 1;

/** A request's place in the schedule. */
export interface Turn {
  /** Resolves when the request may run; never if it left before. */
  readonly begun: Promise<void>;
  /** Gives up the place after `afterMs`. Idempotent: only the first call counts. */
  leave(afterMs: number): void;
}

/** Options of a turn. */
export interface TurnOptions {
  /** Bytes of body held while waiting. */
  readonly bytes?: number;
  /**
   * The request is work of this process that waits for nothing external; it keeps its place until it ends.
   */
  readonly isWork?: boolean;
}

interface Account {
  taken: number;
  readonly waiting: Set<() => void>;
  waitingBytes: number;
}

/** Schedules the requests of one process. */
export class AccountTurns {
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  readonly #limit: number;
  readonly #accounts = new Map<string, Account>();
  /** When each account was last active, least recent first. */
  readonly #active = new Map<string, number>();

  /** `limit` is how many requests of one account may run at once while other accounts are active. */
  constructor(clock: Pick<Clock, 'now' | 'after'>, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Whether another account has been active recently. */
  hasOthers(id: string): boolean {
    this.#forgetInactive();
    return this.#active.size > (this.#active.has(id) ? 1 : 0);
  }

  /** The account is active now: it sends a request, or a call of it has reported. */
  note(id: string): void {
    this.#forgetInactive();
    this.#active.delete(id);
    this.#active.set(id, this.#clock.now());
  }

  /** Requests a turn for an account. Throws `too_many_at_once` if too many of its requests are waiting. */
  take(id: string, { bytes = 0, isWork = false }: TurnOptions = {}): Turn {
    const account = this.#accounts.get(id) ?? { taken: 0, waiting: new Set(), waitingBytes: 0 };
    if (account.waiting.size >= MOST_WAITING || account.waitingBytes + bytes > MOST_WAITING_BYTES)
      throw fault('too_many_at_once', {
        limit: account.waiting.size,
        what: 'requests waiting',
        remedy: 'wait for their answers',
        seconds: RETRY_SECONDS,
      });
    this.#accounts.set(id, account);
    this.note(id);
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    let state: 'waits' | 'runs' | 'left' = 'waits';
    let holding: Timer | null = null;
    const end = () => {
      account.taken--;
      this.#fill(id, account);
    };
    const begin = () => {
      state = 'runs';
      account.taken++;
      account.waitingBytes -= bytes;
      resolve();
      if (!isWork) holding = this.#clock.after(HOLD_MS, () => leave(0));
    };
    const leave = (afterMs: number) => {
      holding?.cancel();
      if (state === 'runs' && afterMs > 0) this.#clock.after(afterMs, end);
      else if (state === 'runs') end();
      else if (state === 'waits') {
        account.waiting.delete(begin);
        account.waitingBytes -= bytes;
      }
      state = 'left';
    };
    account.waiting.add(begin);
    account.waitingBytes += bytes;
    this.#fill(id, account);
    return { begun, leave };
  }

  #forgetInactive(): void {
    const oldest = this.#clock.now() - RECENT_MS;
    for (const [id, atMs] of this.#active) {
      if (atMs >= oldest) return;
      this.#active.delete(id);
    }
  }

  #fill(id: string, account: Account): void {
    const limit = this.hasOthers(id) ? this.#limit : Number.POSITIVE_INFINITY;
    for (const begin of account.waiting) {
      if (account.taken >= limit) return;
      account.waiting.delete(begin);
      begin();
    }
    if (account.taken === 0) this.#accounts.delete(id);
  }
}
