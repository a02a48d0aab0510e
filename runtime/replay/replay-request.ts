/**
 * Somebody asks what other settings would have made of a call: its log is run again in a thread of its own,
 * so that the calls of this worker never wait for it.
 */
import { Worker } from 'node:worker_threads';
import type { ReplayOutcome, ReplaySettings } from '#protocol/replay.ts';

/** Startup options of the thread. */
export interface ReplayRequest {
  /** The flight log as it is kept: lines of JSON. */
  readonly log: string;
  readonly settings: ReplaySettings;
}

/** Runs the call again. Rejects when the log is not of this version of the turn machine. */
export function replayInThread(request: ReplayRequest): Promise<ReplayOutcome> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./replay-thread-entry.ts', import.meta.url), {
      execArgv: [],
      name: 'replay',
      workerData: request,
    });
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('the replay ended without a word')));
  });
}
