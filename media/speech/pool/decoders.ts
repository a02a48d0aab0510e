/**
 * Decodes recordings apart: each in a thread of its own that ends when it says nothing for a while, so that a
 * file which hangs or kills the decoder costs its own request only. A thread that has decoded a file well is
 * kept for the next.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '#base/clock.ts';
import { SpeechJobError } from './speech-jobs.ts';

/** What a thread tells: that it goes on, how it ended. */
export type FromDecoder =
  | { readonly type: 'progress' }
  | { readonly type: 'decoded'; readonly samples: Int16Array<ArrayBuffer> }
  | { readonly type: 'failed'; readonly failure: SpeechJobError['failure'] | null; readonly message: string };

/** What it is asked. */
export interface DecodeRequest {
  /** Its memory goes to the thread. */
  readonly file: Uint8Array<ArrayBuffer>;
  readonly longestSeconds: number;
}

/**
 * Decodes a whole file to mono samples of `DECODED_RATE_HZ`. Throws `SpeechJobError`, or the signal's reason
 * when aborted.
 */
export type Decode = (request: DecodeRequest & { readonly signal: AbortSignal }) => Promise<Int16Array>;

/** Threads that wait for the next file. */
const MOST_IDLE = 1;
/**
 * A batch of packets takes milliseconds: a thread that says nothing for this long hangs. One that goes on is
 * bounded by the longest audio taken.
 */
const SILENCE_MS = 10_000;
/** Holds nothing of the file before. */
const NOTHING = () => {};

/** How it is made; `entry` is the program of a thread, another one in tests. */
export interface DecoderOptions {
  readonly clock: Clock;
  readonly entry?: URL;
}

/** Makes a decoder; no thread runs yet. */
export function createDecoders({
  clock,
  entry = new URL('./decoder-entry.ts', import.meta.url),
}: DecoderOptions): Decode {
  const idle: DecoderThread[] = [];
  return async ({ file, longestSeconds, signal }) => {
    signal.throwIfAborted();
    const kept = idle.pop();
    const thread = kept?.isAlive ? kept : new DecoderThread(entry, clock);
    try {
      const samples = await thread.decode({ file, longestSeconds }, signal);
      if (idle.length < MOST_IDLE) idle.push(thread);
      else thread.end();
      return samples;
    } catch (error) {
      // What a damaged file left behind in the decoder's memory is not for the next file.
      thread.end();
      throw error;
    }
  };
}

/** One thread and the file it decodes. */
class DecoderThread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  #onMessage: (message: FromDecoder) => void = NOTHING;
  #onDeath: () => void = NOTHING;
  isAlive = true;

  constructor(entry: URL, clock: Clock) {
    this.#clock = clock;
    this.#worker = new Worker(entry, { name: 'decoder', stderr: true });
    // libav writes a line for every file it cannot open.
    this.#worker.stderr.resume();
    this.#worker.unref();
    this.#worker.on('message', (message: FromDecoder) => this.#onMessage(message));
    const died = () => {
      this.isAlive = false;
      this.#onDeath();
    };
    this.#worker.on('error', died).on('exit', died);
  }

  async decode(request: DecodeRequest, signal: AbortSignal): Promise<Int16Array> {
    const outcome = Promise.withResolvers<Int16Array>();
    const fail = (why: string) =>
      outcome.reject(new SpeechJobError('audio_unreadable', `The audio cannot be decoded: ${why}`));
    const hangs = () => fail('it keeps the decoder busy without end');
    let silence = this.#clock.after(SILENCE_MS, hangs);
    const onAbort = () => outcome.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#onDeath = () => fail('it stops the decoder');
    this.#onMessage = (message) => {
      silence.cancel();
      silence = this.#clock.after(SILENCE_MS, hangs);
      if (message.type === 'decoded') outcome.resolve(message.samples);
      if (message.type === 'failed')
        outcome.reject(
          message.failure ? new SpeechJobError(message.failure, message.message) : new Error(message.message),
        );
    };
    const { file } = request;
    this.#worker.postMessage(request, file.byteLength === file.buffer.byteLength ? [file.buffer] : []);
    try {
      return await outcome.promise;
    } finally {
      this.#onMessage = NOTHING;
      this.#onDeath = NOTHING;
      silence.cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }

  end(): void {
    void this.#worker.terminate();
  }
}
