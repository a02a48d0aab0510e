/**
 * Shares a thread among accounts: work is done in pieces of at most a second of a stream's audio, and the
 * account that has had the least goes next. While an account must share, the thread rests after each of its
 * pieces once it has produced more than people can listen to: one account that keeps two cores busy would
 * slow every event loop of the machine.
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
/**
 * Least time per second of audio for such an account: three times what all listeners of a thread hear. An
 * engine that makes more costs little here, but every byte also passes through the API's event loop.
 */
const SECOND_MS = 1_000 / 60;
const MAX_REST_MS = 500;

/** The account that work belongs to. */
export interface WorkOwner {
  readonly account: string;
  /** Other accounts were active recently. */
  readonly mustShare: boolean;
}

/** The thread that is shared. */
export interface SharedThread {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Lets the thread receive its messages, so that work they bring is scheduled too. */
  nextRound(): Promise<unknown>;
  /** Time its loop has been active so far, ms. */
  workedMs(): number;
}

interface QueuedWork extends WorkOwner {
  readonly seconds: number;
  begin(): void;
}

/** The scheduler of one thread. */
export class FairScheduler {
  readonly #queue = new FairQueue<QueuedWork>(HEAD_START_SECONDS);
  readonly #thread: SharedThread;
  /** What each account that must share has left before the thread rests. */
  readonly #unrested: TokenBuckets;
  #isRunning = false;
  /** Set while resting from an account: work of another one ends the rest. */
  #resting: { readonly account: string; end(): void } | null = null;

  constructor(thread: SharedThread) {
    this.#thread = thread;
    this.#unrested = new TokenBuckets(thread.clock, UNRESTED);
  }

  /** Runs work on this many seconds of audio when it is the account's turn. Throws what the work throws. */
  run<Made>(of: WorkOwner, seconds: number, work: () => Made): Promise<Made> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#queue.add(of.account, { ...of, seconds, begin: resolve }, seconds);
    if (!this.#isRunning) void this.#work();
    else if (this.#resting && this.#resting.account !== of.account) this.#resting.end();
    return promise.then(work);
  }

  async #work(): Promise<void> {
    const { nextRound, workedMs } = this.#thread;
    this.#isRunning = true;
    let countedMs = workedMs();
    for (;;) {
      await nextRound();
      const next = this.#queue.next();
      if (!next) break;
      next.begin();
      // Set between the end of the work and the start of the next.
      await nextRound();
      const totalMs = workedMs();
      // Work that is already waiting has no rest to end.
      if (next.mustShare && this.#isOverdue(next) && !this.#queue.hasOthers(next.account))
        await this.#rest(next.account, restMs(next.seconds, totalMs - countedMs));
      countedMs = totalMs;
    }
    this.#isRunning = false;
  }

  #isOverdue({ account, seconds }: QueuedWork): boolean {
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

function restMs(seconds: number, workedMs: number): number {
  return Math.min(Math.max(REST * workedMs, seconds * SECOND_MS - workedMs), MAX_REST_MS);
}
