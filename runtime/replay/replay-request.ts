/**
 * Replays calls with other settings in a thread of its own, so that this worker's calls never wait for it.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '#base/clock.ts';
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

/** Judges the pauses of the calls under all candidate settings. Rejects when it takes too long. */
export function tuneInThread({ logs }: TuningRequest, clock: Clock): Promise<PauseTally> {
  const thread = threadOf('tuning', new URL('./tuning-thread-entry.ts', import.meta.url), { logs });
  const timer = clock.after(LONGEST_TUNING_MS, () => void thread.terminate());
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
