/**
 * Sentences for a local engine that synthesises one at a time. Accounts take turns; a sentence aborted while
 * it waits is skipped; if the engine dies only the current sentence is lost, and the next one starts another
 * engine.
 */
import { FairQueue } from '../fair-queue.ts';
import { SpeechError, type SynthesisOptions } from '../speech.ts';

/** Text of one account that may precede that of others, characters: a few sentences. */
const HEAD_START_CHARS = 300;

/** A running engine: a thread or a process. */
export interface SentenceEngine<Job> {
  /** Gives it a job; one at a time. */
  post(job: Job): void;
  /** Terminates it at once. */
  end(): Promise<unknown>;
}

/** Events of an engine. */
export interface SentenceReports<Answer> {
  answered(answer: Answer): void;
  /** It ended, and its current sentence failed. Repeating this has no effect. */
  lost(cause: unknown): void;
}

interface Waiting<Job, Answer> {
  readonly job: Job;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** An engine, started when first needed, and its queue. */
export class SentenceQueue<Job extends { readonly text: string }, Answer> {
  readonly #start: (reports: SentenceReports<Answer>) => SentenceEngine<Job>;
  readonly #queue = new FairQueue<Waiting<Job, Answer>>(HEAD_START_CHARS);
  #engine: SentenceEngine<Job> | null = null;
  #running: Waiting<Job, Answer> | null = null;
  #isClosed = false;

  constructor(start: (reports: SentenceReports<Answer>) => SentenceEngine<Job>) {
    this.#start = start;
  }

  /** Returns the engine's answer; throws `SpeechError`, or the signal's reason at once. */
  run(job: Job, { signal, account = '' }: Pick<SynthesisOptions, 'signal' | 'account'>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const settle = () => signal.removeEventListener('abort', onAbort);
      const waiting: Waiting<Job, Answer> = {
        job,
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const onAbort = () => {
        this.#queue.remove(waiting);
        waiting.reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#queue.add(account, waiting, job.text.length);
      this.#advance();
    });
  }

  /** Starts the engine before the first sentence. */
  prepare(): void {
    if (!this.#isClosed) this.#engine ??= this.#begin();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#advance();
    await this.#engine?.end();
  }

  #advance(): void {
    if (this.#isClosed) {
      const closed = new SpeechError('unavailable', 'The engine is closed');
      for (const waiting of [this.#running, ...this.#queue.drain()]) waiting?.reject(closed);
      this.#running = null;
      return;
    }
    if (this.#running) return;
    const next = this.#queue.next();
    if (!next) return;
    this.#running = next;
    this.#engine ??= this.#begin();
    this.#engine.post(next.job);
  }

  #begin(): SentenceEngine<Job> {
    let isGone = false;
    const over = (settle: (had: Waiting<Job, Answer>) => void) => {
      const had = this.#running;
      this.#running = null;
      if (had) settle(had);
      this.#advance();
    };
    return this.#start({
      answered: (answer) => {
        if (!isGone) over((had) => had.resolve(answer));
      },
      lost: (cause) => {
        if (isGone) return;
        isGone = true;
        this.#engine = null;
        over((had) =>
          had.reject(new SpeechError('unavailable', 'The speech engine stopped', { cause, retryable: true })),
        );
      },
    });
  }
}
