/**
 * Local synthesis with Flite: English, five voices, nothing to download. Sentences are synthesised one after
 * the other in a worker thread shared by all calls; one aborted while it waits is skipped.
 */
import { Worker } from 'node:worker_threads';
import { LOCAL_VOICES } from '#config/platform-models.ts';
import { type SpeechChunk, SpeechError, type SynthesisOptions, type Synthesizer } from '../speech.ts';
import { cutSentences } from '../text/sentences.ts';
import { alignWords, type TimedPhone } from '../text/word-times.ts';
import { type SentenceEngine, SentenceQueue, type SentenceReports } from './sentence-queue.ts';

/** A sentence for the thread. */
export interface FliteJob {
  readonly text: string;
  readonly voice: string;
  readonly speed: number;
}

/** The thread's answer; `phones` is Flite's own list of `name:endSeconds`. */
export interface FliteAnswer {
  readonly samples: Int16Array | null;
  readonly sampleRateHz: number;
  readonly phones: string;
  readonly error: string | null;
}

/** A synthesiser with a thread of its own. */
export interface FliteSynthesizer extends Synthesizer {
  close(): Promise<void>;
}

type FliteQueue = SentenceQueue<FliteJob, FliteAnswer>;

/** Silence kept before the first sentence, so that its first sound is not cut. */
const LEAD_IN_MS = 20;
const DEFAULT_VOICE = 'slt';

/** Starts the thread and synthesises a word, so that the first caller does not wait. */
export async function openFlite(): Promise<FliteSynthesizer> {
  const queue: FliteQueue = new SentenceQueue(startThread);
  const synthesise = (text: string, options: SynthesisOptions) => speak(queue, text, options);
  await queue.run(
    { text: 'Ready.', voice: DEFAULT_VOICE, speed: 1 },
    { signal: new AbortController().signal },
  );
  return {
    id: 'local',
    voices: LOCAL_VOICES,
    needsWords: true,
    synthesise,
    close: () => queue.close(),
  };
}

async function* speak(
  queue: FliteQueue,
  text: string,
  options: SynthesisOptions,
): AsyncGenerator<SpeechChunk> {
  const voice = LOCAL_VOICES.find((known) => known.id === options.voiceId)?.id ?? DEFAULT_VOICE;
  const readable = toAscii(text);
  let elapsedMs = 0;
  for (const sentence of cutSentences(readable)) {
    const words = readable.slice(sentence.start, sentence.end);
    if (!/[a-z0-9]/i.test(words)) continue;
    const answer = await queue.run({ text: words, voice, speed: options.speed }, options);
    const chunk = toChunk(answer, { words, textStart: sentence.start, elapsedMs });
    if (!chunk) continue;
    yield chunk;
    options.signal.throwIfAborted();
    elapsedMs += (chunk.samples.length * 1_000) / chunk.sampleRateHz;
  }
}

function toChunk(
  answer: FliteAnswer,
  at: { words: string; textStart: number; elapsedMs: number },
): SpeechChunk | null {
  if (answer.samples === null) throw new SpeechError('unavailable', `Flite failed: ${answer.error}`);
  const { samples, sampleRateHz } = answer;
  if (samples.length === 0 || sampleRateHz === 0) return null;
  const phones = parsePhones(answer.phones);
  // Before the first sentence a pause would only delay the caller; between sentences it separates them.
  const pauseMs =
    at.elapsedMs === 0 && phones[0]?.name === 'pau' ? Math.max(0, phones[0].endMs - LEAD_IN_MS) : 0;
  const skipped = Math.min(samples.length, Math.floor((pauseMs * sampleRateHz) / 1_000));
  const shiftMs = at.elapsedMs - (skipped * 1_000) / sampleRateHz;
  const words = alignWords(at.words, phones).map((word) => ({
    textStart: at.textStart + word.textStart,
    textEnd: at.textStart + word.textEnd,
    startMs: word.startMs + shiftMs,
    endMs: word.endMs + shiftMs,
  }));
  return { samples: samples.subarray(skipped), sampleRateHz, words };
}

/** Parses the phones that Flite prints. */
export function parsePhones(printed: string): TimedPhone[] {
  return [...printed.matchAll(/(?<![^\s:])([^\s:]+):(\d+(?:\.\d+)?)/g)].map((match) => ({
    name: match[1] ?? '',
    endMs: Number(match[2]) * 1_000,
  }));
}

/**
 * Transliterates the text to letters Flite knows, one character for one, so that positions match the original
 * text.
 */
function toAscii(text: string): string {
  return text.replace(/[^\n -~]/g, (character) => {
    if ('‘’'.includes(character)) return "'";
    if ('“”«»'.includes(character)) return '"';
    if ('–—…'.includes(character)) return ',';
    const base = character.normalize('NFD').charAt(0);
    return /[a-z]/i.test(base) ? base : ' ';
  });
}

function startThread(reports: SentenceReports<FliteAnswer>): SentenceEngine<FliteJob> {
  const worker = new Worker(new URL('./flite-thread-entry.ts', import.meta.url), { name: 'flite' });
  worker.unref();
  worker.on('message', (answer: FliteAnswer) => reports.answered(answer));
  worker.on('error', (error) => reports.lost(error));
  worker.on('exit', () => reports.lost(new Error('the thread ended')));
  return { post: (job) => worker.postMessage(job), end: () => worker.terminate() };
}
