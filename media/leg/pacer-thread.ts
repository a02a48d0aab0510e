/** What the pacer needs of the thread it runs on. */
import type { Timer } from '#base/clock.ts';
import { holdThread } from '#base/hold-thread.ts';

/** The thread of a pacer. */
export interface PacerThread {
  /** Blocks the thread for `ms`, less than a millisecond. */
  hold(ms: number): void;
  /** Calls `callback` once everything that has arrived for this thread, packets and messages, is handled. */
  afterReading(callback: () => void): Timer;
}

/** The thread this is called on. */
export const thisThread: PacerThread = {
  hold: holdThread,
  // Node runs immediates after it has read its sockets and message ports.
  afterReading(callback) {
    const handle = setImmediate(callback);
    return { cancel: () => clearImmediate(handle) };
  },
};
