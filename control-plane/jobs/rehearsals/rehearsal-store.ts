/** Rehearsals in the store: started with the current draft, read, and shown by the API. */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { RehearsalRecord } from '#protocol/rehearsal.ts';
import { NO_REHEARSED_CALLS, type RehearsalTally, resultOf } from '#protocol/rehearsal-tally.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { draftVersion } from '../../catalogue/agents/publish.ts';
import { type Context, now } from '../../platform/context.ts';
import { findSessionPage } from '../../platform/store/find-session-page.ts';
import type { RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import { UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';
import { notJudged } from './draft-differences.ts';

/** Options of a rehearsal. */
export interface RehearsalWanted {
  readonly calls: number;
  readonly days: number;
}

const DAY_MS = 24 * 60 * 60_000;
const RETRY_SECONDS = 30;

/** The ended calls that a rehearsal is about. */
export function callsOf({
  team_id,
  agent_id,
  since,
  created_at,
}: Pick<RehearsalDocument, 'team_id' | 'agent_id' | 'since' | 'created_at'>): Record<string, unknown> {
  return {
    team_id,
    agent_id,
    is_listed: true,
    is_preview: false,
    // Expressed as an exclusion, so that the index of kinds is not used: its order is another one.
    status: { $nin: [...UNDER_WAY_STATUSES] },
    created_at: { $gte: since, $lte: created_at },
  };
}

/**
 * Starts a rehearsal of an agent's draft. Throws `not_found`, and `too_many_at_once` while another one of the
 * account is running.
 */
export async function startRehearsal(
  context: Context,
  { teamId, agentId, id }: { readonly teamId: string; readonly agentId: string; readonly id: string },
  wanted: RehearsalWanted,
): Promise<RehearsalDocument> {
  const { rehearsals } = context.models;
  const agent = await findAgent(context, teamId, agentId);
  if (await rehearsals.exists({ team_id: teamId, status: 'running' }))
    throw fault('too_many_at_once', {
      limit: LIMITS.rehearsalsAtOnce,
      what: 'rehearsals in progress',
      remedy: 'wait until it has finished',
      seconds: RETRY_SECONDS,
    });
  const draft = await draftVersion(context, agent);
  const published = await newestVersion(context, agentId);
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
  const rehearsal: RehearsalDocument = {
    _id: id,
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
    lease_by: null,
    lease_until: null,
    advanced_at: at,
    finished_at: null,
  };
  await rehearsals.create(rehearsal);
  await forgetOldest(context, agentId);
  context.workSignals.notify('rehearsals');
  return rehearsal;
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
export function toRehearsalSummary(rehearsal: RehearsalDocument): Omit<RehearsalRecord, 'result'> {
  const { _id, finished_at } = rehearsal;
  return {
    rehearsal_id: _id,
    agent_id: rehearsal.agent_id,
    status: rehearsal.status,
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
export function toRehearsalRecord(rehearsal: RehearsalDocument): RehearsalRecord {
  const tally = JSON.parse(rehearsal.tally) as RehearsalTally;
  return { ...toRehearsalSummary(rehearsal), result: resultOf(tally) };
}

/** Keeps the newest of an agent. */
async function forgetOldest({ models }: Pick<Context, 'models'>, agentId: string): Promise<void> {
  const old = await models.rehearsals
    .find({ agent_id: agentId }, { _id: 1 })
    .sort({ created_at: -1, _id: -1 })
    .skip(LIMITS.rehearsalsKept)
    .lean<Pick<RehearsalDocument, '_id'>[]>();
  if (old.length > 0) await models.rehearsals.deleteMany({ _id: { $in: old.map(({ _id }) => _id) } });
}
