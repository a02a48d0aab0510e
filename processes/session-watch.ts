/**
 * Watches the event loop of a worker from a thread beside it: when the loop has worked on one session for a
 * while, reports that session, and takes it back when the loop continues. While the loop works on no session,
 * the thread sleeps.
 */
import { COUNTER_BYTES, COUNTERS, NAME_BYTES } from './hang-attribution.ts';

/** Sleeps until the loop turns to another session; not at all if it has done so already. */
function sleepUntilWoken(counters: Int32Array<SharedArrayBuffer>): void {
  Atomics.wait(counters, COUNTERS.isAsleep, 1);
}

/** The watch of one event loop. */
export class SessionWatch {
  readonly #counters: Int32Array<SharedArrayBuffer>;
  readonly #named: Uint8Array<SharedArrayBuffer>;
  readonly #report: (line: string) => void;
  readonly #sleep: typeof sleepUntilWoken;
  #lastChange: number;
  #reported = '';

  /** `memory`: what the loop writes to (`attributeIn`). Tests do not sleep. */
  constructor(memory: SharedArrayBuffer, report: (line: string) => void, sleep = sleepUntilWoken) {
    this.#counters = new Int32Array(memory, 0, COUNTER_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#named = new Uint8Array(memory, COUNTER_BYTES, NAME_BYTES);
    this.#report = report;
    this.#sleep = sleep;
    this.#lastChange = Atomics.load(this.#counters, COUNTERS.changes);
  }

  /** To be called again and again, at the same intervals. */
  look(): void {
    const change = Atomics.load(this.#counters, COUNTERS.changes);
    const isSame = change === this.#lastChange;
    const name = isSame ? text(this.#named) : '';
    this.#lastChange = change;
    const line = name === '' ? '' : `session ${name}`;
    if (line !== this.#reported) this.#report(line);
    this.#reported = line;
    if (isSame && name === '') this.#sleepAfter(change);
  }

  #sleepAfter(change: number): void {
    const counters = this.#counters;
    Atomics.store(counters, COUNTERS.isAsleep, 1);
    if (Atomics.load(counters, COUNTERS.changes) === change) this.#sleep(counters);
    Atomics.store(counters, COUNTERS.isAsleep, 0);
  }
}

/** Padded with zeros. */
function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  // Copied first: shared memory cannot be decoded.
  return Buffer.from(bytes.slice(0, end < 0 ? bytes.length : end)).toString('utf8');
}
