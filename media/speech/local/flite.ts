/**
 * Local synthesis with Flite: English, five voices, nothing to download. One worker thread synthesises the
 * sentences of all calls, one at a time.
 */
import { Worker } from 'node:worker_threads';
import { LOCAL_VOICES } from '#config/platform-models.ts';
import { type SpeechChunk, SpeechError, type SynthesisOptions, type Synthesizer } from '../speech.ts';
import { cutSentences } from '../text/sentences.ts';
import { alignWords, type TimedPhone } from '../text/word-times.ts';
import { type SentenceEngine, type SentenceEngineListener, SentenceQueue } from './sentence-queue.ts';

/** A sentence for the thread. */
export interface FliteJob {
  readonly text: string;
  readonly voice: string;
  readonly speed: number;
}

/** The thread's answer; `phones` is what Flite prints: a `name:endSeconds` for each phone. */
export interface FliteAnswer {
  readonly samples: Int16Array | null;
  readonly sampleRateHz: number;
  readonly phones: string;
  readonly error: string | null;
}

/** A synthesiser that owns a thread. */
export interface FliteSynthesizer extends Synthesizer {
  close(): Promise<void>;
}

type FliteQueue = SentenceQueue<FliteJob, FliteAnswer>;

/** Silence kept at the start of the audio, so that its first sound is not cut off. */
const LEAD_IN_MS = 20;
const DEFAULT_VOICE = 'slt';

/** Starts the thread and synthesises one word, so that the first caller does not wait for that. */
export async function openFlite(): Promise<FliteSynthesizer> {
  const queue: FliteQueue = new SentenceQueue(startThread);
  await queue.run(
    { text: 'Ready.', voice: DEFAULT_VOICE, speed: 1 },
    { signal: new AbortController().signal },
  );
  return {
    id: 'local',
    voices: LOCAL_VOICES,
    needsWords: true,
    synthesise: (text, options) => synthesise(queue, text, options),
    close: () => queue.close(),
  };
}

async function* synthesise(
  queue: FliteQueue,
  text: string,
  options: SynthesisOptions,
): AsyncGenerator<SpeechChunk> {
  const voice = LOCAL_VOICES.find(({ id }) => id === options.voiceId)?.id ?? DEFAULT_VOICE;
  const asciiText = toAscii(text);
  let elapsedMs = 0;
  for (const sentence of cutSentences(asciiText)) {
    const sentenceText = asciiText.slice(sentence.start, sentence.end);
    if (!/[a-z0-9]/i.test(sentenceText)) continue;
    const answer = await queue.run({ text: sentenceText, voice, speed: options.speed }, options);
    const chunk = toChunk(answer, { text: sentenceText, textStart: sentence.start, elapsedMs });
    if (!chunk) continue;
    yield chunk;
    options.signal.throwIfAborted();
    elapsedMs += (chunk.samples.length * 1_000) / chunk.sampleRateHz;
  }
}

function toChunk(
  answer: FliteAnswer,
  sentence: { text: string; textStart: number; elapsedMs: number },
): SpeechChunk | null {
  if (answer.samples === null) throw new SpeechError('unavailable', `Flite failed: ${answer.error}`);
  const { samples, sampleRateHz } = answer;
  if (samples.length === 0 || sampleRateHz === 0) return null;
  const phones = parsePhones(answer.phones);
  // Flite begins each sentence with a pause. At the start of the audio it would only delay the caller.
  const skipMs =
    sentence.elapsedMs === 0 && phones[0]?.name === 'pau' ? Math.max(0, phones[0].endMs - LEAD_IN_MS) : 0;
  const skipped = Math.min(samples.length, Math.floor((skipMs * sampleRateHz) / 1_000));
  const shiftMs = sentence.elapsedMs - (skipped * 1_000) / sampleRateHz;
  const words = alignWords(sentence.text, phones).map((word) => ({
    textStart: sentence.textStart + word.textStart,
    textEnd: sentence.textStart + word.textEnd,
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
 * Replaces every character that is not ASCII by one that is, so that Flite can read the text and positions
 * still match the original.
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

function startThread(listener: SentenceEngineListener<FliteAnswer>): SentenceEngine<FliteJob> {
  const worker = new Worker(new URL('./flite-thread-entry.ts', import.meta.url), { name: 'flite' });
  worker.unref();
  worker.on('message', (answer: FliteAnswer) => listener.onAnswer(answer));
  worker.on('error', (error) => listener.onExit(error));
  worker.on('exit', () => listener.onExit(new Error('the thread ended')));
  return { post: (job) => worker.postMessage(job), end: () => worker.terminate() };
}
