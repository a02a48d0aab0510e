/**
 * Replays a call with other settings in a thread of its own, so that this worker's calls never wait for it.
 */
import { Worker } from 'node:worker_threads';
import type { ReplayOutcome, ReplaySettings } from '#protocol/replay.ts';

/** Startup options of the thread. */
export interface ReplayRequest {
  /** The stored flight log: lines of JSON. */
  readonly log: string;
  readonly settings: ReplaySettings;
}

/** Runs the call again. Rejects when the log belongs to another version of the turn machine. */
export function replayInThread(request: ReplayRequest): Promise<ReplayOutcome> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./replay-thread-entry.ts', import.meta.url), {
      execArgv: [],
      name: 'replay',
      workerData: request,
    });
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('the replay ended without a result')));
  });
}
