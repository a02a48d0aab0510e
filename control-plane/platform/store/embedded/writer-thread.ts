/** Entry point of the embedded database's thread. It starts the reader thread. */
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { collectGarbageAtRest, collectStartGarbage } from '#base/garbage.ts';
import type { ReaderOptions } from './reader-thread.ts';
import { serveStore, type WriterOptions } from './serve-store.ts';

const options = workerData as WriterOptions;
// Before it gets work; a database that does not live long needs the time more than the memory.
if (options.preloadMs !== null) collectStartGarbage();
const collecting = collectGarbageAtRest(systemClock);
await serveStore(options, parentPort, startReader, () => {
  collecting.cancel();
  parentPort?.close();
});

function startReader() {
  const thread = new Worker(new URL('./reader-thread.ts', import.meta.url), {
    name: 'store-reader',
    workerData: { file: options.file, preloadMs: options.preloadMs } satisfies ReaderOptions,
  });
  // If the reader crashes, this thread exits too, and then the process.
  thread.on('error', (error) => {
    throw error;
  });
  let isClosing = false;
  thread.on('exit', (code) => {
    if (!isClosing) throw new Error(`the reader thread of the database exited with code ${code}`);
  });
  const close = async () => {
    isClosing = true;
    await thread.terminate();
  };
  return { port: thread, close };
}
