/**
 * Adds ended calls to the sums of their share, each exactly once, although a process may die between any two
 * writes and several may count at the same time; the same write ends the share if the calls show a harm. Sums
 * and sessions are in different documents: the sums name the calls added lately, a session says that it is
 * due, and a call leaves the list only once its session is not.
 */

import { toAnalysis } from '../../calls/sessions/session-record.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { isRunning } from '../../catalogue/agents/version-of-call.ts';
import { type Context, now } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { ShareArm } from '../../platform/store/models/session-share.ts';
import {
  type ArmSums,
  SHARE_MEASURES,
  type ShareDocument,
  type ShareEnd,
  type ShareMeasure,
  type StoredRate,
  type UntoldStop,
} from '../../platform/store/models/share-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { DUE_BITS } from '../../platform/store/session-due.ts';
import { COUNTED_FIELDS, type CountedCall, Tally } from '../analytics/summarise-calls.ts';
import type { DueCall } from '../due-calls.ts';
import { harmIn } from './compare-arms.ts';
import { type CallFacts, measureCall } from './measure-call.ts';

type Parts = Pick<Context, 'models' | 'caches' | 'clock' | 'dataKeys' | 'logger' | 'metrics'>;

/** A session with what the sums of its share are made of. */
type Countable = CountedCall &
  Pick<
    SessionDocument,
    '_id' | 'is_listed' | 'end_reason' | 'share' | 'due' | 'silences' | 'analysis' | 'wrapped_key'
  > & { readonly turns?: SessionDocument['turns'] };

const FIELDS = {
  ...COUNTED_FIELDS,
  is_listed: 1,
  share: 1,
  due: 1,
  silences: 1,
  analysis: 1,
  wrapped_key: 1,
} as const;

/**
 * Counts those of these calls that are due; all have ended and are of this agent. A conflict with another
 * process leaves them as they are for the next time. Returns those that are to be due no more.
 */
export async function countShareCalls(
  context: Parts,
  agentId: string,
  calls: readonly Pick<DueCall, '_id'>[],
): Promise<readonly string[]> {
  const asked = new Set(calls.map(({ _id }) => _id));
  // The sums first: if another process adds calls meanwhile, their `rev` changes.
  const [share] = await readStored<ShareDocument>(context.models.shares, { _id: agentId }, {});
  const published = share ? await newestVersion(context, agentId) : null;
  const sessions = await readSessions(context, [...asked, ...(share?.recent ?? [])]);
  const due = sessions.filter(({ due: work = 0 }) => (work & DUE_BITS.share) !== 0);
  const counted =
    share && isRunning(share, published)
      ? due.filter((call) => asked.has(call._id) && isCounted(call, share))
      : [];
  if (share && counted.length > 0 && !(await store(context, share, { counted, due }))) return [];
  return due.map(({ _id }) => _id).filter((id) => asked.has(id));
}

async function readSessions({ models }: Parts, ids: readonly string[]): Promise<Countable[]> {
  if (ids.length === 0) return [];
  const filter = { _id: { $in: [...new Set(ids)] } };
  return readStored<SessionDocument, Countable>(models.sessions, filter, { projection: FIELDS });
}

/** A conversation of this share that is not in its sums. */
function isCounted({ _id, status, is_listed, share }: Countable, of: ShareDocument): boolean {
  return is_listed && status === 'completed' && share?.id === of.share_id && !of.recent.includes(_id);
}

/** Stores the sums with these calls, and the end of the share if they show a harm; false after a conflict. */
async function store(
  context: Parts,
  share: ShareDocument,
  { counted, due }: { readonly counted: readonly Countable[]; readonly due: readonly Countable[] },
): Promise<boolean> {
  const arms = withCalls(context, share, counted);
  const stillDue = new Set(due.map(({ _id }) => _id));
  const recent = [...share.recent.filter((id) => stillDue.has(id)), ...counted.map(({ _id }) => _id)];
  const harm = harmIn(share, arms);
  const end: ShareEnd | null = harm && { reason: 'harm', at: now(context), harm };
  const set = { arms, recent, rev: share.rev + 1 };
  const { matchedCount } = await context.models.shares.collection.updateOne(
    { _id: share._id, rev: share.rev, status: 'running' } as never,
    (end
      ? {
          $set: { ...set, status: 'ended', end, is_untold: true },
          $push: { untold: untoldStop(share, { arms, end, counted }) },
        }
      : { $set: set }) as never,
  );
  if (matchedCount === 0) return false;
  if (end) tellOperator(context, share, end);
  return true;
}

function withCalls(
  context: Parts,
  share: ShareDocument,
  calls: readonly Countable[],
): Readonly<Record<ShareArm, ArmSums>> {
  const of = (arm: ShareArm) => calls.filter((call) => call.share?.arm === arm);
  return {
    share: withCallsOfArm(context, share, share.arms.share, of('share')),
    published: withCallsOfArm(context, share, share.arms.published, of('published')),
  };
}

function withCallsOfArm(
  context: Parts,
  { slow_ms: slowMs }: ShareDocument,
  before: ArmSums,
  calls: readonly Countable[],
): ArmSums {
  if (calls.length === 0) return before;
  const tally = new Tally();
  tally.addStored(before.sums);
  const rates: Record<ShareMeasure, StoredRate> = { ...before.rates };
  for (const call of calls) {
    tally.add(call);
    const facts = {
      end_reason: call.end_reason,
      turns: call.turns ?? [],
      silences: call.silences ?? [],
      criteria: criteriaOf(context, call),
    };
    const happened = measureCall(facts, slowMs);
    for (const measure of SHARE_MEASURES) {
      if (happened[measure] === null) continue;
      const { calls: known, hits } = rates[measure];
      rates[measure] = { calls: known + 1, hits: hits + (happened[measure] ? 1 : 0) };
    }
  }
  return { sums: tally.stored(), rates };
}

function criteriaOf(context: Parts, call: Countable): CallFacts['criteria'] {
  const { analysis } = call;
  return analysis.result && (toAnalysis(analysis, sealerOf(context, call))?.criteria_results ?? null);
}

function untoldStop(
  share: ShareDocument,
  {
    arms,
    end,
    counted,
  }: {
    readonly arms: Readonly<Record<ShareArm, ArmSums>>;
    readonly end: ShareEnd;
    readonly counted: readonly Countable[];
  },
): UntoldStop {
  const measure = end.harm?.measure ?? 'failed';
  return {
    share_id: share.share_id,
    version_number: share.version_number,
    beside_id: share.beside_id,
    beside_number: share.beside_number,
    // A session that has not been erased: its key seals the event.
    session_id: counted.findLast(({ wrapped_key }) => wrapped_key !== null)?._id ?? '',
    end,
    arms: { share: arms.share.rates[measure], published: arms.published.rates[measure] },
  };
}

function tellOperator(
  { logger, metrics }: Parts,
  { _id, share_id, version_number }: ShareDocument,
  { harm }: ShareEnd,
): void {
  metrics.sharesEnded.inc({ reason: 'harm' });
  logger.warn(
    { agentId: _id, shareId: share_id, version: version_number, harm },
    'a share of calls was stopped, because its version does harm',
  );
}
