/**
 * Audio between a vendor's socket and the reader of a synthesis: in order, ended or failed once, and failed
 * as `stalled` if nothing arrives for too long.
 */
import type { Clock, Timer } from '#base/clock.ts';
import { type SpeechChunk, SpeechError } from '../../speech.ts';

/** Longest wait for the vendor's next message, ms. */
const STALL_MS = 5_000;

/** The chunks of one synthesis. */
export class ChunkQueue {
  readonly #clock: Clock;
  readonly #vendor: string;
  readonly #chunks: SpeechChunk[] = [];
  #over: { readonly error: unknown } | null = null;
  #deadline: Timer;
  #wake: () => void = () => {};

  constructor(vendor: string, clock: Clock) {
    this.#clock = clock;
    this.#vendor = vendor;
    this.#deadline = this.#arm();
  }

  push(chunk: SpeechChunk): void {
    if (this.#over || chunk.samples.length === 0) return;
    this.#deadline.cancel();
    this.#deadline = this.#arm();
    this.#chunks.push(chunk);
    this.#wake();
  }

  end(): void {
    this.#finish(null);
  }

  /** Drops unread chunks. */
  fail(error: unknown): void {
    if (this.#over) return;
    this.#chunks.length = 0;
    this.#finish(error);
  }

  /**
   * Yields the chunks as they arrive; throws the failure, or the signal's reason at once. Can be read once.
   */
  async *read(signal: AbortSignal): AsyncGenerator<SpeechChunk> {
    const onAbort = () => this.fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const chunk = this.#chunks.shift();
        if (chunk) yield chunk;
        else if (!this.#over) await this.#next();
        else if (this.#over.error === null) return;
        else throw this.#over.error;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#finish(null);
    }
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #finish(error: unknown): void {
    this.#deadline.cancel();
    this.#over ??= { error };
    this.#wake();
  }

  #arm(): Timer {
    return this.#clock.after(STALL_MS, () =>
      this.fail(new SpeechError('stalled', `${this.#vendor} sent nothing for ${STALL_MS} ms`)),
    );
  }
}
