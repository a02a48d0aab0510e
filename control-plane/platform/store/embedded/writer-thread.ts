/**
 * Entry point of the embedded database's thread: opens the file, starts the reader thread, serves the socket
 * and reports when it is ready.
 */
import { chmodSync, rmSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { collectStartGarbage } from '#base/start-garbage.ts';
import { pipelines } from './pipelines.ts';
import type { ReaderAnswer, ReaderJob, ReaderOptions } from './reader-thread.ts';
import { type Endpoint, type ReaderLink, StoreServer } from './server.ts';
import { openStore } from './store.ts';

/** Startup options of the thread. */
export interface WriterOptions {
  readonly file: string;
  readonly endpoint: Endpoint;
  /** Interval between sweeps of TTL indexes. */
  readonly expiryMs: number;
  /** As of `EmbeddedOptions`. */
  readonly preloadMs: number | null;
}

/** Messages from the process to the thread. */
export type WriterOrder = 'close' | 'scrub';

/** Messages from the thread to the process. */
export type WriterMessage = { readonly type: 'ready'; readonly url: string } | { readonly type: 'closed' };

const options = workerData as WriterOptions;
const { endpoint } = options;
const store = openStore(options.file);
const readerThread = new Worker(new URL('./reader-thread.ts', import.meta.url), {
  workerData: { file: options.file, preloadMs: options.preloadMs } satisfies ReaderOptions,
});
// If the reader crashes, this thread exits too, and then the process.
readerThread.on('error', (error) => {
  throw error;
});
let isClosing = false;
readerThread.on('exit', (code) => {
  if (!isClosing) throw new Error(`the reader thread of the database exited with code ${code}`);
});
const server = new StoreServer({
  store,
  reader: linkTo(readerThread),
  clock: systemClock,
  expiryMs: options.expiryMs,
  endpoint,
});
if (endpoint.type === 'socket') rmSync(endpoint.path, { force: true });
const url = await server.listen();
if (endpoint.type === 'socket') chmodSync(endpoint.path, 0o600);
// Before it gets work; a database that is not to live for long needs it less than the time.
if (options.preloadMs !== null) collectStartGarbage();
notifyProcess({ type: 'ready', url });
const loading = options.preloadMs === null ? null : systemClock.after(options.preloadMs, pipelines);

parentPort?.on('message', (order: WriterOrder) => {
  if (order === 'scrub') return server.scrub();
  close().catch((error: unknown) => {
    throw error;
  });
});

async function close(): Promise<void> {
  isClosing = true;
  loading?.cancel();
  await server.close();
  await readerThread.terminate();
  store.sqlite.close();
  notifyProcess({ type: 'closed' });
  parentPort?.close();
}

function notifyProcess(message: WriterMessage): void {
  parentPort?.postMessage(message);
}

function linkTo(thread: Worker): ReaderLink {
  const waiting = new Map<number, (reply: Uint8Array) => void>();
  let jobs = 0;
  thread.on('message', ({ job, reply }: ReaderAnswer) => {
    waiting.get(job)?.(reply);
    waiting.delete(job);
  });
  const answerTo = (message: ReaderJob['message']) =>
    new Promise<Uint8Array>((resolve) => {
      jobs += 1;
      waiting.set(jobs, resolve);
      thread.postMessage({ job: jobs, message } satisfies ReaderJob);
    });
  return {
    run: answerTo,
    checkpoint: async () => {
      await answerTo(null);
    },
  };
}
