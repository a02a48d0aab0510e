/** Counts ended calls for the scorecards of their agents every few seconds, and tells of alerts. */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { countDue } from '../due-calls.ts';
import { countScoredCalls } from './count-scored-calls.ts';
import { tellAlerts } from './tell-alerts.ts';

const TICK_MS = 5_000;
/** Calls that are read at once, with their transcripts. */
const BATCH = 50;

/** Starts counting in this replica. Several may count: each call is counted once. */
export function startScoreCounter(context: Context): BackgroundLoop {
  const { sessions, scoreWatches } = context.models;
  const isDone = async () =>
    (await sessions.exists(dueIn('score'))) === null &&
    (await scoreWatches.exists({ is_untold: true })) === null;
  const options = {
    name: 'scorecards',
    everyMs: TICK_MS,
    isDone,
    waitsFor: ['sessions', 'scoreWatches'],
  } as const;
  return startBackgroundLoop(context, options, () => scoreCalls(context));
}

/** Counts every call that is due, but for those whose analysis is awaited; then tells of alerts. */
export async function scoreCalls(context: Context): Promise<void> {
  try {
    await countDue(context, {
      sums: 'score',
      batch: BATCH,
      count: (agentId, calls) => countScoredCalls(context, agentId, calls),
    });
  } finally {
    // Also where calls of some agent cannot be counted.
    await tellAlerts(context);
  }
}
