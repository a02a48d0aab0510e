/**
 * The postings of one process, by user. While one batch of a user is being stored, further postings wait for
 * the next one: a database acknowledges a batch as fast as a single entry.
 */
import type { Clock } from '#base/clock.ts';
import type { LedgerEntry, Posting } from '../../platform/ledger.ts';
import { DatabaseWaitError, RequestWait, waitForDatabase } from '../../platform/store/request-wait.ts';

/** Entries of one batch, at most: more would hold up the other commands of an embedded database. */
const MOST_TOGETHER = 20;

/** A posting and where its outcome goes. */
export interface PendingPosting {
  readonly posting: Posting;
  resolve(entry: LedgerEntry): void;
  reject(error: unknown): void;
}

interface Queued extends PendingPosting {
  readonly promise: Promise<LedgerEntry>;
  /** False once its request has given up: it must not be posted any more. */
  isAwaited: boolean;
  /** It is in a batch. */
  isTaken: boolean;
}

interface UserQueue {
  waiting: Queued[];
  stored: Promise<void>;
}

/** The queue. */
export class PostingQueue {
  readonly #clock: Clock;
  readonly #store: (batch: readonly PendingPosting[]) => Promise<void>;
  readonly #users = new Map<string, UserQueue>();

  /** `store` settles each posting of a batch, which are of one user. */
  constructor(clock: Clock, store: (batch: readonly PendingPosting[]) => Promise<void>) {
    this.#clock = clock;
    this.#store = store;
  }

  /** Resolves with the entry of the posting. Rejects as `store` says, or with `DatabaseWaitError`. */
  async add(posting: Posting): Promise<LedgerEntry> {
    const queued: Queued = { posting, ...Promise.withResolvers(), isAwaited: true, isTaken: false };
    try {
      // The postings before it may wait for the database, each with a limit of its own.
      return await waitForDatabase(() => {
        this.#enqueue(queued);
        return queued.promise;
      });
    } finally {
      queued.isAwaited = false;
    }
  }

  #enqueue(queued: Queued): void {
    const { userId } = queued.posting;
    const user = this.#users.get(userId) ?? { waiting: [], stored: Promise.resolve() };
    this.#users.set(userId, user);
    user.waiting.push(queued);
    const turn = user.stored.then(() => this.#takeTurn(user, queued));
    user.stored = turn;
    void turn.then(() => {
      if (user.stored === turn) this.#users.delete(userId);
    });
  }

  /** Stores the postings that wait, unless this one was in an earlier batch. */
  async #takeTurn(user: UserQueue, own: Queued): Promise<void> {
    if (own.isTaken) return;
    const batch = user.waiting.splice(0, MOST_TOGETHER);
    for (const taken of batch) {
      taken.isTaken = true;
      if (!taken.isAwaited) taken.reject(new DatabaseWaitError());
    }
    const awaited = batch.filter(({ isAwaited }) => isAwaited);
    if (awaited.length === 0) return;
    await this.#storeWithinLimit(awaited).catch((error: unknown) => {
      for (const { reject } of awaited) reject(error);
    });
  }

  /** A batch has a limit like a request, but none of its requests: these began at different times. */
  #storeWithinLimit(batch: readonly PendingPosting[]): Promise<void> {
    const wait = new RequestWait(this.#clock, () => false);
    return new Promise((resolve, reject) => {
      wait.run(() => this.#store(batch).then(resolve, reject));
    });
  }
}
