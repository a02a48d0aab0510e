/** Entry point of the thread that reads from every database of `store-threads.ts`. */
import { parentPort } from 'node:worker_threads';
import { serveReads } from '#control-plane/platform/store/embedded/serve-reads.ts';
import type { SharedReads } from './store-writer-thread.ts';

parentPort?.on('message', ({ file, jobs, end }: SharedReads) => {
  const close = serveReads(file, jobs);
  jobs.once('close', () => {
    close();
    end.close();
  });
});
