/**
 * Decodes recordings in threads: one that makes no progress for a while is terminated, so that a file which
 * hangs or kills the decoder affects only its own request. After a good file the thread is kept for the next.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '#base/clock.ts';
import { SpeechJobError } from './speech-jobs.ts';

/** Rate of decoded audio, Hz. */
export const DECODED_RATE_HZ = 16_000;

/** A thread's message: progress, or the result. */
export type FromDecoder =
  | { readonly type: 'progress' }
  | { readonly type: 'decoded'; readonly samples: Int16Array<ArrayBuffer> }
  | { readonly type: 'failed'; readonly failure: SpeechJobError['failure'] | null; readonly message: string };

/** A request to the thread. */
export interface DecodeRequest {
  /** Its memory is transferred to the thread. */
  readonly file: Uint8Array<ArrayBuffer>;
  readonly longestSeconds: number;
}

/**
 * Decodes a whole file to mono samples at `DECODED_RATE_HZ`. Throws `SpeechJobError`, or the signal's reason
 * if aborted.
 */
export type Decode = (request: DecodeRequest & { readonly signal: AbortSignal }) => Promise<Int16Array>;

/** Most idle threads kept for the next file. */
const MAX_IDLE = 1;
/**
 * A batch of packets takes milliseconds: a thread without progress for this long hangs. With progress the
 * limit is the longest audio accepted.
 */
const SILENCE_MS = 10_000;
/** Replaces the handlers of the last file. */
const NOTHING = () => {};

/** Options; `entry` is the program of a thread, which tests replace. */
export interface DecoderOptions {
  readonly clock: Clock;
  readonly entry?: URL;
}

/** Creates a decoder; starts no thread yet. */
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
      if (idle.length < MAX_IDLE) idle.push(thread);
      else thread.end();
      return samples;
    } catch (error) {
      // The decoder's memory after a damaged file must not affect the next one.
      thread.end();
      throw error;
    }
  };
}

/** A thread and the file it decodes. */
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
    const hangs = () => fail('decoding never ends');
    let silence = this.#clock.after(SILENCE_MS, hangs);
    const onAbort = () => outcome.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#onDeath = () => fail('the decoder crashed');
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
