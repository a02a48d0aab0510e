/** Entry point of the thread that serves every database of `store-threads.ts`. It starts the reading one. */
import { MessageChannel, type MessagePort, parentPort, Worker } from 'node:worker_threads';
import { serveStore } from '#control-plane/platform/store/embedded/serve-store.ts';
import type { SharedStore } from './store-threads.ts';

/** A database that the reading thread is to open, with the port of its jobs. */
export interface SharedReads {
  readonly file: string;
  readonly port: MessagePort;
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

function startReader(file: string) {
  const { port1, port2 } = new MessageChannel();
  readers.postMessage({ file, port: port2 } satisfies SharedReads, [port2]);
  return { port: port1, close: () => port1.close() };
}
