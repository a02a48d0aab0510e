/**
 * Replays calls with other settings in a thread of its own, so that this worker's calls never wait for it.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
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

/** Runs the call again. Rejects when the log belongs to another version of the turn machine. */
export function replayInThread(request: ReplayRequest): Promise<ReplayOutcome> {
  return resultOf(threadOf('replay', new URL('./replay-thread-entry.ts', import.meta.url), request));
}

/** The control plane waits no longer for the counts, so that going on would be of no use. */
const LONGEST_TUNING_MS = 30_000;
/** Further requests that wait for the thread of another; each holds some megabytes. */
const MOST_WAITING = 4;

/** Judges pauses in a thread, for one request after another: the calls of this worker need the processor. */
export class TuningThread {
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
  async tally({ logs }: TuningRequest): Promise<PauseTally> {
    if (this.#requests > MOST_WAITING) throw fault('no_capacity');
    const untilMs = this.#clock.now() + LONGEST_TUNING_MS;
    this.#requests += 1;
    const result = this.#last.then(() => tallyUntil(logs, untilMs, this.#clock));
    this.#last = result.catch(() => undefined);
    return result.finally(() => {
      this.#requests -= 1;
    });
  }
}

async function tallyUntil(logs: readonly string[], untilMs: number, clock: Clock): Promise<PauseTally> {
  const leftMs = untilMs - clock.now();
  if (leftMs <= 0) throw new Error('the time was over before its turn');
  const thread = threadOf('tuning', new URL('./tuning-thread-entry.ts', import.meta.url), { logs });
  const timer = clock.after(leftMs, () => void thread.terminate());
  return resultOf<PauseTally>(thread).finally(() => timer.cancel());
}

function threadOf(name: string, entry: URL, workerData: ReplayRequest | TuningRequest): Worker {
  return new Worker(entry, { execArgv: [], name, workerData });
}

function resultOf<Result>(thread: Worker): Promise<Result> {
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('the thread ended without a result')));
  });
}
