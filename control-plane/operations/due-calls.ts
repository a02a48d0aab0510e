/**
 * Brings ended calls to the sums over them, agent by agent, and tells of what the sums show: the loops of
 * shares and of scorecards.
 */
import { type BackgroundLoop, startBackgroundLoop } from '../platform/background/background-loop.ts';
import type { Context } from '../platform/context.ts';
import { isDatabaseAway } from '../platform/store/database-away.ts';
import type { SessionDocument } from '../platform/store/models/session-model.ts';
import { readStored } from '../platform/store/read-stored.ts';
import { dueIn, type Sums, sumsDone, sumsDue } from '../platform/store/session-due.ts';

const TICK_MS = 5_000;
/** An analysis that is not there by then is not waited for: the call counts without its criteria. */
const ANALYSIS_WAIT_MS = 10 * 60_000;

/** The fields of a call that decide where it is counted; they never change. */
export type DueCall = Pick<SessionDocument, '_id' | 'agent_id' | 'version_id' | 'created_at'>;

/** How calls are counted for one kind of sums. */
export interface Counter {
  readonly name: string;
  readonly sums: Sums;
  /** Calls that are read at once. */
  readonly batch: number;
  /**
   * Counts calls of one agent; returns those that are counted now or never will be. The others, such as those
   * of a conflict with another process, are left for the next time.
   */
  readonly count: (
    context: Context,
    agentId: string,
    calls: readonly DueCall[],
  ) => Promise<readonly string[]>;
  /** Where the sums mark what is not told yet. */
  readonly marksIn: 'shares' | 'scoreWatches';
  /** Tells of everything that is marked. */
  readonly tell: (context: Context) => Promise<void>;
}

/** Starts counting in this replica. Several may count: each call is counted once. */
export function startCounter(context: Context, counter: Counter): BackgroundLoop {
  const { models } = context;
  const { name, sums, marksIn } = counter;
  const isDone = async () =>
    (await models.sessions.exists(dueIn(sums))) === null &&
    (await models[marksIn].collection.findOne({ is_untold: true } as never)) === null;
  const options = { name, everyMs: TICK_MS, isDone, waitsFor: ['sessions', marksIn] } as const;
  return startBackgroundLoop(context, options, () => countAndTell(context, counter));
}

/** Counts every call that is due, but for those whose analysis is awaited; then tells. */
export async function countAndTell(context: Context, counter: Counter): Promise<void> {
  try {
    await countDue(context, counter);
  } finally {
    // Also where calls of some agent cannot be counted.
    await counter.tell(context);
  }
}

/**
 * Counts everything that is due, but for calls whose analysis is awaited. An error with the calls of one
 * agent, such as one that cannot be read, is thrown once those of all others are counted.
 */
async function countDue(context: Context, counter: Counter): Promise<void> {
  const latest = new Date(context.clock.wallTime() - ANALYSIS_WAIT_MS);
  const settled = sumsDue(counter.sums, 'over');
  // A call that has ended by then was to be joined before: the index has that time.
  const joinedMs = latest.getTime() + context.settings.SESSION_JOIN_SECONDS * 1_000;
  const late = {
    ...sumsDue(counter.sums, 'open'),
    status: 'completed',
    expires_at: { $lte: new Date(joinedMs) },
    ended_at: { $lte: latest },
  };
  const failed = new Map<string, unknown>();
  for (const filter of [settled, late]) while (await countBatch(context, filter, counter, failed));
  for (const error of failed.values()) throw error;
}

/**
 * False if there is no more to count, or another process does. Agents that have `failed` are left out: their
 * calls would be in the way of all others.
 */
async function countBatch(
  context: Context,
  filter: object,
  { sums, batch, count }: Counter,
  failed: Map<string, unknown>,
): Promise<boolean> {
  const others = failed.size === 0 ? filter : { ...filter, agent_id: { $nin: [...failed.keys()] } };
  const due = await readStored<SessionDocument, DueCall>(context.models.sessions, others, {
    projection: { agent_id: 1, version_id: 1, created_at: 1 },
    limit: batch,
  });
  const failedBefore = failed.size;
  const { collection } = context.models.sessions;
  let over = 0;
  for (const [agentId, calls] of Map.groupBy(due, ({ agent_id }) => agent_id))
    try {
      const counted = await count(context, agentId, calls);
      if (counted.length > 0)
        await collection.updateMany({ _id: { $in: counted } } as never, sumsDone(sums) as never);
      over += counted.length;
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      failed.set(agentId, error);
    }
  return due.length === batch && (over > 0 || failed.size > failedBefore);
}
