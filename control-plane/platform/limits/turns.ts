/**
 * Accounts take turns: while several ask, only so many requests of each are worked on at once, and its others
 * wait for them, oldest first. Without this whoever asks most has most of the event loop and of the store.
 */
import type { Clock, Timer } from '#base/clock.ts';
import { fault } from '#config/errors.ts';

/** An account that asked so recently shares with others. */
const RECENT_MS = 10_000;
/**
 * A request that takes longer waits for somebody else, such as a tool's endpoint: it makes room meanwhile.
 */
const HOLD_MS = 250;
/**
 * Requests of one account that may wait, and the bytes of their bodies: each keeps what was read of its body,
 * which takes many times the memory.
 */
const MOST_WAITING = 200;
const MOST_WAITING_BYTES = 4 * 1_048_576;
const RETRY_SECONDS = 1;

/** A request's place. */
export interface Turn {
  /** Resolves when the request may be worked on; never once it was left. */
  readonly begun: Promise<void>;
  /** Gives the place up, `afterMs` from now. Idempotent: the first one counts. */
  leave(afterMs: number): void;
}

/** What a request asks for. */
export interface TurnOptions {
  /** Of the body that it keeps while it waits. */
  readonly bytes?: number;
  /** It is this process's own work, waits for nobody else, and has its place until it is over. */
  readonly isWork?: boolean;
}

interface Account {
  taken: number;
  readonly waiting: Set<() => void>;
  waitingBytes: number;
}

/** The places of one process. */
export class Turns {
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  readonly #limit: number;
  readonly #accounts = new Map<string, Account>();
  /** When each account asked last, the one that was silent for longest first. */
  readonly #asked = new Map<string, number>();

  /** `limit` is how many requests of an account are worked on at once while others ask, too. */
  constructor(clock: Pick<Clock, 'now' | 'after'>, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Whether another account has asked lately. */
  hasOthers(id: string): boolean {
    const oldest = this.#clock.now() - RECENT_MS;
    for (const [other, atMs] of this.#asked) {
      if (atMs >= oldest) break;
      this.#asked.delete(other);
    }
    return this.#asked.size > (this.#asked.has(id) ? 1 : 0);
  }

  /** Asks for an account's turn. Throws `too_many_at_once` when too many of its requests wait already. */
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
    this.#asked.delete(id);
    this.#asked.set(id, this.#clock.now());
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
