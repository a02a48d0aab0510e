/**
 * Local synthesis with eSpeak NG if installed (`npm run espeak`): robotic, but it speaks nearly every
 * language of an agent. eSpeak NG is under the GPL and stays outside this program: `espeak/program.ts` runs
 * as a separate process, one sentence after the other over a pipe.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import { typeOptions } from '#base/type-options.ts';
import { SPEAKING_LANGUAGES } from '#config/languages.ts';
import type { ProviderVoice } from '#config/vendors.ts';
import { SampleReader } from '../audio/pcm-bytes.ts';
import { defaultVoice } from '../default-voice.ts';
import { type SpeechChunk, SpeechError, type SynthesisOptions, type Synthesizer } from '../speech.ts';
import { cutSentences } from '../text/sentences.ts';
import { describeExit } from './process-exit.ts';
import { type SentenceEngine, type SentenceEngineListener, SentenceQueue } from './sentence-queue.ts';

/** A synthesiser with a process of its own. */
export interface EspeakSynthesizer extends Synthesizer {
  close(): Promise<void>;
}

interface EspeakJob {
  readonly text: string;
  readonly voice: string;
  readonly wordsPerMinute: number;
}

const place = z.number().int().nonnegative();
const answer = z.union([
  z.object({
    sampleRateHz: z.number().int().positive(),
    samples: z.string(),
    words: z.array(z.tuple([place, place, z.number(), z.number()])),
  }),
  z.object({ error: z.string() }),
]);
type EspeakAnswer = z.output<typeof answer>;
type EspeakQueue = SentenceQueue<EspeakJob, EspeakAnswer>;

const FOLDER = fileURLToPath(new URL('../espeak', import.meta.url));
const WORDS_PER_MINUTE = 165;
/** Longest wait for a sentence. One takes a few milliseconds, the program's start half a second. */
const SENTENCE_TIMEOUT_MS = 8_000;

/** eSpeak NG's codes that differ from ISO 639-1. */
const CODES: Readonly<Record<string, string>> = { zh: 'cmn', no: 'nb' };
/**
 * Languages without a voice, or whose usual script it cannot read: it spells out Japanese characters, guesses
 * at Thai ones, and Hebrew omits vowels.
 */
const UNSPOKEN = new Set<string>(['tl', 'ja', 'th', 'he']);

const NAMES = new Intl.DisplayNames(['en'], { type: 'language' });
const VOICES: readonly ProviderVoice[] = SPEAKING_LANGUAGES.filter((language) => !UNSPOKEN.has(language)).map(
  (language) => ({
    id: `espeak-${language}`,
    name: `eSpeak (${NAMES.of(language)})`,
    languages: [language],
  }),
);

/** Its voices if it is installed, otherwise none. Nothing is run. */
export function detectEspeakVoices(): readonly ProviderVoice[] {
  return existsSync(`${FOLDER}/node_modules/@echogarden/espeak-ng-emscripten`) ? VOICES : [];
}

/** Creates the synthesiser; the program starts when a call is announced, or with the first sentence. */
export function createEspeak(clock: Clock, program: string = `${FOLDER}/program.ts`): EspeakSynthesizer {
  const queue: EspeakQueue = new SentenceQueue((listener) => startProgram(program, clock, listener));
  return {
    id: 'local:espeak',
    voices: VOICES,
    prepare: () => queue.prepare(),
    synthesise: (text, options) => synthesise(queue, text, options),
    close: () => queue.close(),
  };
}

async function* synthesise(
  queue: EspeakQueue,
  text: string,
  options: SynthesisOptions,
): AsyncGenerator<SpeechChunk> {
  options.signal.throwIfAborted();
  const voiceId =
    VOICES.find(({ id }) => id === options.voiceId)?.id ?? defaultVoice(VOICES, options.language);
  const language = voiceId.slice('espeak-'.length);
  const plainText = toPlainText(text);
  let elapsedMs = 0;
  for (const { start, end } of cutSentences(plainText)) {
    const sentence = plainText.slice(start, end);
    if (!/[\p{L}\p{N}]/u.test(sentence)) continue;
    const job = {
      text: sentence,
      voice: CODES[language] ?? language,
      wordsPerMinute: Math.round(WORDS_PER_MINUTE * options.speed),
    };
    const speech = await queue.run(job, options);
    if ('error' in speech) throw new SpeechError('unavailable', `eSpeak failed: ${speech.error}`);
    const samples = new SampleReader().read(Buffer.from(speech.samples, 'base64'));
    if (samples.length === 0) continue;
    const words = speech.words
      .filter(([from, to]) => /^\S+$/.test(sentence.slice(from, to)))
      .map(([from, to, startMs, endMs]) => ({
        textStart: start + from,
        textEnd: start + to,
        startMs: startMs + elapsedMs,
        endMs: endMs + elapsedMs,
      }));
    yield { samples, sampleRateHz: speech.sampleRateHz, words };
    options.signal.throwIfAborted();
    elapsedMs += (samples.length * 1_000) / speech.sampleRateHz;
  }
}

/**
 * Replaces markup and emoji and keeps every other character in place, so that positions match the original
 * text.
 */
function toPlainText(text: string): string {
  return text.replace(/[<>&[\]\s\p{Cc}\u{10000}-\u{10FFFF}]/gu, (character) => ' '.repeat(character.length));
}

function startProgram(
  program: string,
  clock: Clock,
  listener: SentenceEngineListener<EspeakAnswer>,
): SentenceEngine<EspeakJob> {
  // An empty environment: ours contains secrets.
  const child = spawn(execPath, [...typeOptions, program], { env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
  // It ends with this process and does not keep it alive.
  child.unref();
  for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as Socket).unref();
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
  let timeout: Timer | null = null;
  child.stdin.on('error', () => {});
  child.on('error', (error) => listener.onExit(error));
  child.on('close', (code, signal) => {
    timeout?.cancel();
    listener.onExit(new Error(describeExit(code, signal)));
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    timeout?.cancel();
    listener.onAnswer(parseJson(answer, line) ?? { error: 'an answer in an unexpected format' });
  });
  return {
    post(job) {
      timeout = clock.after(SENTENCE_TIMEOUT_MS, () => child.kill('SIGKILL'));
      child.stdin.write(`${JSON.stringify(job)}\n`);
    },
    end: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
