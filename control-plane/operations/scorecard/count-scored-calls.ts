/**
 * Adds ended calls to the scorecard of their agent, each exactly once, although a process may die between any
 * two writes and several may count at the same time. Sums, watched rates and sessions are in different
 * documents: the first two name the calls added lately, a session says that it is due, and a call leaves the
 * lists only once its session is not.
 */
import { toAnalysis } from '../../calls/sessions/session-record.ts';
import { headOf, loadSession, sealerOf } from '../../calls/sessions/session-store.ts';
import { tagSession } from '../../calls/sessions/tag-session.ts';
import { readTimeline } from '../../calls/sessions/timeline.ts';
import { versionById } from '../../catalogue/agents/newest-version.ts';
import type { Context } from '../../platform/context.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';
import {
  type ScorecardDocument,
  type ScoredCallDocument,
  type ScoreWatchDocument,
  scorecardId,
} from '../../platform/store/models/scorecard-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { replaceGuarded } from '../../platform/store/replace-guarded.ts';
import { DUE_BITS } from '../../platform/store/session-due.ts';
import type { DueCall } from '../due-calls.ts';
import { type CallScore, labelsOf, NO_CALLS, withScore } from './score-call.ts';
import { endOf, listOf, type Scored, storeWatch } from './store-watch.ts';

type Parts = Pick<Context, 'models' | 'caches' | 'clock' | 'dataKeys' | 'metrics' | 'logger'>;

/** The fields that decide whether a session is counted, and with which version. */
type DueSession = Pick<SessionDocument, '_id' | 'due' | 'is_listed' | 'status' | 'version_id'>;

/** The stored state before a batch. */
interface Before {
  readonly cards: ReadonlyMap<string, ScorecardDocument>;
  readonly watch: ScoreWatchDocument | null;
  /** Sessions that are due still, of the batch and of the lists. */
  readonly due: ReadonlySet<string>;
}

/**
 * Counts those of these calls that are due; all have ended and are of this agent. A conflict with another
 * process leaves them as they are for the next time. Returns those that are to be due no more.
 */
export async function countScoredCalls(
  context: Parts,
  agentId: string,
  calls: readonly DueCall[],
): Promise<readonly string[]> {
  const { models } = context;
  const asked = new Set(calls.map(({ _id }) => _id));
  // The sums first: if another process adds calls meanwhile, their `rev` changes.
  const cardIds = [...new Set(calls.map((call) => scorecardId(agentId, call.created_at, call.version_id)))];
  const cards = await readStored<ScorecardDocument>(models.scorecards, { _id: { $in: cardIds } }, {});
  const [watch = null] = await readStored<ScoreWatchDocument>(models.scoreWatches, { _id: agentId }, {});
  const listed = [...cards.flatMap(({ recent }) => recent), ...(watch?.recent ?? [])];
  const due = await readDue(context, [...asked, ...listed]);
  const ours = due.filter(({ _id }) => asked.has(_id));
  const scored = await scoresOf(context, ours);
  const before = {
    cards: new Map(cards.map((card) => [card._id, card])),
    watch,
    due: new Set(due.map(({ _id }) => _id)),
  };
  await keepFound(context, scored);
  const isStored =
    (await storeSums(context, before, scored)) && (await storeWatch(context, agentId, before, scored));
  return isStored ? ours.map(({ _id }) => _id) : [];
}

/** Those of these sessions that are due. */
async function readDue({ models }: Parts, ids: readonly string[]): Promise<DueSession[]> {
  const found = await readStored<SessionDocument, DueSession>(
    models.sessions,
    { _id: { $in: [...new Set(ids)] } },
    { projection: { due: 1, is_listed: 1, status: 1, version_id: 1 } },
  );
  return found.filter(({ due = 0 }) => (due & DUE_BITS.score) !== 0);
}

/**
 * Conversations with a version of the agent, in the order of their ends. One transcript is in memory at a
 * time.
 */
