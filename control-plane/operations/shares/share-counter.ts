/** Counts the ended calls of shares every few seconds, and tells of those that were stopped. */
import type { BackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import { type Counter, countAndTell, startCounter } from '../due-calls.ts';
import { countShareCalls } from './count-share-calls.ts';
import { tellStops } from './tell-stops.ts';

const SHARES: Counter = {
  name: 'shares',
  sums: 'share',
  batch: 200,
  count: countShareCalls,
  marksIn: 'shares',
  tell: tellStops,
};

/** Starts counting in this replica. */
export function startShareCounter(context: Context): BackgroundLoop {
  return startCounter(context, SHARES);
}

/** Counts every call that is due, but for those whose analysis is awaited; then tells of stops. */
export function countShares(context: Context): Promise<void> {
  return countAndTell(context, SHARES);
}
