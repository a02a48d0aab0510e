/** Counts ended calls for the scorecards of their agents every few seconds, and tells of alerts. */
import type { BackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import { type Counter, countAndTell, startCounter } from '../due-calls.ts';
import { countScoredCalls } from './count-scored-calls.ts';
import { tellAlerts } from './tell-alerts.ts';

const SCORECARDS: Counter = {
  name: 'scorecards',
  sums: 'score',
  // Their transcripts are read, too.
  batch: 50,
  count: countScoredCalls,
  marksIn: 'scoreWatches',
  tell: tellAlerts,
};

/** Starts counting in this replica. */
export function startScoreCounter(context: Context): BackgroundLoop {
  return startCounter(context, SCORECARDS);
}

/** Counts every call that is due, but for those whose analysis is awaited; then tells of alerts. */
export function scoreCalls(context: Context): Promise<void> {
  return countAndTell(context, SCORECARDS);
}
