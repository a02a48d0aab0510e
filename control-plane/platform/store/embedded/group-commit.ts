/**
 * Group commit: writes within one iteration of the event loop share a transaction, and no reply is sent
 * before it is on disk. If the commit fails, every held reply becomes an error and the whole group is
 * discarded.
 */
import type { Document } from './bson-values.ts';
import type { Store } from './documents.ts';
import type { Reply } from './read-context.ts';
import type { RetryCache } from './retry-cache.ts';
import { errorReply } from './store-error.ts';

/** A reply waiting for the commit it depends on. */
export interface HeldReply {
  readonly reply: Reply;
  send(reply: Reply): void;
  /** Retryable write to forget if the group fails. */
  readonly retryKey: string | null;
}

/** The open transaction of a store. */
export class GroupCommit {
  readonly #store: Store;
  readonly #retries: RetryCache;
  readonly #onCommitted: () => void;
  #held: HeldReply[] = [];
  #isScheduled = false;

  /** `onCommitted` is called after each commit. */
  constructor(store: Store, retries: RetryCache, onCommitted: () => void) {
    this.#store = store;
    this.#retries = retries;
    this.#onCommitted = onCommitted;
  }

  /**
   * True while a commit is pending: all replies must then wait, as they may reveal data that is not durable
   * yet.
   */
  get isOpen(): boolean {
    return this.#store.sqlite.isWriting || this.#held.length > 0;
  }

  /** Sends the reply once the writes so far are committed. */
  hold(reply: HeldReply): void {
    this.#held.push(reply);
    this.schedule();
  }

  /** Schedules a commit after the messages already received. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  /** Commits now. */
  flush(): void {
    try {
      if (this.#store.sqlite.isWriting) {
        this.#store.sqlite.commit();
        this.#onCommitted();
      }
    } catch (error) {
      this.fail(error);
      return;
    }
    for (const { send, reply } of this.#release()) send(reply);
  }

  /** Rolls back the group and answers all of its requests with an error. */
  fail(error: unknown): void {
    this.#store.sqlite.rollback();
    this.#store.catalogue.reload();
    const refusal: Document = errorReply(error);
    for (const { send, retryKey } of this.#release()) {
      if (retryKey !== null) this.#retries.forget(retryKey);
      send(refusal);
    }
  }

  #release(): HeldReply[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }
}
