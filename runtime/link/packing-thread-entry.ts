/** The thread that compresses recordings; `packer.ts` is the other side. */
import { parentPort } from 'node:worker_threads';
import { treatThisThreadAsOthers } from '#base/thread-priority.ts';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';

/** Samples to encode. */
export interface PackingJob {
  readonly id: number;
  readonly samples: Int16Array;
  readonly rateHz: number;
  readonly firstSample: number;
}

/** The answer. */
export interface PackedAudio {
  readonly id: number;
  readonly frames: Uint8Array<ArrayBuffer>;
}

treatThisThreadAsOthers();
parentPort?.on('message', ({ id, samples, rateHz, firstSample }: PackingJob) => {
  const answer: PackedAudio = { id, frames: encodeFlac(samples, rateHz, firstSample) };
  parentPort?.postMessage(answer, [answer.frames.buffer]);
});
