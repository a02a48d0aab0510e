/** The writing side of one database file: serves its socket until told to close. */
import { chmodSync, rmSync } from 'node:fs';
import type { MessagePort, Worker } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { pipelines } from './pipelines.ts';
import type { ReaderAnswer, ReaderJob } from './serve-reads.ts';
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

/** Message from the thread to the process: the database accepts connections. */
export interface WriterReady {
  readonly url: string;
}

/** Where the jobs of the reading side go, and what ends it. */
export interface ReaderPort {
  readonly port: Worker | MessagePort;
  close(): void | Promise<void>;
}

/**
 * Opens the file, then the reading side, listens, and takes orders from the port. After the order to close,
 * everything is closed but the port, and `onClosed` is called.
 */
export async function serveStore(
  { file, endpoint, expiryMs, preloadMs }: WriterOptions,
  process: MessagePort | null,
  startReader: () => ReaderPort,
  onClosed: () => void,
): Promise<void> {
  const store = openStore(file);
  const reader = startReader();
  const server = new StoreServer({
    store,
    reader: linkTo(reader.port),
    clock: systemClock,
    expiryMs,
    endpoint,
  });
  if (endpoint.type === 'socket') rmSync(endpoint.path, { force: true });
  const url = await server.listen();
  if (endpoint.type === 'socket') chmodSync(endpoint.path, 0o600);
  process?.postMessage({ url } satisfies WriterReady);
  const loading = preloadMs === null ? null : systemClock.after(preloadMs, pipelines);
  const close = async () => {
    loading?.cancel();
    await server.close();
    await reader.close();
    store.sqlite.close();
    onClosed();
  };
  process?.on('message', (order: WriterOrder) => {
    if (order === 'scrub') return server.scrub();
    close().catch((error: unknown) => {
      throw error;
    });
  });
}

function linkTo(port: Worker | MessagePort): ReaderLink {
  const waiting = new Map<number, (reply: ReaderAnswer['reply']) => void>();
  let jobs = 0;
  port.on('message', ({ job, reply }: ReaderAnswer) => {
    waiting.get(job)?.(reply);
    waiting.delete(job);
  });
  const answerTo = (message: ReaderJob['message']) =>
    new Promise<ReaderAnswer['reply']>((resolve) => {
      jobs += 1;
      waiting.set(jobs, resolve);
      port.postMessage({ job: jobs, message } satisfies ReaderJob);
    });
  return {
    run: async (message) => (await answerTo(message)) as Uint8Array,
    checkpoint: async () => (await answerTo(null)) as number,
  };
}