async function scoresOf(context: Parts, sessions: readonly DueSession[]): Promise<Scored[]> {
  const scored: Scored[] = [];
  for (const session of sessions) {
    if (!session.is_listed || session.status !== 'completed') continue;
    const version = await versionById(context, session.version_id);
    if (!version) continue;
    const whole = await loadSession(context, session._id);
    if (!whole) continue;
    const tags = tagSession(whole, await readTimeline(context, whole), version).map(({ tag }) => tag);
    const judged =
      whole.analysis.result && toAnalysis(whole.analysis, sealerOf(context, whole))?.criteria_results;
    const criteria = (judged ?? []).map(({ name, result }) => ({ name, result }));
    scored.push({ session: headOf(whole), score: { tags, criteria }, version: version.version_number });
  }
  return scored.sort((a, b) => endOf(a).getTime() - endOf(b).getTime());
}

/** Stores the findings of each call, for lists of calls; a repetition changes nothing. */
async function keepFound(context: Parts, scored: readonly Scored[]): Promise<void> {
  const found = scored.flatMap(({ session, score, version }): ScoredCallDocument[] =>
    session.wrapped_key === null || score.tags.length + score.criteria.length === 0
      ? []
      : [
          {
            _id: session._id,
            team_id: session.team_id,
            agent_id: session.agent_id,
            version_number: version,
            created_at: session.created_at,
            duration_seconds: session.duration_seconds ?? 0,
            end_reason: session.end_reason,
            tags: [...score.tags],
            criteria: score.criteria.map((one) => ({ ...one })),
            labels: labelsOf(score, version),
          },
        ],
  );
  await insertDocuments(context.models.scoredCalls, found);
  await forgetErased(
    context,
    found.map(({ _id }) => _id),
  );
}

/** An erasure may have come in between; one that comes later finds the documents itself. */
async function forgetErased({ models }: Parts, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const erased = await readStored<SessionDocument, Pick<SessionDocument, '_id'>>(
    models.sessions,
    { _id: { $in: [...ids] }, wrapped_key: null },
    { projection: { _id: 1 } },
  );
  if (erased.length > 0)
    await models.scoredCalls.collection.deleteMany({ _id: { $in: erased.map(({ _id }) => _id) } } as never);
}

/** Adds the calls to the sums of their day and version; false after a conflict. */
async function storeSums(
  context: Parts,
  { cards, due }: Before,
  scored: readonly Scored[],
): Promise<boolean> {
  const byCard = Map.groupBy(scored, ({ session }) =>
    scorecardId(session.agent_id, session.created_at, session.version_id),
  );
  for (const [id, calls] of byCard) {
    const before = cards.get(id) ?? null;
    const listed = new Set(before?.recent);
    const added = calls.filter(({ session }) => !listed.has(session._id));
    if (added.length === 0) continue;
    const after = {
      version_number: calls[0]?.version ?? 0,
      rev: (before?.rev ?? 0) + 1,
      hours: hoursWith(before?.hours ?? [], added),
      recent: listOf(before?.recent ?? [], due, added),
    };
    const guard = { id, rev: before?.rev ?? null };
    if (!(await replaceGuarded(context.models.scorecards, guard, { $set: after }))) return false;
    for (const { score } of added) measure(context, score);
  }
  return true;
}

function hoursWith(before: ScorecardDocument['hours'], added: readonly Scored[]): ScorecardDocument['hours'] {
  const hours = new Map(before.map(({ hour, ...sums }) => [hour, sums]));
  for (const { session, score } of added) {
    const hour = session.created_at.getUTCHours();
    hours.set(hour, withScore(hours.get(hour) ?? NO_CALLS, score));
  }
  return [...hours].map(([hour, sums]) => ({ hour, ...sums })).sort((a, b) => a.hour - b.hour);
}

function measure({ metrics }: Parts, { tags }: CallScore): void {
  for (const tag of tags) metrics.callTags.inc({ tag });
}
