/**
 * Replays calls with other settings in a thread of its own, so that this worker's calls never wait for it.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
import type { RegretOutcome, RegretRequestCall } from '#protocol/regret.ts';
import type { RehearsedCall, RehearsedOutcome } from '#protocol/rehearsal.ts';
import type { ReplayOutcome, ReplaySettings } from '#protocol/replay.ts';
import type { PauseTally } from '#protocol/tuning.ts';

/** Startup options of the thread that replays one call. */
export interface ReplayRequest {
  /** The stored flight log: lines of JSON. */
  readonly log: string;
  readonly settings: ReplaySettings;
}

/** Startup options of the thread that judges pauses. */
export interface TuningRequest {
  /** The stored flight logs of calls: lines of JSON. */
  readonly logs: readonly string[];
}

/** Startup options of the thread that rehearses calls. */
export interface RehearsalRequest {
  readonly calls: readonly RehearsedCall[];
}

/** Startup options of the thread that measures the regret of calls. */
export interface RegretRequest {
  readonly calls: readonly RegretRequestCall[];
}

/** The control plane waits no longer for the answer, so that going on would be of no use. */
const LONGEST_MS = 30_000;
/** Further requests that wait for the thread of another; each holds some megabytes. */
const MOST_WAITING = 4;

/** Replays calls in a thread, for one request after another: the calls of this worker need the processor. */
export class ReplayThread {
  readonly #clock: Clock;
  #requests = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Judges the pauses of the calls under all candidate settings. Rejects with `Fault('no_capacity')` when too
   * many others wait, and with an error when it takes too long, the time waited included.
   */
  tally(request: TuningRequest): Promise<PauseTally> {
    const entry = new URL('./tuning-thread-entry.ts', import.meta.url);
    return this.#inTurn(() => threadOf('tuning', entry, request));
  }

  /** Runs calls again under a draft. Rejects as `tally` does. */
  rehearse(request: RehearsalRequest): Promise<{ readonly calls: readonly RehearsedOutcome[] }> {
    const entry = new URL('./rehearsal-thread-entry.ts', import.meta.url);
    return this.#inTurn(() => threadOf('rehearsal', entry, request));
  }

  /** Measures the regret of calls. Rejects as `tally` does. */
  measureRegret(request: RegretRequest): Promise<{ readonly calls: readonly RegretOutcome[] }> {
    const entry = new URL('./regret-thread-entry.ts', import.meta.url);
    return this.#inTurn(() => threadOf('regret', entry, request));
  }

  /** Runs a call again. Rejects as `tally` does, and when the log belongs to an unknown version. */
  replay(request: ReplayRequest): Promise<ReplayOutcome> {
    const entry = new URL('./replay-thread-entry.ts', import.meta.url);
    return this.#inTurn(() => threadOf('replay', entry, request));
  }

  async #inTurn<Result>(start: () => Worker): Promise<Result> {
    if (this.#requests > MOST_WAITING) throw fault('no_capacity');
    const untilMs = this.#clock.now() + LONGEST_MS;
    this.#requests += 1;
    const result = this.#last.then(() => resultUntil<Result>(untilMs, this.#clock, start));
    this.#last = result.catch(() => undefined);
    return result.finally(() => {
      this.#requests -= 1;
    });
  }
}

async function resultUntil<Result>(untilMs: number, clock: Clock, start: () => Worker): Promise<Result> {
  const leftMs = untilMs - clock.now();
  if (leftMs <= 0) throw new Error('the time was over before its turn');
  const thread = start();
  const timer = clock.after(leftMs, () => void thread.terminate());
  return resultOf<Result>(thread).finally(() => timer.cancel());
}

type ThreadRequest = ReplayRequest | TuningRequest | RehearsalRequest | RegretRequest;

function threadOf(name: string, entry: URL, workerData: ThreadRequest): Worker {
  return new Worker(entry, { execArgv: [], name, workerData });
}

function resultOf<Result>(thread: Worker): Promise<Result> {
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('the thread ended without a result')));
  });
}
