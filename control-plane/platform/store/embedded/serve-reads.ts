/** The reading side of one database file: long reads, and checkpoints between them. */
import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
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
  /** To a command; to a checkpoint, the length of the log in pages. */
  readonly reply: Uint8Array | number;
}

/** Answers the jobs that arrive on the port. Returns what closes the file. */
export function serveReads(file: string, port: MessagePort | null): () => void {
  const store = openReadOnlyStore(file);
  const reader = new Reader(store, systemClock);
  // A read-only connection cannot checkpoint.
  const log = new Sqlite(file, 'write');
  port?.on('message', ({ job, message }: ReaderJob) => {
    const reply =
      message === null
        ? checkpoint(log)
        : reader.answer(Buffer.from(message.buffer, message.byteOffset, message.byteLength));
    port.postMessage({ job, reply } satisfies ReaderAnswer);
  });
  return () => {
    store.sqlite.close();
    log.close();
  };
}

function checkpoint(log: Sqlite): number {
  try {
    return log.checkpoint();
  } catch {
    // Disk full: committed data stays in the log until there is space.
    return 0;
  }
}
