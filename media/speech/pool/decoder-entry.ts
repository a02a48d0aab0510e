/** A thread that decodes recordings one after the other; `decoders.ts` is the other side. */
import { parentPort } from 'node:worker_threads';
import { yieldToOtherThreads } from '#base/thread-priority.ts';
import { decodeAudio } from './decode.ts';
import type { DecodeRequest, FromDecoder } from './decoders.ts';
import { SpeechJobError } from './speech-jobs.ts';

/** Blocks arrive every few milliseconds: too often for a message each. */
const PROGRESS_MS = 500;

yieldToOtherThreads();

function send(message: FromDecoder, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

parentPort?.on('message', async ({ file, longestSeconds }: DecodeRequest) => {
  let reportedMs = performance.now();
  const onBlock = () => {
    if (performance.now() - reportedMs < PROGRESS_MS) return;
    reportedMs = performance.now();
    send({ type: 'progress' });
  };
  try {
    const samples = await decodeAudio(file, { longestSeconds, onBlock });
    send({ type: 'decoded', samples }, [samples.buffer]);
  } catch (error) {
    const failure = error instanceof SpeechJobError ? error.failure : null;
    send({ type: 'failed', failure, message: error instanceof Error ? error.message : String(error) });
  }
});
