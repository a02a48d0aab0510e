/**
 * Work for uploads that would hold up calls: audio is compressed (FLAC), and objects are encrypted and
 * stored, in a thread of their own; flight logs are compressed (gzip) in Node's pool of threads.
 */
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gzip } from 'node:zlib';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import type { ObjectAddress, PlainHead, Upload } from '#protocol/uploads.ts';
import type { EncodedAudio, EncodingJob, StoredObject, StoringJob } from './packing-thread-entry.ts';

const zip = promisify(gzip);

/** Packs uploads. */
export interface Packer {
  /** Compresses a piece; `firstSample` is the position of a recording's in its object. */
  pack(piece: Upload<PlainHead>, firstSample: number): Promise<Uint8Array>;
  /** Stores an object at an address of the bucket; resolves to why that failed, or null. */
  store(object: Upload, address: ObjectAddress): Promise<string | null>;
  close(): Promise<void>;
}

/** The parts of a thread that a packer uses. */
export type PackingThread = Pick<Worker, 'on' | 'postMessage' | 'terminate'>;

interface WaitingJob {
  readonly onAnswer: (answer: EncodedAudio | StoredObject) => void;
  readonly onLost: () => void;
}

/** Creates the packer of one worker; its thread starts with the first recording. */
export function createPacker(startThread = startPackingThread): Packer {
  return new ThreadPacker(startThread);
}

class ThreadPacker implements Packer {
  readonly #startThread: () => PackingThread;
  readonly #waiting = new Map<number, WaitingJob>();
  #thread: PackingThread | null = null;
  #nextId = 0;

  constructor(startThread: () => PackingThread) {
    this.#startThread = startThread;
  }

  pack({ head, bytes }: Upload<PlainHead>, firstSample: number): Promise<Uint8Array> {
    if (head.type === 'flight_log') return zipped(bytes);
    const samples = new Int16Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 2));
    const { promise, resolve } = Promise.withResolvers<Uint8Array>();
    const encode = (onLost: () => void) => {
      const job: EncodingJob = { id: this.#nextId++, samples, rateHz: head.rate_hz, firstSample };
      this.#post(job, { onAnswer: (answer) => resolve((answer as EncodedAudio).frames), onLost });
    };
    const encodeHere = async () => encodeFlac(samples, head.rate_hz, firstSample);
    // Nothing of a recording is lost with the thread, not even one that ends again; this thread has calls.
    encode(() => encode(() => resolve(encodeHere())));
    return promise;
  }

  store({ head, bytes }: Upload, address: ObjectAddress): Promise<string | null> {
    const job: StoringJob = { id: this.#nextId++, head, bytes, address };
    const { promise, resolve } = Promise.withResolvers<string | null>();
    this.#post(job, {
      onAnswer: (answer) => resolve((answer as StoredObject).failure),
      onLost: () => resolve('the thread ended'),
    });
    return promise;
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #post(job: EncodingJob | StoringJob, waiting: WaitingJob): void {
    try {
      this.#thread ??= this.#open();
      this.#thread.postMessage(job);
      this.#waiting.set(job.id, waiting);
    } catch {
      // There is no memory for a thread.
      waiting.onLost();
    }
  }

  #open(): PackingThread {
    const thread = this.#startThread();
    thread.on('message', (answer: EncodedAudio | StoredObject) => {
      this.#waiting.get(answer.id)?.onAnswer(answer);
      this.#waiting.delete(answer.id);
    });
    thread.on('error', () => this.#lose(thread));
    thread.on('exit', () => this.#lose(thread));
    return thread;
  }

  #lose(thread: PackingThread): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { onLost } of lost) onLost();
  }
}

/** Node compresses into a block of 64 KiB: a view of it would keep all of it for some hundred bytes. */
async function zipped(bytes: Uint8Array): Promise<Uint8Array> {
  return Uint8Array.from(await zip(bytes));
}

function startPackingThread(): PackingThread {
  const thread = new Worker(new URL('./packing-thread-entry.ts', import.meta.url), { name: 'recordings' });
  thread.unref();
  return thread;
}
