/**
 * Adds ended calls to the scorecard of their agent, each exactly once, although a process may die between any
 * two writes and several may count at the same time. Sums, watched rates and sessions are in different
 * documents: the first two name the calls added lately, a session says that it is due, and a call leaves the
 * lists only once its session is not.
 */
import { toAnalysis } from '../../calls/sessions/session-record.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import { tagSession, versionOfSession } from '../../calls/sessions/tag-session.ts';
import { readTimeline } from '../../calls/sessions/timeline.ts';
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';
import {
  type ScorecardDocument,
  type ScoredCallDocument,
  type ScoreWatchDocument,
  scorecardId,
  type UntoldAlert,
} from '../../platform/store/models/scorecard-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { DUE_BITS, SCORE_DONE } from '../../platform/store/session-due.ts';
import type { DueCall } from '../due-calls.ts';
import { type CallScore, labelsOf, NO_CALLS, withScore } from './score-call.ts';
import { watchRates } from './watch-rates.ts';

type Parts = Pick<Context, 'models' | 'caches' | 'clock' | 'dataKeys' | 'metrics' | 'logger'>;

/** A call to be counted. */
interface Scored {
  readonly session: SessionDocument;
  readonly score: CallScore;
  readonly version: number;
}

/** What is stored before a batch. */
interface Before {
  readonly cards: ReadonlyMap<string, ScorecardDocument>;
  readonly watch: ScoreWatchDocument | null;
  /** Sessions that are due still, of the batch and of the lists. */
  readonly due: ReadonlySet<string>;
}

/**
 * Counts those of these calls that are due; all have ended and are of this agent. A conflict with another
 * process leaves them as they are for the next time. Returns how many are due no more.
 */
export async function countScoredCalls(
  context: Parts,
  agentId: string,
  calls: readonly DueCall[],
): Promise<number> {
  const { models } = context;
  // The sums first: if another process adds calls meanwhile, their `rev` changes.
  const cardIds = [...new Set(calls.map((call) => scorecardId(agentId, call.created_at, call.version_id)))];
  const cards = await readStored<ScorecardDocument>(models.scorecards, { _id: { $in: cardIds } }, {});
  const [watch = null] = await readStored<ScoreWatchDocument>(models.scoreWatches, { _id: agentId }, {});
  const asked = calls.map(({ _id }) => _id);
  const sessions = await readStored<SessionDocument>(models.sessions, { _id: { $in: asked } }, {});
  const listed = [...cards.flatMap(({ recent }) => recent), ...(watch?.recent ?? [])];
  const due = new Set([...sessions.filter(isDue).map(({ _id }) => _id), ...(await stillDue(context, listed))]);
  const scored = await scoresOf(context, sessions.filter(isDue));
  const before = { cards: new Map(cards.map((card) => [card._id, card])), watch, due };
  await keepFound(context, scored);
  const isStored = (await storeSums(context, before, scored)) && (await storeWatch(context, agentId, before, scored));
  if (!isStored) return 0;
  const over = sessions.filter(isDue).map(({ _id }) => _id);
  if (over.length === 0) return 0;
  await models.sessions.collection.updateMany({ _id: { $in: over } } as never, SCORE_DONE as never);
  await forgetErased(context, over);
  return over.length;
}

function isDue({ due = 0 }: Pick<SessionDocument, 'due'>): boolean {
  return (due & DUE_BITS.score) !== 0;
}

async function stillDue({ models }: Parts, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const found = await readStored<SessionDocument, Pick<SessionDocument, '_id' | 'due'>>(
    models.sessions,
    { _id: { $in: [...new Set(ids)] } },
    { projection: { due: 1 } },
  );
  return found.filter(isDue).map(({ _id }) => _id);
}

/** Conversations with a version of the agent, in the order of their ends. */
async function scoresOf(context: Parts, sessions: readonly SessionDocument[]): Promise<Scored[]> {
  const scored: Scored[] = [];
  for (const session of sessions) {
    if (!session.is_listed || session.status !== 'completed') continue;
    const version = await versionOfSession(context, session);
    if (!version) continue;
    const tags = tagSession(session, await readTimeline(context, session), version).map(({ tag }) => tag);
    const { analysis } = session;
    const judged = analysis.result && toAnalysis(analysis, sealerOf(context, session))?.criteria_results;
    const criteria = (judged ?? []).map(({ name, result }) => ({ name, result }));
    scored.push({ session, score: { tags, criteria }, version: version.version_number });
  }
  return scored.sort((a, b) => endOf(a).getTime() - endOf(b).getTime());
}

