/** Entry point of the reader thread, which the writer thread starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { collectGarbageAtRest, collectStartGarbage } from '#base/garbage.ts';
import { pipelines } from './pipelines.ts';
import { serveReads } from './serve-reads.ts';

/** Startup options of the thread. */
export interface ReaderOptions {
  readonly file: string;
  /** As of `EmbeddedOptions`. */
  readonly preloadMs: number | null;
}

const { file, preloadMs } = workerData as ReaderOptions;
serveReads(file, parentPort);
collectGarbageAtRest(systemClock);
if (preloadMs !== null) {
  systemClock.after(preloadMs, pipelines);
  collectStartGarbage();
}
