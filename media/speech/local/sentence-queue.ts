/**
 * Queues sentences for a local engine that synthesises one at a time, and serves accounts in turn. A sentence
 * that is aborted while it waits is skipped. If the engine ends, only the current sentence fails, and the
 * next one starts a new engine.
 */
import { FairQueue } from '../fair-queue.ts';
import { SpeechError, type SynthesisOptions } from '../speech.ts';

/** Text of one account that may be synthesised before that of others, characters: a few sentences. */
const HEAD_START_CHARS = 300;

/** A running engine: a thread or a process. */
export interface SentenceEngine<Job> {
  /** Gives it a job; one at a time. */
  post(job: Job): void;
  /** Terminates it at once. */
  end(): Promise<unknown>;
}

/** Events of an engine. */
export interface SentenceEngineListener<Answer> {
  onAnswer(answer: Answer): void;
  /** The engine ended: its current sentence fails. Further calls have no effect. */
  onExit(cause: unknown): void;
}

interface QueuedSentence<Job, Answer> {
  readonly job: Job;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** An engine, started when first needed, and its queue. */
export class SentenceQueue<Job extends { readonly text: string }, Answer> {
  readonly #start: (listener: SentenceEngineListener<Answer>) => SentenceEngine<Job>;
  readonly #queue = new FairQueue<QueuedSentence<Job, Answer>>(HEAD_START_CHARS);
  #engine: SentenceEngine<Job> | null = null;
  #running: QueuedSentence<Job, Answer> | null = null;
  #isClosed = false;

  constructor(start: (listener: SentenceEngineListener<Answer>) => SentenceEngine<Job>) {
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
      const sentence: QueuedSentence<Job, Answer> = {
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
        this.#queue.remove(sentence);
        sentence.reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#queue.add(account, sentence, job.text.length);
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
      for (const sentence of [this.#running, ...this.#queue.drain()]) sentence?.reject(closed);
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
    let hasEnded = false;
    const finish = (settle: (sentence: QueuedSentence<Job, Answer>) => void) => {
      const sentence = this.#running;
      this.#running = null;
      if (sentence) settle(sentence);
      this.#advance();
    };
    return this.#start({
      onAnswer: (answer) => {
        if (!hasEnded) finish((sentence) => sentence.resolve(answer));
      },
      onExit: (cause) => {
        if (hasEnded) return;
        hasEnded = true;
        this.#engine = null;
        finish((sentence) =>
          sentence.reject(
            new SpeechError('unavailable', 'The speech engine stopped', { cause, retryable: true }),
          ),
        );
      },
    });
  }
}