function endOf({ session }: Scored): Date {
  return session.ended_at ?? session.created_at;
}

/** Keeps what was found in each call, for lists of calls; a repetition changes nothing. */
async function keepFound({ models }: Parts, scored: readonly Scored[]): Promise<void> {
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
  await insertDocuments(models.scoredCalls, found);
}

/** An erasure may have come in between; one that comes later finds the documents itself. */
async function forgetErased({ models }: Parts, ids: readonly string[]): Promise<void> {
  const erased = await readStored<SessionDocument, Pick<SessionDocument, '_id'>>(
    models.sessions,
    { _id: { $in: [...ids] }, wrapped_key: null },
    { projection: { _id: 1 } },
  );
  if (erased.length > 0)
    await models.scoredCalls.collection.deleteMany({ _id: { $in: erased.map(({ _id }) => _id) } } as never);
}

/** Adds the calls to the sums of their day and version; false after a conflict. */
async function storeSums(context: Parts, { cards, due }: Before, scored: readonly Scored[]): Promise<boolean> {
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
    if (!(await replace(context.models.scorecards.collection, id, before?.rev ?? null, { $set: after }))) return false;
    for (const { score } of added) measure(context, score);
  }
  return true;
}

/** The calls that a document has by now and whose sessions may not say so. */
function listOf(recent: readonly string[], due: ReadonlySet<string>, added: readonly Scored[]): string[] {
  return [...recent.filter((id) => due.has(id)), ...added.map(({ session }) => session._id)];
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

/** Adds the calls to the watched rates; false after a conflict. */
async function storeWatch(
  context: Parts,
  agentId: string,
  { watch, due }: Before,
  scored: readonly Scored[],
): Promise<boolean> {
  const published = await newestVersion(context, agentId);
  const rules = published?.config.scorecard?.alerts ?? [];
  if (!published || (rules.length === 0 && (watch?.rates ?? []).length === 0)) return true;
  const listed = new Set(watch?.recent);
  const added = scored.filter(({ session }) => !listed.has(session._id));
  const [first] = added;
  if (!first) return true;
  const { rates, closed, changed } = watchRates(
    { rates: watch?.rates ?? [], closed: watch?.closed ?? [] },
    added.map((one) => ({ score: one.score, endedAt: endOf(one) })),
    { rules, at: now(context), newId },
  );
  // One that has not been erased: its key seals the event.
  const session = added.findLast((one) => one.session.wrapped_key !== null)?.session;
  const untold = changed.map(
    (alert): UntoldAlert => ({ alert, session_id: session?._id ?? '', version_id: published._id }),
  );
  const set = {
    team_id: first.session.team_id,
    rev: (watch?.rev ?? 0) + 1,
    rates,
    closed,
    recent: listOf(watch?.recent ?? [], due, added),
    ...(untold.length > 0 ? { is_untold: true } : {}),
  };
  const update = { $set: set, ...(untold.length > 0 ? { $push: { untold: { $each: untold } } } : {}) };
  const isStored = await replace(context.models.scoreWatches.collection, agentId, watch?.rev ?? null, update);
  if (isStored) for (const { alert } of untold) tellOperator(context, agentId, alert);
  return isStored;
}

function tellOperator({ logger, metrics }: Parts, agentId: string, alert: UntoldAlert['alert']): void {
  const { rate, side, limit, calls, hits } = alert;
  const state = alert.closed_at === null ? 'open' : 'closed';
  metrics.scorecardAlerts.inc({ state });
  logger.warn(
    { agentId, alertId: alert.alert_id, rate, side, limit, calls, hits, reason: alert.close_reason },
    state === 'open' ? 'a rate of an agent has left its band' : 'an alert about a rate of an agent is closed',
  );
}

interface Update {
  readonly $set: object;
  readonly $push?: object;
}
interface Guarded {
  // biome-ignore lint/suspicious/noExplicitAny: the driver's types are of one collection
  updateOne(filter: any, update: any, options?: any): Promise<{ matchedCount: number; upsertedCount: number }>;
}

/** Changes a document unless another process has, or creates it at `rev` null; false after a conflict. */
async function replace(collection: Guarded, id: string, rev: number | null, update: Update): Promise<boolean> {
  if (rev !== null) return (await collection.updateOne({ _id: id, rev }, update)).matchedCount === 1;
  try {
    // One that exists has a `rev`, so that the insert meets its id.
    return (await collection.updateOne({ _id: id, rev: null }, update, { upsert: true })).upsertedCount === 1;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return false;
  }
}
