/**
 * Measures ended calls in the background, some minutes behind them. In each round every account with new
 * calls gets one group of one agent, so that one with many calls or agents delays the others by no more than
 * that. An agent belongs to one process at a time (a lease in the store); after a crash the next process goes
 * on from the position that is stored.
 */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { forgetRegret } from '../../platform/store/forget-regret.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { RegretDocument } from '../../platform/store/models/regret-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { type CandidatesOf, measureGroup, nextCalls } from './measure-group.ts';

const TICK_MS = 60_000;
/** A worker may take half a minute for a group, and reading the logs some seconds. */
const LEASE_MS = 90_000;
/** Agents that are looked up together. */
const PAGE = 200;
/** Calls of an agent that is measured for the first time: of so many days. */
const FIRST_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;

/** Candidates that a learner wants judged, by agent; absent for the others. */
export type CandidatesByAgent = () => Promise<ReadonlyMap<string, CandidatesOf>>;

type Agent = Pick<AgentDocument, '_id' | 'team_id'>;

/** Starts measuring in this replica. */
export function startRegretRunner(context: Context, candidates: CandidatesByAgent): BackgroundLoop {
  const holder = leaseHolder(context.settings);
  let isClosed = false;
  const options = { name: 'regret', everyMs: TICK_MS } as const;
  const loop = startBackgroundLoop(context, options, () =>
    measureRegret(context, { holder, candidates, isOver: () => isClosed }),
  );
  return {
    ...loop,
    close() {
      isClosed = true;
      return loop.close();
    },
  };
}

/** Measures everything that can be, round by round. */
export async function measureRegret(
  context: Context,
  {
    holder,
    candidates,
    isOver = () => false,
  }: {
    readonly holder: string;
    readonly candidates: CandidatesByAgent;
    readonly isOver?: () => boolean;
  },
): Promise<void> {
  const wanted = await candidates();
  let waiting = await agentsWithCalls(context);
  while (waiting.length > 0 && !isOver()) {
    const left: Agent[] = [];
    for (const agents of Map.groupBy(waiting, ({ team_id: team }) => team).values()) {
      const [agent, ...others] = agents;
      if (!agent || isOver()) continue;
      left.push(...others);
      if (await measureNext(context, agent, { holder, candidatesOf: wanted.get(agent._id) ?? none }))
        left.push(agent);
    }
    waiting = left;
  }
}

function none(): [] {
  return [];
}

/** Agents with ended calls that are not measured. */
async function agentsWithCalls(context: Context): Promise<Agent[]> {
  const found: Agent[] = [];
  let after = '';
  for (;;) {
    const page = await readStored<AgentDocument, Agent>(
      context.models.agents,
      { _id: { $gt: after } },
      { projection: { team_id: 1 }, sort: { _id: 1 }, limit: PAGE },
    );
    const ids = page.map(({ _id }) => _id);
    const states = await readStored<RegretDocument>(context.models.regrets, { _id: { $in: ids } }, {});
    const byAgent = new Map(states.map((state) => [state._id, state]));
    for (const agent of page) {
      const state = byAgent.get(agent._id) ?? firstState(context, agent);
      if ((await nextCalls(context, state, 1)).length > 0) found.push(agent);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return found;
    after = last._id;
  }
}

function firstState(context: Pick<Context, 'clock'>, { _id, team_id }: Agent): RegretDocument {
  const at = new Date(context.clock.wallTime() - FIRST_DAYS * DAY_MS);
  return { _id, team_id, at, session_id: '', attempts: 0, lease_by: null, lease_until: null };
}

/** Measures a group of an agent; true if there may be more. */
async function measureNext(
  context: Context,
  agent: Agent,
  { holder, candidatesOf }: { readonly holder: string; readonly candidatesOf: CandidatesOf },
): Promise<boolean> {
  const { regrets } = context.models;
  const { _id: id, ...fresh } = firstState(context, agent);
  await regrets.updateOne({ _id: id }, { $setOnInsert: fresh }, { upsert: true });
  const regret = await takeLease<RegretDocument>(
    context,
    { model: regrets, filter: { _id: id } },
    { holder, ms: LEASE_MS },
  );
  if (!regret) return false;
  try {
    const position = await measureGroup(context, regret, candidatesOf);
    if (position === 'no_answer') {
      await regrets.updateOne({ _id: id, lease_by: holder }, { $inc: { attempts: 1 } });
      return true;
    }
    if (position === null || position === 'no_worker' || position === 'lost') return false;
    const { matchedCount } = await regrets.updateOne(
      { _id: id, lease_by: holder, lease_until: { $gt: now(context) } },
      { $set: { ...position, attempts: 0 } },
    );
    return matchedCount > 0;
  } catch (error) {
    // The next pass retries; other agents do not wait for it.
    context.logger.error({ err: error, agentId: id }, 'failed to measure the regret of calls');
    return false;
  } finally {
    await regrets.updateOne({ _id: id, lease_by: holder }, { $set: { lease_until: null } });
    // Deleted meanwhile: what was stored after its deletion would stay.
    if (!(await context.models.agents.exists({ _id: id }))) await forgetRegret(context, id);
  }
}
