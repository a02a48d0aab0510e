/**
 * One pair of threads for all embedded databases that this process opens through it. A product has a pair for
 * its one database; the hundreds of a test process would load the same modules anew each.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { StartThread, ThreadEvents } from '#control-plane/platform/store/embedded/embedded-database.ts';
import type { WriterOptions, WriterReady } from '#control-plane/platform/store/embedded/serve-store.ts';

/** A database that the writing thread is to open, with the port of its orders. */
export interface SharedStore {
  readonly options: WriterOptions;
  readonly port: MessagePort;
}

/** Starts the databases it is used for in one pair of threads, which it starts with the first. */
export function sharedThreads(): StartThread {
  const open = new Set<ThreadEvents>();
  let thread: Worker | null = null;
  const onError = (error: Error) => {
    // No open database could report the error.
    if (open.size === 0) throw error;
    for (const events of open) events.onError(error);
  };
  return (options, events) => {
    thread ??= startThread(onError, () => {
      thread = null;
    });
    const { port1: orders, port2: port } = new MessageChannel();
    open.add(events);
    orders.on('message', ({ url }: WriterReady) => events.onReady(url));
    orders.on('close', () => {
      open.delete(events);
      events.onExit(0);
    });
    thread.postMessage({ options, port } satisfies SharedStore, [port]);
    return (order) => orders.postMessage(order);
  };
}

/** The threads of this process. If they crash, so has every database in them. */
export const startInSharedThread = sharedThreads();

function startThread(onError: (error: Error) => void, onExit: () => void): Worker {
  const thread = new Worker(new URL('./store-writer-thread.ts', import.meta.url));
  thread.on('error', onError);
  thread.on('exit', onExit);
  // The process ends without closing it.
  thread.unref();
  return thread;
}
