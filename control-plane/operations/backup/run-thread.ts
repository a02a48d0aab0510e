/** Runs a worker thread until it exits. */
import { Worker } from 'node:worker_threads';

/** Resolves when the thread ended normally. Rejects with its error, or if its exit code is not 0. */
export function runThread(entry: URL, workerData: unknown): Promise<void> {
  const thread = new Worker(entry, { workerData });
  return new Promise((resolve, reject) => {
    thread.once('error', reject);
    thread.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the thread ended with exit code ${code}`)),
    );
  });
}
