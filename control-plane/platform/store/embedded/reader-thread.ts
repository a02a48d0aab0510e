/** Entry point of the reader thread, which the writer thread starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { Reader } from './reader.ts';
import { openReadOnlyStore } from './store.ts';

/** Message from the writer to the reader. */
export interface ReaderJob {
  readonly job: number;
  readonly message: Uint8Array;
}

/** Message from the reader to the writer. */
export interface ReaderAnswer {
  readonly job: number;
  readonly reply: Uint8Array;
}

const { file } = workerData as { file: string };
const reader = new Reader(openReadOnlyStore(file), systemClock);
parentPort?.on('message', ({ job, message }: ReaderJob) => {
  const reply = reader.answer(Buffer.from(message.buffer, message.byteOffset, message.byteLength));
  parentPort?.postMessage({ job, reply } satisfies ReaderAnswer);
});
