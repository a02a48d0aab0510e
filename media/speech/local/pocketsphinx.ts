/**
 * Local recognition with Debian's pocketsphinx, one process per utterance, with a grammar of the agent's
 * keyterms or else its own language model. The program is started directly, never through a shell; the number
 * of concurrent processes is limited, and an aborted one is killed.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { open, rm, unlink } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { Clock } from '#base/clock.ts';
import { descriptorPath } from '#base/platform.ts';
import { type RecognitionOptions, type RecognitionStream, type Recognizer, SpeechError } from '../speech.ts';
import { openUtteranceStream } from '../utterance-stream.ts';
import { keytermGrammar, type PronouncingDictionary, readDictionary } from './keyterm-grammar.ts';
import { describeExit } from './process-exit.ts';

const PROGRAM = 'pocketsphinx_continuous';
const MODEL_RATE_HZ = 16_000;
const MAX_PROCESSES = 2;
const TRANSCRIPT_TIMEOUT_MS = 8_000;
const MAX_OUTPUT_CHARS = 16_384;
/** Descriptors of the program: the first ones after its output. */
const [AUDIO_FD, GRAMMAR_FD] = [3, 4] as const;

/** Finds the program on this search path; null if it is missing. Nothing is run. */
export function findPocketsphinx(searchPath: string): string | null {
  const candidates = searchPath.split(delimiter).filter(isAbsolute);
  return candidates.map((directory) => join(directory, PROGRAM)).find(isExecutable) ?? null;
}

/** Prepares recognition with the program at this path. */
export async function openPocketsphinx(program: string, clock: Clock): Promise<Recognizer> {
  const engine = {
    program,
    dictionary: await readDictionary(findDictionary(program)),
    slots: new Slots(MAX_PROCESSES),
  };
  return {
    id: 'local:pocketsphinx',
    givesInterims: false,
    expectedFinalMs: 500,
    open: (options) => openStream(engine, options, clock),
  };
}

interface Engine {
  readonly program: string;
  readonly dictionary: PronouncingDictionary;
  readonly slots: Slots;
}

function openStream(engine: Engine, recognition: RecognitionOptions, clock: Clock): RecognitionStream {
  // Needed only with the first utterance, so that opening does not wait for it.
  const making = keytermGrammar(recognition.keyterms, engine.dictionary);
  const transcribe = async (samples: Int16Array, signal: AbortSignal) => {
    if (recognition.language !== 'en')
      throw new SpeechError('bad_request', 'pocketsphinx recognises English only');
    const grammar = await making;
    await engine.slots.take(signal);
    try {
      return await runOnce(engine.program, {
        samples: toModelRate(samples, recognition.sampleRateHz),
        grammar,
        signal,
      });
    } finally {
      engine.slots.release();
    }
  };
  return openUtteranceStream({
    recognition,
    transcribe,
    clock,
    deadlineMs: TRANSCRIPT_TIMEOUT_MS,
    knowsPhrasesOnly: recognition.keyterms.length > 0,
  });
}

async function runOnce(
  program: string,
  { samples, grammar, signal }: { samples: Int16Array; grammar: string | null; signal: AbortSignal },
): Promise<string> {
  const files: InputFile[] = [];
  try {
    const audio = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
    files.push(await inputFile('-infile', AUDIO_FD, audio));
    if (grammar !== null) files.push(await inputFile('-jsgf', GRAMMAR_FD, Buffer.from(grammar)));
    return await outputOf(program, files, signal);
  } finally {
    await Promise.allSettled(files.map((file) => file.close()));
  }
}

/** A file for an option of the program. */
interface InputFile {
  readonly option: string;
  /** Under which the program opens it. */
  readonly path: string;
  /** In this process. */
  readonly descriptor: number;
  close(): Promise<void>;
}

/**
 * The file has no name where a program can open a descriptor instead: even if this process is killed, no
 * caller's voice stays on the disk.
 */
async function inputFile(option: string, inherited: number, content: Buffer): Promise<InputFile> {
  const name = join(tmpdir(), `parley-${randomUUID()}`);
  const file = await open(name, 'wx+', 0o600);
  const path = descriptorPath(inherited);
  const close = async () => {
    try {
      await file.close();
    } finally {
      await rm(name, { force: true });
    }
  };
  try {
    if (path !== null) await unlink(name);
    // Written at a position, so that the descriptor still points to the start.
    await file.write(content, 0, content.length, 0);
  } catch (error) {
    await close();
    throw error;
  }
  return { option, path: path ?? name, descriptor: file.fd, close };
}

/** Returns the program's output, one line per recognised segment; rejects if it fails or is aborted. */
function outputOf(program: string, files: readonly InputFile[], signal: AbortSignal): Promise<string> {
  const args = ['-logfn', devNull, ...files.flatMap(({ option, path }) => [option, path])];
  return new Promise((resolve, reject) => {
    const stdio = [
      'ignore' as const,
      'pipe' as const,
      'ignore' as const,
      ...files.map((file) => file.descriptor),
    ];
    // An empty environment: ours contains secrets.
    const child = spawn(program, args, { env: {}, stdio, signal, killSignal: 'SIGKILL', shell: false });
    let printed = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (printed.length < MAX_OUTPUT_CHARS) printed += text;
    });
    child.on('error', (error) =>
      reject(
        signal.aborted
          ? signal.reason
          : new SpeechError('unavailable', 'pocketsphinx cannot be run', { cause: error }),
      ),
    );
    child.on('close', (code, exitSignal) => {
      if (code === 0) resolve(printed.replace(/\s+/g, ' ').trim());
      else reject(new SpeechError('unavailable', `pocketsphinx failed: ${describeExit(code, exitSignal)}`));
    });
  });
}

/**
 * Converts samples to the rate of the acoustic model. Telephone audio is upsampled by inserting zeros, which
 * mirrors its spectrum into the upper band: the model expects energy there, and recognises far more than with
 * clean interpolation.
 */
function toModelRate(samples: Int16Array, rateHz: number): Int16Array {
  if (rateHz === MODEL_RATE_HZ) return samples;
  if (rateHz * 2 !== MODEL_RATE_HZ)
    throw new SpeechError('bad_request', `pocketsphinx takes 8 or 16 kHz, not ${rateHz} Hz`);
  const doubled = new Int16Array(samples.length * 2);
  for (const [index, sample] of samples.entries()) doubled[2 * index] = sample;
  return doubled;
}

/** The dictionary installed with the program, or null. */
function findDictionary(program: string): string | null {
  const path = join(dirname(dirname(program)), 'share/pocketsphinx/model/en-us/cmudict-en-us.dict');
  return existsSync(path) ? path : null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Limits concurrency; further work waits in order. */
class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  take(signal: AbortSignal): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const proceed = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        const index = this.#waiting.indexOf(proceed);
        if (index !== -1) this.#waiting.splice(index, 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(proceed);
    });
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
