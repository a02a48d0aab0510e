/**
 * Local synthesis with a downloaded VITS voice and sherpa-onnx, one sentence at a time, in a process of its
 * own: a damaged model file crashes that process and no calls.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { InstalledVoice, VoiceFiles } from '../models/installed-models.ts';
import { type SpeechChunk, SpeechError, type SynthesisOptions, type Synthesizer } from '../speech.ts';
import { spellNumerals } from '../text/english-numerals.ts';
import { cutSentences } from '../text/sentences.ts';
import { startModelProcess } from './model-process.ts';
import { describeExit } from './process-exit.ts';
import { type SentenceEngine, type SentenceEngineListener, SentenceQueue } from './sentence-queue.ts';

/** A sentence for the process. */
export interface VoiceJob {
  readonly text: string;
  /** 0.5 to 2. */
  readonly speed: number;
}

/** The process's answer. */
export interface VoiceAnswer {
  readonly samples: Int16Array | null;
  readonly sampleRateHz: number;
  readonly error: string | null;
}

/** A synthesiser that owns a process. */
export interface SherpaVoice extends Synthesizer {
  close(): Promise<void>;
}

/** Longest wait for a sentence; loading the model takes seconds of the first. */
const SENTENCE_TIMEOUT_MS = 20_000;

/** Creates the synthesiser of this voice; its process starts when a call is announced or with a text. */
export function createSherpaVoice(
  { id, title, languages, files }: InstalledVoice,
  clock: Clock,
): SherpaVoice {
  const queue = new SentenceQueue<VoiceJob, VoiceAnswer>((listener) => startProcess(files, clock, listener));
  return {
    id: `local:${id}`,
    voices: [{ id, name: title, languages }],
    needsWords: true,
    prepare: () => queue.prepare(),
    synthesise: (text, options) => synthesise(queue, text, options),
    close: () => queue.close(),
  };
}

async function* synthesise(
  queue: SentenceQueue<VoiceJob, VoiceAnswer>,
  text: string,
  options: SynthesisOptions,
): AsyncGenerator<SpeechChunk> {
  options.signal.throwIfAborted();
  for (const { start, end } of cutSentences(text)) {
    const written = text.slice(start, end);
    const sentence = options.language === 'en' ? spellNumerals(written) : written;
    if (!/[\p{L}\p{N}]/u.test(sentence)) continue;
    const answer = await queue.run({ text: sentence, speed: options.speed }, options);
    if (answer.samples === null) throw new SpeechError('unavailable', `The voice failed: ${answer.error}`);
    if (answer.samples.length === 0) continue;
    yield { samples: answer.samples, sampleRateHz: answer.sampleRateHz, words: null };
    options.signal.throwIfAborted();
  }
}

function startProcess(
  files: VoiceFiles,
  clock: Clock,
  listener: SentenceEngineListener<VoiceAnswer>,
): SentenceEngine<VoiceJob> {
  const child = startModelProcess(new URL('./sherpa-voice-process.ts', import.meta.url), files);
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
  let timeout: Timer | null = null;
  child.on('message', (answer) => {
    timeout?.cancel();
    listener.onAnswer(answer as VoiceAnswer);
  });
  child.on('error', (error) => listener.onExit(error));
  child.on('exit', (code, signal) => {
    timeout?.cancel();
    listener.onExit(new Error(describeExit(code, signal)));
  });
  return {
    post(job) {
      timeout = clock.after(SENTENCE_TIMEOUT_MS, () => child.kill('SIGKILL'));
      child.send(job, () => {});
    },
    end: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
