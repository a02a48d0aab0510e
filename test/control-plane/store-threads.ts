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

const open = new Set<ThreadEvents>();
let shared: Worker | null = null;

/** Opens the database in the shared thread. If that crashes, so has every database in it. */
export const startInSharedThread: StartThread = (options, events) => {
  shared ??= startThread();
  const { port1: orders, port2: port } = new MessageChannel();
  open.add(events);
  orders.on('message', ({ url }: WriterReady) => events.onReady(url));
  orders.on('close', () => {
    open.delete(events);
    events.onExit(0);
  });
  shared.postMessage({ options, port } satisfies SharedStore, [port]);
  return (order) => orders.postMessage(order);
};

function startThread(): Worker {
  const thread = new Worker(new URL('./store-writer-thread.ts', import.meta.url));
  thread.on('error', (error) => {
    for (const events of open) events.onError(error);
  });
  // The process ends without closing it.
  thread.unref();
  return thread;
}
