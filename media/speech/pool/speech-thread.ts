/**
 * A speech thread and the places on it. It starts with its first work. If it dies, its work fails; if it
 * gives no sign of life for 10 s it is terminated, and another starts with the next request.
 */
import type { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '#base/clock.ts';
import { type Listener, PieceQueue } from './piece-queue.ts';
import {
  type AudioPiece,
  type FromThread,
  type JobFailure,
  type Segment,
  type SpeakOptions,
  SpeechJobError,
  type ToThread,
  type TranscribeOptions,
  type Transcript,
} from './speech-jobs.ts';

/** Speech in progress: segments go in, pieces come out at the reader's pace. */
export interface Speaking extends AsyncIterable<AudioPiece> {
  say(segment: Segment): void;
  /** No more text follows. */
  end(): void;
}

/** A place in the pool, held from admission to `release`. */
export interface SpeechSlot {
  /**
   * Starts to speak. Reading throws `SpeechJobError`, or the signal's reason once aborted, which also stops
   * the work.
   */
  speak(options: SpeakOptions, signal: AbortSignal): Speaking;
  /** Recognises a recording, whose memory is transferred. Throws like `speak`. */
  transcribe(
    audio: Uint8Array<ArrayBuffer>,
    options: TranscribeOptions,
    signal: AbortSignal,
  ): Promise<Transcript>;
  /** Idempotent. */
  release(): void;
}

/** A working thread is pinged at this interval; after this many unanswered pings it counts as hung. */
const PING_MS = 2_500;
const MAX_UNANSWERED_PINGS = 4;
/** The same during its start, while it opens engines. */
const MAX_UNANSWERED_PINGS_AT_START = 24;
/** Longest wait for a thread to close. */
const CLOSING_MS = 5_000;

/** A thread and the places on it. */
export class SpeechThread {
  readonly #options: { readonly start: () => Worker; readonly places: number; readonly clock: Clock };
  /** Places taken, by account. */
  readonly #taken = new Map<string, number>();
  #nextId = 0;
  #worker: Worker | null = null;
  #isClosed = false;
  #watch: Timer | null = null;
  #unansweredPings = 0;
  #hasStarted = false;
  readonly #listeners = new Map<number, Listener>();

  constructor(options: { readonly start: () => Worker; readonly places: number; readonly clock: Clock }) {
    this.#options = options;
  }

  get load(): number {
    return [...this.#taken.values()].reduce((sum, places) => sum + places, 0);
  }

  get accounts(): string[] {
    return [...this.#taken.keys()];
  }

  /** Its engines are open. */
  get isOpen(): boolean {
    return this.#worker !== null && this.#hasStarted;
  }

  loadOf(account: string): number {
    return this.#taken.get(account) ?? 0;
  }

  get hasRoom(): boolean {
    return !this.#isClosed && this.load < this.#options.places;
  }

  /**
   * `hasOthers` is called when the place gets speech and for each piece of it, `onWork` when it gets work,
   * `onRelease` once.
   */
  take(
    account: string,
    {
      hasOthers,
      onWork,
      onRelease,
    }: { readonly hasOthers: () => boolean; readonly onWork: () => void; readonly onRelease: () => void },
  ): SpeechSlot {
    this.#add(account, 1);
    let isReleased = false;
    return {
      speak: (options, signal) => {
        onWork();
        return this.#speak({ account, options }, hasOthers, signal);
      },
      transcribe: (audio, options, signal) => {
        onWork();
        return this.#transcribe(audio, options, signal);
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#add(account, -1);
        onRelease();
      },
    };
  }

  #add(account: string, places: number): void {
    const taken = this.loadOf(account) + places;
    if (taken > 0) this.#taken.set(account, taken);
    else this.#taken.delete(account);
  }

  /** Starts the thread before work arrives. */
  open(): void {
    if (!this.#isClosed) this.#start();
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = this.#options.start();
    worker.unref();
    worker.on('message', (message: FromThread) => this.#received(worker, message));
    worker.on('error', (error) => this.#onExit(worker, error.message));
    worker.on('exit', () => this.#onExit(worker, 'the thread ended'));
    this.#worker = worker;
    this.#hasStarted = false;
    return worker;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    if (!worker) return;
    const closed = new Promise<void>((resolve) => {
      worker.on('message', (message: FromThread) => {
        if (message.type === 'closed') resolve();
      });
      worker.once('exit', () => resolve());
    });
    worker.postMessage({ type: 'close' } satisfies ToThread);
    const { promise: isLate, resolve: giveUp } = Promise.withResolvers<void>();
    const timer = this.#options.clock.after(CLOSING_MS, giveUp);
    await Promise.race([closed, isLate]);
    timer.cancel();
    this.#rest();
    await worker.terminate();
  }

  #speak(
    asked: { readonly account: string; readonly options: SpeakOptions },
    mustShare: () => boolean,
    signal: AbortSignal,
  ): Speaking {
    const id = this.#nextId++;
    const pieces = new PieceQueue(() => this.#send({ type: 'taken', id, mustShare: mustShare() }));
    this.#begin(id, pieces, signal);
    this.#send({ type: 'speak', id, ...asked, mustShare: mustShare() });
    return {
      say: (segment) => this.#send({ type: 'segment', id, segment }),
      end: () => this.#send({ type: 'segment', id, segment: null }),
      [Symbol.asyncIterator]: () => pieces.read(),
    };
  }

  #transcribe(
    audio: Uint8Array<ArrayBuffer>,
    options: TranscribeOptions,
    signal: AbortSignal,
  ): Promise<Transcript> {
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<Transcript>();
    this.#begin(
      id,
      { piece: () => {}, over: (transcript) => transcript && resolve(transcript), failed: reject },
      signal,
    );
    const isWhole = audio.byteLength === audio.buffer.byteLength;
    this.#send({ type: 'transcribe', id, audio, options }, isWhole ? [audio.buffer] : []);
    return promise;
  }

  #begin(id: number, listener: Listener, signal: AbortSignal): void {
    const forget = () => {
      this.#listeners.delete(id);
      signal.removeEventListener('abort', onAbort);
    };
    const onAbort = () => {
      if (!this.#listeners.has(id)) return;
      forget();
      this.#send({ type: 'cancel', id });
      listener.failed(signal.reason);
    };
    this.#listeners.set(id, {
      piece: (piece) => listener.piece(piece),
      over: (transcript) => {
        forget();
        listener.over(transcript);
      },
      failed: (error) => {
        forget();
        listener.failed(error);
      },
    });
    signal.addEventListener('abort', onAbort, { once: true });
    // Aborted before it began: cancels it once the caller awaits the result.
    if (signal.aborted) queueMicrotask(onAbort);
  }

  #send(message: ToThread, transfer: ArrayBuffer[] = []): void {
    if (this.#isClosed) return;
    this.#start().postMessage(message, transfer);
    this.#watch ??= this.#options.clock.every(PING_MS, () => this.#ask());
  }

  /**
   * Pings the thread while it has work or a ping is unanswered. Each late round counts as one: if our own
   * loop was blocked, the thread is not blamed.
   */
  #ask(): void {
    const worker = this.#worker;
    if (!worker || (this.#unansweredPings === 0 && this.#listeners.size === 0)) {
      this.#rest();
      return;
    }
    if (this.#unansweredPings >= (this.#hasStarted ? MAX_UNANSWERED_PINGS : MAX_UNANSWERED_PINGS_AT_START)) {
      this.#onExit(worker, `no sign of life for ${(this.#unansweredPings * PING_MS) / 1_000} s`);
      void worker.terminate();
      return;
    }
    this.#unansweredPings += 1;
    worker.postMessage({ type: 'ping' } satisfies ToThread);
  }

  #rest(): void {
    this.#watch?.cancel();
    this.#watch = null;
    this.#unansweredPings = 0;
  }

  #received(worker: Worker, message: FromThread): void {
    if (worker !== this.#worker) return;
    this.#unansweredPings = 0;
    this.#hasStarted = true;
    if (message.type === 'closed' || message.type === 'alive') return;
    const listener = this.#listeners.get(message.id);
    if (message.type === 'piece') listener?.piece(message.piece);
    else if (message.type === 'failed')
      listener?.failed(new SpeechJobError(message.failure, message.message));
    else listener?.over(message.type === 'transcript' ? message.transcript : null);
  }

  #onExit(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#rest();
    const failure: JobFailure = 'unavailable';
    for (const listener of [...this.#listeners.values()])
      listener.failed(new SpeechJobError(failure, `The speech engine stopped: ${why}`));
  }
}
