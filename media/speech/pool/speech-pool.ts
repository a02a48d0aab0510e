/**
 * A bounded pool of threads for speech, so that no decoding, synthesis or encoding runs on the API's event
 * loop. Synthesis and recognition use separate threads: a long recording must not hold up a live stream.
 * Threads start on demand: the first one of synthesis takes a hundred MiB, and half a second.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '#base/clock.ts';
import type { Settings } from '#config/env.ts';
import { type SpeechSlot, SpeechThread } from './speech-thread.ts';
import type { SpeechThreadData } from './speech-thread-entry.ts';

/** Options of the pool. */
export interface SpeechPoolOptions {
  readonly settings: Settings;
  /** The environment's `PATH`, searched for local programs. */
  readonly searchPath: string;
  /** CPU cores of the machine. */
  readonly cores: number;
  readonly clock: Clock;
  /**
   * Whether other accounts are using the product, in whatever way: even if none of them requests speech,
   * speech at full speed would slow their calls.
   */
  readonly hasOthers: (account: string) => boolean;
  /** Program of each thread; tests replace it. */
  readonly program?: URL;
}

/** Kinds of work, each with threads of its own. */
export type SpeechWork = 'synthesis' | 'recognition';

/** The pool. */
export interface SpeechPool {
  /**
   * Reserves a place for an account; null if all are taken. An account shares the places with every other
   * account that has one, or requested or had one within 10 s: once it has its equal share, it gets none of
   * the last tenth of them (at least one). Beside any other active account it gets at most half of the
   * threads while they have room. So however much it requests, others find an idle thread.
   */
  take(work: SpeechWork, account: string): SpeechSlot | null;
  close(): Promise<void>;
}

/**
 * Streams per core that stay ahead of their listeners, beside a fully loaded API (`npm run bench:speech`): a
 * second of MP3 takes 74 ms with the local voice, half of it for the voice. With 8 per core the latest audio
 * was 0.4 s late, with 6 none was.
 */
const STREAMS_PER_CORE = { local: 6, vendor: 20 };
/** Encoding alone fills a thread with about as many. */
const STREAMS_PER_THREAD = 20;
/** A recording is decoded at full speed. */
const RECORDINGS_PER_THREAD = 4;
const MAX_THREADS = 4;
/** One in this many places is reserved for accounts below their share. */
const PLACES_OF_A_NEWCOMER = 10;
/** How long an account without a place is still counted. */
const REMEMBERED_MS = 10_000;

/** Creates a pool; starts no thread yet. */
export function createSpeechPool(options: SpeechPoolOptions): SpeechPool {
  const data: SpeechThreadData = { settings: options.settings, searchPath: options.searchPath };
  const { clock, hasOthers } = options;
  const { program = new URL('./speech-thread-entry.ts', import.meta.url) } = options;
  const thread = (places: number) =>
    new SpeechThread({
      start: () => new Worker(program, { name: 'speech', workerData: data }),
      places,
      clock,
    });
  const count = Math.max(1, Math.min(MAX_THREADS, options.cores - 1));
  const speakers = Math.max(2, count);
  const streams =
    options.cores * STREAMS_PER_CORE[options.settings.TTS_PROVIDER === 'local' ? 'local' : 'vendor'];
  const most = Math.min(STREAMS_PER_THREAD * speakers, Math.ceil(streams / speakers) * speakers);
  const groups = {
    synthesis: new ThreadGroup({
      places: most,
      threads: Array.from({ length: speakers }, () => thread(Math.min(STREAMS_PER_THREAD, most))),
      clock,
      hasOthers,
    }),
    recognition: new ThreadGroup({
      places: count * RECORDINGS_PER_THREAD,
      threads: Array.from({ length: count }, () => thread(RECORDINGS_PER_THREAD)),
      clock,
      hasOthers,
    }),
  };
  return {
    take: (work, account) => groups[work].take(account),
    close: async () => {
      await Promise.all(Object.values(groups).map((group) => group.close()));
    },
  };
}

interface ThreadGroupOptions extends Pick<SpeechPoolOptions, 'clock' | 'hasOthers'> {
  readonly places: number;
  readonly threads: readonly SpeechThread[];
}

/** The threads of one kind of work, and their assignment to accounts. */
class ThreadGroup {
  readonly #options: ThreadGroupOptions;
  /** When each account last requested or released a place, in that order. */
  readonly #seen = new Map<string, number>();

  constructor(options: ThreadGroupOptions) {
    this.#options = options;
  }

  take(account: string): SpeechSlot | null {
    const { places, threads } = this.#options;
    // Before any refusal: otherwise an account that never had a place would be unknown, and an account with
    // all places could retake each one it frees.
    this.#note(account);
    const taken = threads.reduce((sum, thread) => sum + thread.load, 0);
    const own = threads.filter((thread) => thread.loadOf(account) > 0);
    const accounts = this.#accounts(account);
    const mustShare = own.length > 0 && this.#mustShare(account, accounts);
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
    // Engines take a second to open: meanwhile work goes to an open thread, and the next request finds this
    // one open too.
    const open = wanted?.isOpen === false ? leastBusy(threads.filter(({ isOpen }) => isOpen)) : undefined;
    return (
      (open ?? wanted)?.take(account, {
        hasOthers: () => this.#mustShare(account),
        onWork: () => wanted?.open(),
        onRelease: () => this.#note(account),
      }) ?? null
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.threads.map((thread) => thread.close()));
  }

  #mustShare(account: string, accounts = this.#accounts(account)): boolean {
    return accounts > 1 || this.#options.hasOthers(account);
  }

  /** Number of accounts: this one, and others that have a place or recently requested or had one. */
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
    // With as many accounts as places, the share of each is one.
    if (oldest !== undefined && this.#seen.size > this.#options.places) this.#seen.delete(oldest);
  }
}
