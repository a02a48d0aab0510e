/**
 * The share of an agent's calls in the store: set, ended, promoted. All changes are guarded by `rev`; a
 * publication needs none, because a share ends with the published version beside it.
 */
import { fault } from '#config/errors.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import {
  type ArmSums,
  SHARE_MEASURES,
  type ShareDocument,
  type ShareEndReason,
  type ShareMeasure,
  type StoredRate,
} from '../../platform/store/models/share-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { replaceGuarded } from '../../platform/store/replace-guarded.ts';
import { findAgent } from './agent-store.ts';
import { newestVersion, versionByNumber } from './newest-version.ts';
import { freezeForShare, publishAgain } from './publish.ts';
import { isRunning } from './version-of-call.ts';

const ATTEMPTS = 10;

/** A share as it is asked for. */
export interface WantedShare extends Pick<ShareDocument, 'share' | 'watch' | 'slow_ms' | 'at_least_calls'> {
  /** Number of the version; absent: the draft, which is frozen. */
  readonly version?: number | undefined;
}

/**
 * Sets the share of an agent. For the version and the `slow_ms` of a running share it goes on, with its
 * statistics; otherwise another one begins. Throws `not_found`, `agent_archived`, `agent_not_published`,
 * `share_version_unknown`, `share_of_published`, and for the draft as `freezeForShare` does.
 */
export async function setShare(
  context: Context,
  teamId: string,
  agentId: string,
  wanted: WantedShare,
): Promise<ShareDocument> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const share = await trySetShare(context, { teamId, agentId, wanted, replaces: true });
    if (share) return share;
  }
  throw fault('database_unavailable');
}

/**
 * Like `setShare`, but leaves a running share of another version alone: null then, and after another change
 * meanwhile.
 */
export function setShareIfFree(
  context: Context,
  teamId: string,
  agentId: string,
  wanted: WantedShare,
): Promise<ShareDocument | null> {
  return trySetShare(context, { teamId, agentId, wanted, replaces: false });
}

async function trySetShare(
  context: Context,
  {
    teamId,
    agentId,
    wanted,
    replaces,
  }: {
    readonly teamId: string;
    readonly agentId: string;
    readonly wanted: WantedShare;
    readonly replaces: boolean;
  },
): Promise<ShareDocument | null> {
  const version = await wantedVersion(context, { teamId, agentId, number: wanted.version });
  const live = await newestVersion(context, agentId);
  if (!live) throw fault('agent_not_published');
  if (live.config_hash === version.config_hash) throw fault('share_of_published');
  const before = await findShare(context, agentId);
  const isOpen = before !== null && isRunning(before, live);
  if (!replaces && isOpen && before.version_id !== version._id) return null;
  const goesOn = isOpen && before.version_id === version._id && before.slow_ms === wanted.slow_ms;
  const { share, watch, at_least_calls } = wanted;
  const change = goesOn
    ? { share, watch, at_least_calls }
    : newShare(context, { teamId, version, live, wanted });
  const rev = before?.rev ?? null;
  // The stops of earlier shares that are not told yet stay in the document.
  const set = { $set: { ...change, rev: (rev ?? 0) + 1 } };
  const isStored = await replaceGuarded(context.models.shares, { id: agentId, rev }, set);
  return isStored ? findShare(context, agentId) : null;
}

/** The newest share of an agent, ended if another version than the one beside it is published. */
export async function settledShare(context: Context, agentId: string): Promise<ShareDocument | null> {
  const share = await findShare(context, agentId);
  if (share?.status !== 'running') return share;
  const live = await newestVersion(context, agentId);
  if (isRunning(share, live)) return share;
  await endShare(context, share, live?.config_hash === share.config_hash ? 'promoted' : 'published');
  return findShare(context, agentId);
}

