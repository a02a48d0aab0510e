/** Counts the ended calls of shares every few seconds, and tells of those that were stopped. */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { dueIn, shareDue } from '../../platform/store/session-due.ts';
import { countShareCalls } from './count-share-calls.ts';
import { tellStops } from './tell-stops.ts';

const TICK_MS = 5_000;
const BATCH = 200;
/** An analysis that is not there by then is not waited for: the call counts without its criteria. */
const ANALYSIS_WAIT_MS = 10 * 60_000;

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
  const latest = new Date(context.clock.wallTime() - ANALYSIS_WAIT_MS);
  const settled = shareDue('over');
  const late = { ...shareDue('open'), ended_at: { $lte: latest } };
  for (const filter of [settled, late]) while (await countBatch(context, filter));
}

/** False if there is no more to count, or another process does. */
async function countBatch(context: Context, filter: object): Promise<boolean> {
  const due = await readStored<SessionDocument, Pick<SessionDocument, '_id' | 'agent_id'>>(
    context.models.sessions,
    filter,
    { projection: { agent_id: 1 }, limit: BATCH },
  );
  const agents = Map.groupBy(due, ({ agent_id }) => agent_id);
  let over = 0;
  for (const [agentId, calls] of agents)
    over += await countShareCalls(
      context,
      agentId,
      calls.map(({ _id }) => _id),
    );
  return due.length === BATCH && over > 0;
}
