/** Brings ended calls to those who keep sums over them, agent by agent. */
import type { Context } from '../platform/context.ts';
import { isDatabaseAway } from '../platform/store/database-away.ts';
import type { SessionDocument } from '../platform/store/models/session-model.ts';
import { readStored } from '../platform/store/read-stored.ts';
import { sumsDue } from '../platform/store/session-due.ts';

/** An analysis that is not there by then is not waited for: the call counts without its criteria. */
const ANALYSIS_WAIT_MS = 10 * 60_000;

/** The fields of a call that decide where it is counted; they never change. */
export type DueCall = Pick<SessionDocument, '_id' | 'agent_id' | 'version_id' | 'created_at'>;

/** Who counts. */
export interface DueSums {
  readonly sums: 'share' | 'score';
  readonly batch: number;
  /** Counts calls of one agent; returns how many are due no more. */
  readonly count: (agentId: string, calls: readonly DueCall[]) => Promise<number>;
}

/**
 * Counts everything that is due, but for calls whose analysis is awaited. An error with the calls of one
 * agent, such as one that cannot be read, is thrown once those of all others are counted.
 */
export async function countDue(context: Context, due: DueSums): Promise<void> {
  const latest = new Date(context.clock.wallTime() - ANALYSIS_WAIT_MS);
  const settled = sumsDue(due.sums, 'over');
  // A call that has ended by then was to be joined before: the index has that time.
  const joinedMs = latest.getTime() + context.settings.SESSION_JOIN_SECONDS * 1_000;
  const late = {
    ...sumsDue(due.sums, 'open'),
    status: 'completed',
    expires_at: { $lte: new Date(joinedMs) },
    ended_at: { $lte: latest },
  };
  const failed = new Map<string, unknown>();
  for (const filter of [settled, late]) while (await countBatch(context, filter, due, failed));
  for (const error of failed.values()) throw error;
}

/**
 * False if there is no more to count, or another process does. Agents that have `failed` are left out: their
 * calls would be in the way of all others.
 */
async function countBatch(
  context: Context,
  filter: object,
  { batch, count }: DueSums,
  failed: Map<string, unknown>,
): Promise<boolean> {
  const others = failed.size === 0 ? filter : { ...filter, agent_id: { $nin: [...failed.keys()] } };
  const due = await readStored<SessionDocument, DueCall>(context.models.sessions, others, {
    projection: { agent_id: 1, version_id: 1, created_at: 1 },
    limit: batch,
  });
  const failedBefore = failed.size;
  let over = 0;
  for (const [agentId, calls] of Map.groupBy(due, ({ agent_id }) => agent_id))
    try {
      over += await count(agentId, calls);
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      failed.set(agentId, error);
    }
  return due.length === batch && (over > 0 || failed.size > failedBefore);
}
