/**
 * Accounts take turns on a thread: one turn handles at most a second of a stream's audio, and the account
 * that has had the least goes next. While an account must share, the thread rests after its turns once it has
 * produced more than people can listen to: one account that keeps two cores busy would slow every event loop
 * of the machine.
 */
import type { Clock } from '#base/clock.ts';
import { TokenBuckets } from '#base/token-buckets.ts';
import { FairQueue } from '../fair-queue.ts';

/** Audio of one account that may precede that of others, seconds: longer than most requests. */
const HEAD_START_SECONDS = 15;
/**
 * Audio of an account that must share before the thread rests, and how much of it is restored per second,
 * seconds.
 */
const UNRESTED = { burst: HEAD_START_SECONDS, perSecond: 3 };
/**
 * Rest per millisecond of work for an account that must share: such an account gets a third of the thread.
 */
const REST = 2;
const MOST_REST_MS = 500;

/** Owner of the work. */
export interface TurnOf {
  readonly account: string;
  /** Other accounts requested speech recently. */
  readonly mustShare: boolean;
}

/** The thread on which turns are taken. */
export interface TurnThread {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Lets the thread receive its messages, so that they get a turn too. */
  nextRound(): Promise<unknown>;
  /** Time its loop has been active so far, ms. */
  workedMs(): number;
}

interface Waiting extends TurnOf {
  readonly seconds: number;
  begin(): void;
}

/** The turns of one thread. */
export class Turns {
  readonly #queue = new FairQueue<Waiting>(HEAD_START_SECONDS);
  readonly #thread: TurnThread;
  /** What each account that must share has left before the thread rests. */
  readonly #unrested: TokenBuckets;
  #isGoing = false;
  /** Set while resting from an account: work of another one ends the rest. */
  #resting: { readonly account: string; end(): void } | null = null;

  constructor(thread: TurnThread) {
    this.#thread = thread;
    this.#unrested = new TokenBuckets(thread.clock, UNRESTED);
  }

  /** Runs work on this many seconds of audio when it is the account's turn. Throws what the work throws. */
  take<Made>(of: TurnOf, seconds: number, work: () => Made): Promise<Made> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#queue.add(of.account, { ...of, seconds, begin: resolve }, seconds);
    if (!this.#isGoing) void this.#go();
    else if (this.#resting && this.#resting.account !== of.account) this.#resting.end();
    return promise.then(work);
  }

  async #go(): Promise<void> {
    const { nextRound, workedMs } = this.#thread;
    this.#isGoing = true;
    let countedMs = workedMs();
    for (;;) {
      await nextRound();
      const turn = this.#queue.next();
      if (!turn) break;
      turn.begin();
      // Set between the end of the work and the start of the next turn.
      await nextRound();
      const totalMs = workedMs();
      // Work that is already waiting has no rest to end.
      if (turn.mustShare && this.#isOverdue(turn) && !this.#queue.hasOthers(turn.account))
        await this.#rest(turn.account, Math.min(REST * (totalMs - countedMs), MOST_REST_MS));
      countedMs = totalMs;
    }
    this.#isGoing = false;
  }

  #isOverdue({ account, seconds }: Waiting): boolean {
    const left = this.#unrested.of(account);
    const isOverdue = !left.has(0);
    if (!isOverdue) left.take(seconds);
    return isOverdue;
  }

  async #rest(account: string, ms: number): Promise<void> {
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    const timer = this.#thread.clock.after(ms, end);
    this.#resting = { account, end };
    await isOver;
    timer.cancel();
    this.#resting = null;
  }
}
