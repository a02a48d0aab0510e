/**
 * Decodes the MP3 files of owners' servers in threads, a few at once. The others wait, and owners are
 * served in turn.
 */
import { FairQueue } from '../fair-queue.ts';
import { DECODED_RATE_HZ, type Decode } from '../pool/decoders.ts';
import { SpeechJobError } from '../pool/speech-jobs.ts';
import { SpeechError } from '../speech.ts';
import { OWN_SERVER } from './own-server.ts';
import type { ReadSamples } from './pcm-reader.ts';

/** Each is a thread with a decoder of its own. */
const AT_ONCE = 2;
/** Most files that wait, with their bytes in memory. */
const MAX_WAITING = 100;
/** Bytes of one owner that may precede those of others: a few sentences. */
const HEAD_START_BYTES = 256 * 1_024;

/** One file's options. */
interface DecodeOptions {
  /** Whose turn it is. */
  readonly owner: string;
  readonly longestSeconds: number;
  readonly signal: AbortSignal;
}

/** The decoder of a process. */
export class Mp3Decoder {
  readonly #decode: Decode;
  readonly #waiting = new FairQueue<() => void>(HEAD_START_BYTES);
  #waitingCount = 0;
  #running = 0;

  constructor(decode: Decode) {
    this.#decode = decode;
  }

  /** The samples of a whole file. Throws `SpeechError`, or the signal's reason. */
  async decode(
    pieces: readonly Uint8Array[],
    { owner, longestSeconds, signal }: DecodeOptions,
  ): Promise<ReadSamples> {
    const joined = Buffer.concat(pieces);
    await this.#turn(owner, joined.length, signal);
    try {
      const samples = await this.#decode({ file: new Uint8Array(joined), longestSeconds, signal });
      return { samples, sampleRateHz: DECODED_RATE_HZ };
    } catch (error) {
      throw error instanceof SpeechJobError
        ? new SpeechError('unavailable', `${OWN_SERVER} sent an MP3 that cannot be played: ${error.message}`)
        : error;
    } finally {
      this.#running--;
      this.#begin();
    }
  }

  async #turn(owner: string, bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#waitingCount >= MAX_WAITING)
      throw new SpeechError('overloaded', 'Too many MP3 files wait for a decoder: send audio/wav instead');
    const turn = Promise.withResolvers<void>();
    const begin = () => turn.resolve();
    const leave = () => {
      this.#waiting.remove(begin);
      turn.reject(signal.reason);
    };
    this.#waiting.add(owner, begin, bytes);
    this.#waitingCount++;
    signal.addEventListener('abort', leave, { once: true });
    this.#begin();
    try {
      await turn.promise;
    } finally {
      this.#waitingCount--;
      signal.removeEventListener('abort', leave);
    }
  }

  #begin(): void {
    while (this.#running < AT_ONCE) {
      const next = this.#waiting.next();
      if (!next) return;
      this.#running++;
      next();
    }
  }
}
