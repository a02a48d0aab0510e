/**
 * Attributes a hang to the session that the event loop was working on. The loop writes the session's id to
 * memory shared with a thread (`processes/hang-attribution-thread-entry.ts`), which costs a few writes. When
 * the loop hangs, the thread reports the id to the supervisor (`processes/activity-file.ts`).
 */
import { Worker } from 'node:worker_threads';
import type { Logger } from '#base/log.ts';
import { nameless, type Within } from '#runtime/event-loop/session-attribution.ts';

/**
 * The shared memory: a change counter, whether the thread sleeps until it is woken up, and the id, padded
 * with zeros.
 */
export const COUNTERS = { changes: 0, isAsleep: 1 } as const;
export const COUNTER_BYTES = 8;
export const NAME_BYTES = 124;

/** Startup options of the thread. */
export interface HangAttributionData {
  readonly memory: SharedArrayBuffer;
  readonly fd: number;
}

/**
 * Starts the thread, which reports through `fd` and lives as long as the process; null: no reader, so no
 * thread. Returns a function that runs work in the name of a session.
 */
export function openHangAttribution(fd: number | null, logger: Logger): (sessionId: string) => Within {
  if (fd === null) return () => nameless;
  const memory = attributionMemory();
  const workerData: HangAttributionData = { memory, fd };
  const thread = new Worker(new URL('./hang-attribution-thread-entry.ts', import.meta.url), {
    execArgv: [],
    name: 'hang-attribution',
    workerData,
  });
  thread.on('error', (error) =>
    logger.error({ err: error }, 'if this worker hangs, the session at fault can no longer be determined'),
  );
  thread.unref();
  return attributeIn(memory);
}

/** The memory that an event loop shares with the thread beside it. */
export function attributionMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(COUNTER_BYTES + NAME_BYTES);
}

/** Returns a function that runs work in the name of a session, which it notes in this memory. */
export function attributeIn(memory: SharedArrayBuffer): (sessionId: string) => Within {
  const counters = new Int32Array(memory, 0, COUNTER_BYTES / Int32Array.BYTES_PER_ELEMENT);
  const named = new Uint8Array(memory, COUNTER_BYTES, NAME_BYTES);
  const encoder = new TextEncoder();
  const noSession = new Uint8Array(NAME_BYTES);
  let current = noSession;
  const setCurrent = (name: Uint8Array<ArrayBuffer>) => {
    current = name;
    named.set(name);
    Atomics.add(counters, COUNTERS.changes, 1);
    if (Atomics.exchange(counters, COUNTERS.isAsleep, 0) === 1) Atomics.notify(counters, COUNTERS.isAsleep);
  };
  return (sessionId) => {
    const name = new Uint8Array(NAME_BYTES);
    encoder.encodeInto(sessionId, name);
    return (work) => {
      const before = current;
      if (before === name) return work();
      setCurrent(name);
      try {
        return work();
      } finally {
        setCurrent(before);
      }
    };
  };
}
