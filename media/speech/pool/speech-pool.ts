/**
 * A bounded pool of threads for speech, so that no decoding, synthesis or encoding ever runs on the API's
 * loop. Synthesis and recognition have threads of their own: a long recording must not hold up a live stream.
 * Threads start when they are first needed, and what a thread had is failed when it dies. One that gives no
 * sign of life for 10 s hangs: it is ended, and another starts with the next request.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '#base/clock.ts';
import type { Settings } from '#config/env.ts';
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
import type { SpeechThreadData } from './speech-thread-entry.ts';

/** What the pool is made of. */
export interface SpeechPoolOptions {
  readonly settings: Settings;
  /** The environment's `PATH`, where local programs are looked for. */
  readonly searchPath: string;
  /** Processor cores of the machine. */
  readonly cores: number;
  readonly clock: Clock;
  /** What each thread runs, unless it is the usual program. */
  readonly program?: URL;
}

/** Speech being made: segments go in, pieces come out as they are taken. */
export interface Speaking extends AsyncIterable<AudioPiece> {
  say(segment: Segment): void;
  /** Nothing more is to be said. */
  end(): void;
}

/** A place in the pool, held from admission to `release`. */
export interface SpeechSlot {
  /**
   * Starts to speak. The pieces throw `SpeechJobError`, or the signal's reason when it is aborted: the work
   * stops then.
   */
  speak(options: SpeakOptions, signal: AbortSignal): Speaking;
  /** Recognises a recording, whose memory goes to the thread. Throws as `speak` does. */
  transcribe(
    audio: Uint8Array<ArrayBuffer>,
    options: TranscribeOptions,
    signal: AbortSignal,
  ): Promise<Transcript>;
  /** Idempotent. */
  release(): void;
}

/** Kinds of work, each with threads of its own. */
export type SpeechWork = 'synthesis' | 'recognition';

/** The pool. */
export interface SpeechPool {
  /**
   * Takes a place for an account, or returns null when all are taken. Accounts share with each other that
   * have a place for such work, or asked for or had one within 10 s. One of several gets none of the last
   * tenth (one place at least) once it has its equal share of the places, and half of the threads while they
   * have room: however much it asks for, others find one that is not at its work.
   */
  take(work: SpeechWork, account: string): SpeechSlot | null;
  /** Starts the threads that would else start with the first request. */
  warm(): void;
  close(): Promise<void>;
}

/**
 * Streams a core carries without one of them falling behind its listener, beside an API that is asked without
 * a pause (`npm run bench:speech`): a second of MP3 costs 74 ms with the local voice, half of it the voice's;
 * with 8 a core the latest audio came 0.4 s late, with 6 none did.
 */
const STREAMS_PER_CORE = { local: 6, vendor: 20 };
/** Encoding alone fills a thread with about as many. */
const STREAMS_PER_THREAD = 20;
/** A recording is decoded at full speed. */
const RECORDINGS_PER_THREAD = 4;
const MOST_THREADS = 4;
/** One in so many places is for accounts that have less than their share. */
const PLACES_OF_A_NEWCOMER = 10;
/** So long another account that has no place, or none any more, is expected back. */
const REMEMBERED_MS = 10_000;
/** A thread that works is asked for a sign of life so often; it has died when it owes so many. */
const SIGN_MS = 2_500;
const MOST_OWED = 4;
/** Of a thread that is still starting: it opens engines. */
const MOST_OWED_AT_START = 24;
/** How long closing waits for a thread. */
const CLOSING_MS = 5_000;

/** Makes a pool; no thread runs yet. */
export function createSpeechPool(options: SpeechPoolOptions): SpeechPool {
  const data: SpeechThreadData = { settings: options.settings, searchPath: options.searchPath };
  const { clock, program = new URL('./speech-thread-entry.ts', import.meta.url) } = options;
  const thread = (places: number) =>
    new SpeechThread({
      start: () => new Worker(program, { name: 'speech', workerData: data }),
      places,
      clock,
    });
  const count = Math.max(1, Math.min(MOST_THREADS, options.cores - 1));
  const speakers = Math.max(2, count);
  const streams =
    options.cores * STREAMS_PER_CORE[options.settings.TTS_PROVIDER === 'local' ? 'local' : 'vendor'];
  const most = Math.min(STREAMS_PER_THREAD * speakers, Math.ceil(streams / speakers) * speakers);
  const groups = {
    synthesis: new ThreadGroup({
      places: most,
      threads: Array.from({ length: speakers }, () => thread(Math.min(STREAMS_PER_THREAD, most))),
      clock,
    }),
    recognition: new ThreadGroup({
      places: count * RECORDINGS_PER_THREAD,
      threads: Array.from({ length: count }, () => thread(RECORDINGS_PER_THREAD)),
      clock,
    }),
  };
  return {
    take: (work, account) => groups[work].take(account),
    warm: () => groups.synthesis.warm(),
    close: async () => {
      await Promise.all(Object.values(groups).map((group) => group.close()));
    },
  };
}

