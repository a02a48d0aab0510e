/**
 * Compresses recordings and flight logs before they are uploaded, off the loop that serves the calls: audio
 * as FLAC in a thread of its own, logs with gzip in Node's pool of threads.
 */
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gzip } from 'node:zlib';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import type { PlainHead, Upload } from '#protocol/uploads.ts';
import type { PackedAudio, PackingJob } from './packing-thread-entry.ts';

const zip = promisify(gzip);

/** Compresses pieces. */
export interface Packer {
  /** `firstSample` is the position of a recording's piece in its object. */
  pack(piece: Upload<PlainHead>, firstSample: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The parts of a thread that a packer uses. */
export type PackingThread = Pick<Worker, 'on' | 'postMessage' | 'terminate'>;

interface WaitingJob {
  readonly job: PackingJob;
  readonly resolve: (frames: Uint8Array) => void;
}

/** Creates the packer of one worker; its thread starts with the first recording. */
export function createPacker(startThread = startPackingThread): Packer {
  const waiting = new Map<number, WaitingJob>();
  let thread: PackingThread | null = null;
  let nextId = 0;

  /** What a lost thread has not answered is encoded here: nothing of a recording is lost for it. */
  function lose(lost: PackingThread): void {
    if (thread !== lost) return;
    thread = null;
    for (const { job, resolve } of waiting.values())
      resolve(encodeFlac(job.samples, job.rateHz, job.firstSample));
    waiting.clear();
  }

  function open(): PackingThread {
    const started = startThread();
    started.on('message', ({ id, frames }: PackedAudio) => {
      waiting.get(id)?.resolve(frames);
      waiting.delete(id);
    });
    started.on('error', () => lose(started));
    started.on('exit', () => lose(started));
    return started;
  }

  return {
    async pack({ head, bytes }, firstSample) {
      if (head.type === 'flight_log') return zip(bytes);
      const samples = new Int16Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 2));
      const job = { id: nextId++, samples, rateHz: head.rate_hz, firstSample };
      thread ??= open();
      const { promise, resolve } = Promise.withResolvers<Uint8Array>();
      waiting.set(job.id, { job, resolve });
      thread.postMessage(job);
      return promise;
    },
    async close() {
      await thread?.terminate();
    },
  };
}

function startPackingThread(): PackingThread {
  const thread = new Worker(new URL('./packing-thread-entry.ts', import.meta.url), { name: 'recordings' });
  thread.unref();
  return thread;
}
