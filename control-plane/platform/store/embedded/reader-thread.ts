/**
 * Entry point of the reader thread, which the writer thread starts: long reads, and checkpoints between them.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { collectStartGarbage } from '#base/start-garbage.ts';
import { pipelines } from './pipelines.ts';
import { Reader } from './reader.ts';
import { Sqlite } from './sqlite.ts';
import { openReadOnlyStore } from './store.ts';

/** Message from the writer to the reader. */
export interface ReaderJob {
  readonly job: number;
  /** A command, or null for a checkpoint. */
  readonly message: Uint8Array | null;
}

/** Message from the reader to the writer. */
export interface ReaderAnswer {
  readonly job: number;
  /** Empty after a checkpoint. */
  readonly reply: Uint8Array;
}

/** Startup options of the thread. */
export interface ReaderOptions {
  readonly file: string;
  /** As of `EmbeddedOptions`. */
  readonly preloadMs: number | null;
}

const { file, preloadMs } = workerData as ReaderOptions;
const reader = new Reader(openReadOnlyStore(file), systemClock);
// A read-only connection cannot checkpoint.
const log = new Sqlite(file, 'write');
parentPort?.on('message', ({ job, message }: ReaderJob) => {
  const reply =
    message === null
      ? checkpoint()
      : reader.answer(Buffer.from(message.buffer, message.byteOffset, message.byteLength));
  parentPort?.postMessage({ job, reply } satisfies ReaderAnswer);
});

if (preloadMs !== null) {
  systemClock.after(preloadMs, pipelines);
  collectStartGarbage();
}

function checkpoint(): Uint8Array {
  try {
    log.checkpoint();
  } catch {
    // Disk full: committed data stays in the log until there is space.
  }
  return new Uint8Array();
}