/** The threads of one kind of work, and which of them an account gets. */
class ThreadGroup {
  readonly #options: {
    readonly places: number;
    readonly threads: readonly SpeechThread[];
    readonly clock: Clock;
  };
  /** When accounts asked for a place or gave one back, the last one last. */
  readonly #seen = new Map<string, number>();

  constructor(options: {
    readonly places: number;
    readonly threads: readonly SpeechThread[];
    readonly clock: Clock;
  }) {
    this.#options = options;
  }

  take(account: string): SpeechSlot | null {
    const { places, threads } = this.#options;
    // Before anything is refused: who never had a place would else be unknown, and whoever has all could take
    // each one back as it is freed.
    this.#note(account);
    const taken = threads.reduce((sum, thread) => sum + thread.load, 0);
    const own = threads.filter((thread) => thread.loadOf(account) > 0);
    const accounts = this.#accounts(account);
    const mustShare = own.length > 0 && accounts > 1;
    const hasShare = own.reduce((sum, thread) => sum + thread.loadOf(account), 0) >= places / accounts;
    if (
      taken >=
      places - (mustShare && hasShare ? Math.max(1, Math.floor(places / PLACES_OF_A_NEWCOMER)) : 0)
    )
      return null;
    const leastBusy = (some: readonly SpeechThread[]) =>
      some.filter((thread) => thread.hasRoom).sort((a, b) => a.load - b.load)[0];
    const usual = mustShare && own.length >= Math.ceil(threads.length / 2) ? own : threads;
    const wanted = leastBusy(usual) ?? leastBusy(threads);
    // Engines take a second to open: who comes meanwhile has a turn on a thread that is open, and the next
    // one finds this open too.
    const open = wanted?.isOpen === false ? leastBusy(threads.filter(({ isOpen }) => isOpen)) : undefined;
    return (
      (open ?? wanted)?.take(account, {
        hasOthers: () => this.#accounts(account) > 1,
        onWork: () => wanted?.open(),
        onRelease: () => this.#note(account),
      }) ?? null
    );
  }

  warm(): void {
    this.#options.threads[0]?.open();
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.threads.map((thread) => thread.close()));
  }

  /**
   * How many accounts there are: this one, and others that have a place, or asked for or had one a moment
   * ago.
   */
  #accounts(account: string): number {
    const now = this.#options.clock.now();
    for (const [other, at] of this.#seen) {
      if (now - at < REMEMBERED_MS) break;
      this.#seen.delete(other);
    }
    return new Set([
      account,
      ...this.#seen.keys(),
      ...this.#options.threads.flatMap((thread) => thread.accounts),
    ]).size;
  }

  #note(account: string): void {
    this.#seen.delete(account);
    this.#seen.set(account, this.#options.clock.now());
    const [oldest] = this.#seen.keys();
    // With as many as there are places, one of them is all that anybody's share is.
    if (oldest !== undefined && this.#seen.size > this.#options.places) this.#seen.delete(oldest);
  }
}

/** One thread and the places on it. */
class SpeechThread {
  readonly #options: { readonly start: () => Worker; readonly places: number; readonly clock: Clock };
  /** Places taken, by account. */
  readonly #taken = new Map<string, number>();
  #nextId = 0;
  #worker: Worker | null = null;
  #isClosed = false;
  #watch: Timer | null = null;
  /** Signs of life that were asked for and have not come. */
  #owed = 0;
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

  /** Its engines answer. */
  get isOpen(): boolean {
    return this.#worker !== null && this.#hasStarted;
  }

  loadOf(account: string): number {
    return this.#taken.get(account) ?? 0;
  }

  get hasRoom(): boolean {
    return !this.#isClosed && this.load < this.#options.places;
  }

  /** `hasOthers` is asked and `onWork` called when the slot is given work, `onRelease` once. */
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
        return this.#speak({ account, mustShare: hasOthers(), options }, signal);
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

  /** Starts it for work to come. */
  open(): void {
    if (!this.#isClosed) this.#start();
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = this.#options.start();
    worker.unref();
    worker.on('message', (message: FromThread) => this.#received(worker, message));
    worker.on('error', (error) => this.#lost(worker, error.message));
    worker.on('exit', () => this.#lost(worker, 'the thread ended'));
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
    asked: { readonly account: string; readonly mustShare: boolean; readonly options: SpeakOptions },
    signal: AbortSignal,
  ): Speaking {
    const id = this.#nextId++;
    const pieces = new PieceQueue(() => this.#send({ type: 'taken', id }));
    this.#begin(id, pieces, signal);
    this.#send({ type: 'speak', id, ...asked });
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
    // Aborted before it began: cancelled once the caller has what it waits on.
    if (signal.aborted) queueMicrotask(onAbort);
  }

  #send(message: ToThread, transfer: ArrayBuffer[] = []): void {
    if (this.#isClosed) return;
    this.#start().postMessage(message, transfer);
    this.#watch ??= this.#options.clock.every(SIGN_MS, () => this.#ask());
  }

  /**
   * Asks for a sign of life while there is work, or one is owed. A round is counted however late it comes: a
   * loop of ours that stood still blames no thread.
   */
  #ask(): void {
    const worker = this.#worker;
    if (!worker || (this.#owed === 0 && this.#listeners.size === 0)) {
      this.#rest();
      return;
    }
    if (this.#owed >= (this.#hasStarted ? MOST_OWED : MOST_OWED_AT_START)) {
      this.#lost(worker, `it gave no sign of life for ${(this.#owed * SIGN_MS) / 1_000} s`);
      void worker.terminate();
      return;
    }
    this.#owed += 1;
    worker.postMessage({ type: 'ping' } satisfies ToThread);
  }

  #rest(): void {
    this.#watch?.cancel();
    this.#watch = null;
    this.#owed = 0;
  }

  #received(worker: Worker, message: FromThread): void {
    if (worker !== this.#worker) return;
    this.#owed = 0;
    this.#hasStarted = true;
    if (message.type === 'closed' || message.type === 'alive') return;
    const listener = this.#listeners.get(message.id);
    if (message.type === 'piece') listener?.piece(message.piece);
    else if (message.type === 'failed')
      listener?.failed(new SpeechJobError(message.failure, message.message));
    else listener?.over(message.type === 'transcript' ? message.transcript : null);
  }

  #lost(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#rest();
    const failure: JobFailure = 'unavailable';
    for (const listener of [...this.#listeners.values()])
      listener.failed(new SpeechJobError(failure, `The speech engine stopped: ${why}`));
  }
}
