/** Rehearsals in the store: started with the current draft, read, and shown by the API. */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { JudgedEstimate } from '#protocol/judged-rehearsal.ts';
import type { RehearsalRecord } from '#protocol/rehearsal.ts';
import { NO_REHEARSED_CALLS, type RehearsalTally, resultOf } from '#protocol/rehearsal-tally.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { draftVersion } from '../../catalogue/agents/publish.ts';
import { type Context, now } from '../../platform/context.ts';
import { findSessionPage } from '../../platform/store/find-session-page.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import { callsOf } from './calls-of.ts';
import { notJudged } from './draft-differences.ts';
import { deleteRehearsals } from './forget-calls.ts';
import { estimateJudge, type JudgeWanted, openJudge } from './judge-wanted.ts';
import { readJudgedResult } from './judged-result.ts';
import type { JudgedDraft } from './turn-question.ts';

/** Options of a rehearsal. */
export interface RehearsalWanted {
  readonly calls: number;
  readonly days: number;
  readonly judge?: JudgeWanted | undefined;
}

/** The agent of a rehearsal, and whose it is. */
interface Owned {
  readonly userId: string;
  readonly teamId: string;
  readonly agentId: string;
}

const DAY_MS = 24 * 60 * 60_000;
const RETRY_SECONDS = 30;

/**
 * Starts a rehearsal of an agent's draft. Throws `not_found`, `too_many_at_once` while another one of the
 * account is running, and what `openJudge` throws.
 */
export async function startRehearsal(
  context: Context,
  { id, userId, teamId, agentId }: Owned & { readonly id: string },
  wanted: RehearsalWanted,
): Promise<RehearsalDocument> {
  const { rehearsals, agents } = context.models;
  const agent = await findAgent(context, teamId, agentId);
  if (await rehearsals.exists({ team_id: teamId, status: { $in: ['running', 'judging'] } }))
    throw fault('too_many_at_once', {
      limit: LIMITS.rehearsalsAtOnce,
      what: 'rehearsals in progress',
      remedy: 'wait until it has finished',
      seconds: RETRY_SECONDS,
    });
  const rehearsal = { _id: id, ...(await prepareRehearsal(context, { userId, agent }, wanted)) };
  await rehearsals.create(rehearsal);
  if (!(await agents.exists({ _id: agentId, team_id: teamId }))) {
    // Deleted while this began: the deletion has not seen it.
    await deleteRehearsals(context, [id]);
    throw fault('not_found');
  }
  await forgetOldest(context, agentId);
  context.workSignals.notify('rehearsals');
  return rehearsal;
}

/** What the judge of a rehearsal would cost, before anything is spent. Throws as `startRehearsal` does. */
export async function estimateRehearsal(
  context: Context,
  { userId, teamId, agentId }: Owned,
  wanted: RehearsalWanted & { readonly judge: JudgeWanted },
): Promise<JudgedEstimate> {
  const agent = await findAgent(context, teamId, agentId);
  const { judge, ...rehearsal } = await prepareRehearsal(context, { userId, agent }, wanted);
  if (!judge) throw new Error('an estimate is about a judge');
  return estimateJudge(context, rehearsal, { judge, draft: JSON.parse(judge.draft) as JudgedDraft });
}

async function prepareRehearsal(
  context: Context,
  { userId, agent }: { readonly userId: string; readonly agent: AgentDocument },
  wanted: RehearsalWanted,
): Promise<Omit<RehearsalDocument, '_id'>> {
  const { _id: agentId, team_id: teamId } = agent;
  const draft = await draftVersion(context, agent);
  const published = await newestVersion(context, agentId);
  const judged = { agent_name: agent.name, version: draft };
  const judge =
    wanted.judge && (await openJudge(context, { userId, teamId }, { wanted: wanted.judge, draft: judged }));
  const at = now(context);
  const about = {
    team_id: teamId,
    agent_id: agentId,
    since: new Date(at.getTime() - wanted.days * DAY_MS),
    created_at: at,
  };
  const { total } = await findSessionPage(context, {
    filter: callsOf(about),
    query: { page_size: 1, include_total: true, cursor: undefined },
    without: ['timeline'],
  });
  const found = total ?? 0;
  return {
    ...about,
    status: 'running',
    error: null,
    config_hash: draft.config_hash,
    draft: JSON.stringify(draft.config),
    published_id: published?._id ?? null,
    not_judged: notJudged(published, draft).slice(0, LIMITS.rehearsalNotJudged),
    timezone: draft.config.conversation.timezone || 'UTC',
    calls_found: found,
    calls_wanted: Math.min(found, wanted.calls),
    calls_looked_at: 0,
    calls_of_earlier_versions: 0,
    left_out: { no_log: 0, other_version: 0, unreadable: 0 },
    cursor: null,
    tally: JSON.stringify(NO_REHEARSED_CALLS),
    attempts: 0,
    ...(judge && { judge }),
    ...{ lease_by: null, lease_until: null, advanced_at: at, finished_at: null },
  };
}

/** Finds a rehearsal of an agent. Throws `not_found`. */
export async function findRehearsal(
  { models }: Pick<Context, 'models'>,
  agentId: string,
  id: string,
): Promise<RehearsalDocument> {
  const found = await models.rehearsals.findOne({ _id: id, agent_id: agentId }).lean<RehearsalDocument>();
  if (!found) throw fault('not_found');
  return found;
}

/** A rehearsal without its result, for lists. */
export function toRehearsalSummary(rehearsal: RehearsalDocument): Omit<RehearsalRecord, 'result' | 'judged'> {
  const { _id, finished_at } = rehearsal;
  return {
    rehearsal_id: _id,
    agent_id: rehearsal.agent_id,
    status: rehearsal.status === 'judging' ? 'running' : rehearsal.status,
    error: rehearsal.error,
    config_hash: rehearsal.config_hash,
    since: rehearsal.since.toISOString(),
    calls_found: rehearsal.calls_found,
    calls_wanted: rehearsal.calls_wanted,
    calls_looked_at: rehearsal.calls_looked_at,
    left_out: rehearsal.left_out,
    calls_of_earlier_versions: rehearsal.calls_of_earlier_versions,
    not_judged: rehearsal.not_judged,
    timezone: rehearsal.timezone,
    created_at: rehearsal.created_at.toISOString(),
    finished_at: finished_at?.toISOString() ?? null,
  };
}

/** A rehearsal as shown by the API: what it has found so far, while it is running. */
export async function toRehearsalRecord(
  context: Context,
  rehearsal: RehearsalDocument,
): Promise<RehearsalRecord> {
  const tally = JSON.parse(rehearsal.tally) as RehearsalTally;
  const judged = await readJudgedResult(context, rehearsal);
  return { ...toRehearsalSummary(rehearsal), result: resultOf(tally), ...(judged && { judged }) };
}

/** Keeps the newest of an agent. */
async function forgetOldest({ models }: Pick<Context, 'models'>, agentId: string): Promise<void> {
  const old = await models.rehearsals
    .find({ agent_id: agentId }, { _id: 1 })
    .sort({ created_at: -1, _id: -1 })
    .skip(LIMITS.rehearsalsKept)
    .lean<Pick<RehearsalDocument, '_id'>[]>();
  await deleteRehearsals(
    { models },
    old.map(({ _id }) => _id),
  );
}
