/**
 * Group commit: writes of one turn of the event loop share one transaction, and no reply leaves before it is
 * on the disk. When the commit fails, every held reply becomes an error and nothing of the group is
 * remembered.
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
  /** Retryable write to forget when the group fails. */
  readonly retryKey: string | null;
}

/** The open group of one store. */
export class GroupCommit {
  readonly #store: Store;
  readonly #retries: RetryCache;
  #held: HeldReply[] = [];
  #isScheduled = false;
  #hasCommitted = false;

  constructor(store: Store, retries: RetryCache) {
    this.#store = store;
    this.#retries = retries;
  }

  /**
   * True while something waits for a commit: replies must then wait too, as they may show what is not durable
   * yet.
   */
  get isOpen(): boolean {
    return this.#store.sqlite.isWriting || this.#held.length > 0;
  }

  /** Sends the reply after the commit of what has been written so far. */
  hold(reply: HeldReply): void {
    this.#held.push(reply);
    this.schedule();
  }

  /** Commits once the messages at hand are worked off. */
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
        this.#hasCommitted = true;
      }
    } catch (error) {
      this.fail(error);
      return;
    }
    for (const { send, reply } of this.#release()) send(reply);
  }

  /** Undoes the group and answers all of it with an error. */
  fail(error: unknown): void {
    this.#store.sqlite.rollback();
    this.#store.catalogue.reload();
    const refusal: Document = errorReply(error);
    for (const { send, retryKey } of this.#release()) {
      if (retryKey !== null) this.#retries.forget(retryKey);
      send(refusal);
    }
  }

  /** True once after commits have been made since the last question. */
  takeHasCommitted(): boolean {
    const hasCommitted = this.#hasCommitted;
    this.#hasCommitted = false;
    return hasCommitted;
  }

  #release(): HeldReply[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }
}
