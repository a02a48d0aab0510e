/**
 * Tuning of an agent: every pause in its latest calls judged under other waits, by workers, from the flight
 * logs. Bounded in calls, bytes and time; what lies beyond is not read, and the result says how many were.
 */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { addTallies, type PauseTally, tuningResult } from '#protocol/tuning.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { workingOnCalls } from '../../platform/limits/request-places.ts';
import { findSessionPage } from '../../platform/store/find-session-page.ts';
import { UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';
import { DETAIL_FIELDS } from '../sessions/session-record.ts';
import { readWholeFlightLog } from './recording-store.ts';
import { resultOf } from './tuning.ts';

const DEFAULT_CALLS = 50;
/** Calls without a log are passed over; so many are looked at for each that is wanted. */
const LOOKED_AT_PER_CALL = 4;
/** Text of the logs of one tuning, and of what a worker is asked to judge at once; bytes. */
const MOST_BYTES = 32 * 1_048_576;
const BYTES_AT_ONCE = 2 * 1_048_576;
/**
 * No more calls are read after this time. A worker may then judge for as long again, and gateways close a
 * request that takes much longer than a minute.
 */
const LONGEST_MS = 30_000;
const PAGE_SIZE = 50;

const agentPath = z.object({ agent_id: z.string() });
const tuningQuery = z.strictObject({
  calls: z.coerce.number().int().min(1).max(LIMITS.tunedCalls).default(DEFAULT_CALLS),
});

/** Calls to read. */
interface Wanted {
  readonly teamId: string;
  readonly agentId: string;
  readonly calls: number;
  /** No more are read from this time, of the context's clock. */
  readonly untilMs: number;
}

/** Registers the route. */
export function registerTuningRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/agents/:agent_id/tuning',
    {
      schema: {
        tags: ['agents'],
        params: agentPath,
        querystring: tuningQuery,
        response: { 200: tuningResult },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { teamId } = caller;
      const agent = await findAgent(context, teamId, request.params.agent_id);
      const untilMs = context.clock.now() + LONGEST_MS;
      const wanted = { teamId, agentId: agent._id, calls: request.query.calls, untilMs };
      const tally = await workingOnCalls(context, caller, 'tunings', () => judgeCalls(context, wanted));
      return resultOf(tally);
    },
  );
}

/** Judges the latest calls that have a log, a group at a time; null if there are none. */
async function judgeCalls(context: Context, wanted: Wanted): Promise<PauseTally | null> {
  let tally: PauseTally | null = null;
  let left = wanted.calls;
  let group: string[] = [];
  let groupBytes = 0;
  const judge = async () => {
    if (group.length === 0) return;
    const judged = await context.dispatch.judgePauses(group);
    tally = tally ? addTallies(tally, judged) : judged;
    // Calls of an unknown version of the turn machine are made up for by older ones.
    left = wanted.calls - tally.calls;
    group = [];
    groupBytes = 0;
  };
  let allBytes = 0;
  for await (const log of logsOf(context, wanted)) {
    allBytes += log.byteLength;
    if (allBytes > MOST_BYTES) break;
    if (groupBytes + log.byteLength > BYTES_AT_ONCE) await judge();
    if (isLate(context, wanted)) break;
    group.push(log.toString('utf8'));
    groupBytes += log.byteLength;
    if (group.length >= left) await judge();
    if (left <= 0) break;
  }
  await judge();
  return tally;
}

function isLate({ clock }: Context, { untilMs }: Wanted): boolean {
  return clock.now() >= untilMs;
}

/**
 * Flight logs of an agent's ended calls, the latest first. Calls are left out that have none, or one that is
 * too long or damaged; looking for others takes no longer than the time wanted.
 */
async function* logsOf(context: Context, wanted: Wanted): AsyncGenerator<Buffer> {
  const { teamId, agentId, calls } = wanted;
  const filter = {
    team_id: teamId,
    agent_id: agentId,
    is_listed: true,
    // Expressed as an exclusion, so that the index of kinds is not used: its order is another one.
    status: { $nin: [...UNDER_WAY_STATUSES] },
  };
  // Reading a log needs the session's key.
  const without = DETAIL_FIELDS.filter((field) => field !== 'wrapped_key');
  let cursor: string | undefined;
  let unseen = calls * LOOKED_AT_PER_CALL;
  do {
    const query = { cursor, page_size: Math.min(PAGE_SIZE, unseen), include_total: false };
    const page = await findSessionPage(context, { filter, query, without });
    for (const session of page.rows) {
      if (isLate(context, wanted)) return;
      const log = await readWholeFlightLog(context, session, LIMITS.replayedLogBytes);
      if (log && log.byteLength > 0) yield log;
    }
    unseen -= page.rows.length;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && unseen > 0);
}
