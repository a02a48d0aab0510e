/**
 * Limits how long a request waits for the database in total. The driver's own limits apply to one attempt of
 * one command: a request to a primary that hangs would wait for each of them in turn, and for those that
 * clean up after the first error. A command that is given up may still be applied, like one whose answer was
 * lost.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock, Timer } from '#base/clock.ts';
import { sendOnOpenConnection } from './database-away.ts';

/** Clients and signalling wait ten seconds for an answer. */
const MOST_MS = 9_000;

/** The database has not answered within the time that a request may wait for it. */
export class DatabaseWaitError extends Error {
  constructor() {
    super(`no answer of the database within ${MOST_MS} ms`);
    this.name = 'DatabaseWaitError';
  }
}

const current = new AsyncLocalStorage<RequestWait>();

/** The time that one request has waited for the database; time spent on anything else does not count. */
export class RequestWait {
  readonly #clock: Clock;
  readonly #isAnswered: () => boolean;
  #waitedMs = 0;
  #pending = 0;
  #sinceMs = 0;

  /** `isAnswered`: nobody waits for the database any more; work that goes on has all the time it needs. */
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
    const leftMs = MOST_MS - this.#totalMs;
    if (leftMs <= 0) throw new DatabaseWaitError();
    let timer: Timer | null = null;
    const tooLong = new Promise<never>((_, reject) => {
      timer = this.#clock.after(leftMs, () => reject(new DatabaseWaitError()));
    });
    // Commands that run at the same time count once.
    if (this.#pending++ === 0) this.#sinceMs = this.#clock.now();
    try {
      return await Promise.race([command(), tooLong]);
    } finally {
      (timer as Timer | null)?.cancel();
      if (--this.#pending === 0) this.#waitedMs += this.#clock.now() - this.#sinceMs;
    }
  }

  get #totalMs(): number {
    return this.#waitedMs + (this.#pending > 0 ? this.#clock.now() - this.#sinceMs : 0);
  }
}

/** Waits for the database, within the limit of the current request if there is one. */
export function waitForDatabase<Result>(work: () => Promise<Result>): Promise<Result> {
  const wait = current.getStore();
  return wait ? wait.waitFor(work) : work();
}

type Method = (...parameters: unknown[]) => unknown;

const COMMANDS = [
  'insertOne',
  'insertMany',
  'bulkWrite',
  'findOne',
  'countDocuments',
  'distinct',
  'updateOne',
  'updateMany',
  'replaceOne',
  'deleteOne',
  'deleteMany',
  'findOneAndUpdate',
  'findOneAndReplace',
  'findOneAndDelete',
];
const CURSORS = ['find', 'aggregate'];
const CURSOR_COMMANDS = ['toArray', 'next', 'hasNext'];

/** Applies the limit to every command that a model sends within a request, on an open connection. */
export function limitRequestWaits({ collection }: { readonly collection: object }): void {
  const methods = collection as Record<string, Method>;
  for (const name of COMMANDS) {
    const send = methods[name] as Method;
    methods[name] = (...parameters) =>
      sendOnOpenConnection(() => send.apply(collection, parameters) as Promise<unknown>);
  }
  limitEach(methods, COMMANDS);
  for (const name of CURSORS) {
    const open = methods[name] as Method;
    methods[name] = (...parameters) => {
      const cursor = open.apply(collection, parameters) as Record<string, Method>;
      if (current.getStore()) limitEach(cursor, CURSOR_COMMANDS);
      return cursor;
    };
  }
}

function limitEach(target: Record<string, Method>, names: readonly string[]): void {
  for (const name of names) {
    const send = target[name] as Method;
    target[name] = (...parameters) =>
      waitForDatabase(() => send.apply(target, parameters) as Promise<unknown>);
  }
}
