/** Accounts take turns on a thread: what is done of a stream in one go is a second of its audio at most, and whoever has had least goes next. */
import { FairQueue } from '../fair-queue.ts';

/** Audio of one account that may go before that of others, seconds: most that people ask for in one request is shorter. */
const HEAD_START_SECONDS = 15;

/** The turns of one thread. */
export class Turns {
  readonly #queue = new FairQueue<() => void>(HEAD_START_SECONDS);
  readonly #nextRound: () => Promise<unknown>;
  #isGoing = false;

  /** `nextRound` lets the thread take what has come for it, so that it has its turn too. */
  constructor(nextRound: () => Promise<unknown>) {
    this.#nextRound = nextRound;
  }

  /** Does work on so many seconds of audio when it is the account's turn. Throws what it throws. */
  take<Made>(account: string, seconds: number, work: () => Made): Promise<Made> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#queue.add(account, resolve, seconds);
    if (!this.#isGoing) void this.#go();
    return promise.then(work);
  }

  async #go(): Promise<void> {
    this.#isGoing = true;
    for (;;) {
      await this.#nextRound();
      const begin = this.#queue.next();
      if (!begin) break;
      begin();
    }
    this.#isGoing = false;
  }
}
