/** Counts the ended calls of shares every few seconds, and tells of those that were stopped. */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { countDue } from '../due-calls.ts';
import { countShareCalls } from './count-share-calls.ts';
import { tellStops } from './tell-stops.ts';

const TICK_MS = 5_000;
const BATCH = 200;

/** Starts counting in this replica. Several may count: each call is counted once. */
export function startShareCounter(context: Context): BackgroundLoop {
  const { sessions, shares } = context.models;
  const isDone = async () =>
    (await sessions.exists(dueIn('share'))) === null && (await shares.exists({ is_untold: true })) === null;
  const options = {
    name: 'shares',
    everyMs: TICK_MS,
    isDone,
    waitsFor: ['sessions', 'shares'],
  } as const;
  return startBackgroundLoop(context, options, async () => {
    await countDueCalls(context);
    await tellStops(context);
  });
}

/** Counts everything that is due, but for calls whose analysis is awaited. */
export async function countDueCalls(context: Context): Promise<void> {
  await countDue(context, {
    sums: 'share',
    batch: BATCH,
    count: (agentId, calls) =>
      countShareCalls(
        context,
        agentId,
        calls.map(({ _id }) => _id),
      ),
  });
}