/** Stops a running share, with `only` no other than this one. Throws `not_found`, `share_not_running`. */
export async function stopShare(
  context: Context,
  teamId: string,
  agentId: string,
  only?: string,
): Promise<void> {
  const share = await runningShare(context, teamId, agentId, only);
  if (!(await endShare(context, share, 'by_hand'))) throw fault('share_not_running');
}

/**
 * Publishes the version of a running share for all calls, with `only` of no other than this one; this ends
 * the share. Throws as `publishAgain` does, and `share_not_running`.
 */
export async function promoteShare(
  context: Context,
  teamId: string,
  agentId: string,
  only?: string,
): Promise<VersionDocument> {
  const share = await runningShare(context, teamId, agentId, only);
  const version = await context.models.versions.findById(share.version_id).lean<VersionDocument>();
  if (!version) throw fault('not_found');
  const published = await publishAgain(context, teamId, agentId, version);
  await endShare(context, share, 'promoted');
  return published;
}

async function runningShare(
  context: Context,
  teamId: string,
  agentId: string,
  only?: string,
): Promise<ShareDocument> {
  await findAgent(context, teamId, agentId);
  const share = await settledShare(context, agentId);
  const isOther = only !== undefined && share?.share_id !== only;
  if (share?.status !== 'running' || isOther) throw fault('share_not_running');
  return share;
}

/** Ends this share, unless it has ended; true if it did. */
async function endShare(
  { models, clock, logger, metrics }: Context,
  { _id, share_id }: ShareDocument,
  reason: Exclude<ShareEndReason, 'harm'>,
): Promise<boolean> {
  const end = { reason, at: now({ clock }) };
  const { matchedCount } = await models.shares.collection.updateOne(
    { _id, share_id, status: 'running' } as never,
    { $set: { status: 'ended', end }, $inc: { rev: 1 } } as never,
  );
  if (matchedCount === 0) return false;
  metrics.sharesEnded.inc({ reason });
  logger.info({ agentId: _id, shareId: share_id, reason }, 'a share of calls has ended');
  return true;
}

async function wantedVersion(
  context: Context,
  { teamId, agentId, number }: { teamId: string; agentId: string; number: number | undefined },
): Promise<VersionDocument> {
  const agent = await findAgent(context, teamId, agentId);
  if (agent.status === 'archived') throw fault('agent_archived');
  if (number === undefined) return freezeForShare(context, teamId, agentId);
  const version = await versionByNumber(context, agentId, number);
  if (!version) throw fault('share_version_unknown', { version: number });
  return version;
}

function newShare(
  context: Context,
  {
    teamId,
    version,
    live,
    wanted,
  }: {
    readonly teamId: string;
    readonly version: VersionDocument;
    readonly live: VersionDocument;
    readonly wanted: WantedShare;
  },
): Omit<ShareDocument, '_id' | 'rev' | 'untold' | 'is_untold'> {
  const { version: _number, ...rules } = wanted;
  return {
    ...rules,
    share_id: newId(),
    team_id: teamId,
    version_id: version._id,
    version_number: version.version_number,
    config_hash: version.config_hash,
    knowledge_source_ids: [...version.config.knowledge_base.knowledge_source_ids],
    beside_id: live._id,
    beside_number: live.version_number,
    status: 'running',
    started_at: now(context),
    end: null,
    arms: { share: noCalls(), published: noCalls() },
    recent: [],
  };
}

/** The sums of an arm without a call. */
export function noCalls(): ArmSums {
  const none: StoredRate = { calls: 0, hits: 0 };
  return {
    sums: {
      calls: 0,
      answered: 0,
      seconds: 0,
      cost_micros: 0,
      end_reasons: {},
      latencies: Buffer.alloc(0),
    },
    rates: Object.fromEntries(SHARE_MEASURES.map((measure) => [measure, none])) as Record<
      ShareMeasure,
      StoredRate
    >,
  };
}

function findShare({ models }: Context, agentId: string): Promise<ShareDocument | null> {
  return models.shares.findById(agentId).lean<ShareDocument>().exec();
}
