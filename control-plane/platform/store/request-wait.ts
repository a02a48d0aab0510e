/**
 * Limits how long a request waits for a database that does not answer. The driver's own limits apply to one
 * attempt of one command: a request to a primary that hangs would wait for each of them in turn, and for
 * those that clean up after the first error. A command that is given up may still be applied, like one whose
 * answer was lost.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock, Timer } from '#base/clock.ts';
import { WRITE_METHODS } from './collection-methods.ts';
import { isDatabaseAway, sendOnOpenConnection } from './database-away.ts';

/** Clients and signalling wait ten seconds for an answer. Counted from the first command that fails. */
const MOST_MS = 9_000;
/** The limit of one command; leaves some time to clean up. */
const COMMAND_MS = 7_000;

/** The database has not answered within the time that a request may wait for it. */
export class DatabaseWaitError extends Error {
  constructor() {
    super('the database has not answered in time');
    this.name = 'DatabaseWaitError';
  }
}

const current = new AsyncLocalStorage<RequestWait>();

interface PendingCommand {
  readonly sinceMs: number;
  readonly giveUp: () => void;
  timer: Timer | null;
}

/**
 * The waits of one request. Each command has a limit of its own, so that a request of many commands to a
 * healthy database takes the time it needs. From the first failure on, all commands have one limit together.
 */
export class RequestWait {
  readonly #clock: Clock;
  readonly #isAnswered: () => boolean;
  readonly #pending = new Set<PendingCommand>();
  #hasFailed = false;
  /** Since the first failure; time spent on anything but commands does not count. */
  #waitedMs = 0;
  #sinceMs = 0;

  /** `isAnswered`: the request has its answer. Work that it started and that goes on then has no limit. */
  constructor(clock: Clock, isAnswered: () => boolean) {
    this.#clock = clock;
    this.#isAnswered = isAnswered;
  }

  /** Runs a part of the request, to whose commands the limit applies. */
  run(part: () => void): void {
    current.run(this, part);
  }

  /** Waits for a command. Rejects with `DatabaseWaitError` once the request has waited for too long. */
  async waitFor<Result>(command: () => Promise<Result>): Promise<Result> {
    if (this.#isAnswered()) return command();
    if (this.#hasFailed && this.#totalMs >= MOST_MS) throw new DatabaseWaitError();
    const { promise: tooLong, reject } = Promise.withResolvers<never>();
    const sinceMs = this.#clock.now();
    const pending = { sinceMs, giveUp: () => reject(new DatabaseWaitError()), timer: null };
    // Commands that run at the same time count once.
    if (this.#pending.size === 0) this.#sinceMs = sinceMs;
    this.#pending.add(pending);
    this.#limit(pending);
    try {
      return await Promise.race([command(), tooLong]);
    } catch (error) {
      if (isDatabaseAway(error)) this.#fail(pending);
      throw error;
    } finally {
      this.#end(pending);
    }
  }

  #limit(pending: PendingCommand): void {
    pending.timer?.cancel();
    pending.timer = this.#clock.after(this.#hasFailed ? MOST_MS - this.#totalMs : COMMAND_MS, () => {
      if (!this.#isAnswered()) pending.giveUp();
    });
  }

  #fail({ sinceMs }: PendingCommand): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#waitedMs = 0;
    this.#sinceMs = sinceMs;
    for (const other of this.#pending) this.#limit(other);
  }

  #end(pending: PendingCommand): void {
    pending.timer?.cancel();
    this.#pending.delete(pending);
    if (this.#pending.size === 0) this.#waitedMs += this.#clock.now() - this.#sinceMs;
  }

  get #totalMs(): number {
    return this.#waitedMs + (this.#pending.size > 0 ? this.#clock.now() - this.#sinceMs : 0);
  }
}

/** Waits for the database, within the limit of the current request if there is one. */
export function waitForDatabase<Result>(work: () => Promise<Result>): Promise<Result> {
  const wait = current.getStore();
  return wait ? wait.waitFor(work) : work();
}

/** Starts work that is not for the current request alone: the request's limit does not apply to it. */
export function outsideRequest<Result>(work: () => Result): Result {
  return current.exit(work);
}

type Method = (...parameters: unknown[]) => unknown;

const COMMANDS = [...WRITE_METHODS, 'findOne', 'countDocuments', 'estimatedDocumentCount', 'distinct'];
const CURSORS = ['find', 'aggregate'];
/** Each sends a command if no document is left of the last batch. `toArray` calls `next`. */
const CURSOR_STEPS = ['next', 'hasNext'];

/** Applies the limit to every command that a model sends within a request, on an open connection. */
export function limitRequestWaits({ collection }: { readonly collection: object }): void {
  const methods = collection as Record<string, Method>;
  for (const name of COMMANDS) {
    const send = methods[name] as Method;
    methods[name] = (...parameters) =>
      waitForDatabase(() =>
        sendOnOpenConnection(() => send.apply(collection, parameters) as Promise<unknown>),
      );
  }
  for (const name of CURSORS) {
    const open = methods[name] as Method;
    methods[name] = (...parameters) => {
      const cursor = open.apply(collection, parameters) as Record<string, Method>;
      if (current.getStore()) limitBatches(cursor);
      return cursor;
    };
  }
}

function limitBatches(cursor: Record<string, Method>): void {
  for (const name of CURSOR_STEPS) {
    const step = cursor[name] as Method;
    const send = () => step.call(cursor) as Promise<unknown>;
    cursor[name] = () => (Number(cursor['bufferedCount']?.()) > 0 ? send() : waitForDatabase(send));
  }
}
