/**
 * Accounts take turns on a thread: what is done of a stream in one go is a second of its audio at most, and
 * whoever has had least goes next. While an account must share, the thread rests after its turns once it has
 * had more than people listen to: two cores kept busy by one account would hold up every loop of the machine.
 */
import type { Clock } from '#base/clock.ts';
import { TokenBuckets } from '#base/token-buckets.ts';
import { FairQueue } from '../fair-queue.ts';

/**
 * Audio of one account that may go before that of others, seconds: most that people ask for in one request is
 * shorter.
 */
const HEAD_START_SECONDS = 15;
/**
 * Audio of an account that must share before the thread rests, and how much of it comes back in a second,
 * seconds.
 */
const UNRESTED = { burst: HEAD_START_SECONDS, perSecond: 3 };
/**
 * A thread rests so long for each millisecond it worked for an account that must share: that account has a
 * third of it.
 */
const REST = 2;
const MOST_REST_MS = 500;

/** Whose work it is. */
export interface TurnOf {
  readonly account: string;
  /** Others asked for speech, too, a moment ago. */
  readonly mustShare: boolean;
}

/** The thread the turns are taken on. */
export interface TurnThread {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Lets the thread take what has come for it, so that it has its turn too. */
  nextRound(): Promise<unknown>;
  /** Milliseconds its loop has worked so far. */
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
  /** What accounts that must share have left before the thread rests from them. */
  readonly #unrested: TokenBuckets;
  #isGoing = false;
  /** Of the account the thread rests from: another one's work ends the rest. */
  #resting: { readonly account: string; end(): void } | null = null;

  constructor(thread: TurnThread) {
    this.#thread = thread;
    this.#unrested = new TokenBuckets(thread.clock, UNRESTED);
  }

  /** Does work on so many seconds of audio when it is the account's turn. Throws what it throws. */
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
      // The work is done, and what comes before the next turn has begun.
      await nextRound();
      const totalMs = workedMs();
      // Who waits already had no rest to end.
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
