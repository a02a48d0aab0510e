/** Entry point of the thread that serves every database of `store-threads.ts`. It starts the reading one. */
import { MessageChannel, type MessagePort, parentPort, Worker } from 'node:worker_threads';
import { serveStore } from '#control-plane/platform/store/embedded/serve-store.ts';
import type { SharedStore } from './store-threads.ts';

/** A database that the reading thread is to open. */
export interface SharedReads {
  readonly file: string;
  /** Closed by the writing thread when there are no more jobs. */
  readonly jobs: MessagePort;
  /** Closed by the reading thread when it has closed the file. */
  readonly end: MessagePort;
}

const readers = new Worker(new URL('./store-reader-thread.ts', import.meta.url));
readers.on('error', (error) => {
  throw error;
});

parentPort?.on('message', ({ options, port }: SharedStore) => {
  void serveStore(
    options,
    port,
    () => startReader(options.file),
    () => port.close(),
  );
});

/**
 * The end waits for the reading thread, which may be at another database or still starting: it must not look
 * for a file that is deleted meanwhile.
 */
function startReader(file: string) {
  const jobs = new MessageChannel();
  const end = new MessageChannel();
  const ended = new Promise<void>((resolve) => end.port1.once('close', resolve));
  readers.postMessage({ file, jobs: jobs.port2, end: end.port2 } satisfies SharedReads, [
    jobs.port2,
    end.port2,
  ]);
  const close = () => {
    jobs.port1.close();
    return ended;
  };
  return { port: jobs.port1, close };
}
