/**
 * Stores the watched rates of an agent with the calls that are counted, and the alerts that they open or
 * close.
 */
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import type {
  ScoreWatchDocument,
  StoredAlert,
  UntoldAlert,
  WatchedRate,
} from '../../platform/store/models/scorecard-model.ts';
import type { SessionHead } from '../../platform/store/models/session-model.ts';
import { replaceGuarded } from '../../platform/store/replace-guarded.ts';
import { STEP_MS } from '../analytics/range.ts';
import { isLearningDue, LEARNING_DAYS, learnBand } from './learn-band.ts';
import { readScorecard } from './read-scorecard.ts';
import type { CallScore } from './score-call.ts';
import { watchRates, withBand } from './watch-rates.ts';

type Parts = Pick<Context, 'models' | 'caches' | 'clock' | 'metrics' | 'logger'>;

/** A call to be counted. */
export interface Scored {
  readonly session: SessionHead;
  readonly score: CallScore;
  readonly version: number;
}

/** When the call ended. */
export function endOf({ session }: Scored): Date {
  return session.ended_at ?? session.created_at;
}

/** Ids of the calls that a document has counted and whose sessions may still be due. */
export function listOf(
  recent: readonly string[],
  due: ReadonlySet<string>,
  added: readonly Scored[],
): string[] {
  return [...recent.filter((id) => due.has(id)), ...added.map(({ session }) => session._id)];
}

/** Adds the calls to the watched rates; false after a conflict. `due` are the sessions that are due still. */
export async function storeWatch(
  context: Parts,
  agentId: string,
  { watch, due }: { readonly watch: ScoreWatchDocument | null; readonly due: ReadonlySet<string> },
  scored: readonly Scored[],
): Promise<boolean> {
  const listed = new Set(watch?.recent);
  const added = scored.filter(({ session }) => !listed.has(session._id));
  const [first] = added;
  const published = first ? await newestVersion(context, agentId) : null;
  if (!first || !published) return true;
  const rules = published.config.scorecard?.alerts ?? [];
  const before = { rates: watch?.rates ?? [], closed: watch?.closed ?? [] };
  if (rules.length === 0 && before.rates.length === 0) return true;
  const calls = added.map(({ score, session }) => ({ score, beganAt: session.created_at }));
  const { rates, closed, changed } = watchRates(before, calls, { rules, at: now(context), newId });
  // A session that has not been erased: its key seals the events.
  const keyed = added.findLast(({ session }) => session.wrapped_key !== null);
  const sessionId = keyed?.session._id ?? watch?.session_id ?? '';
  const set = {
    team_id: first.session.team_id,
    rev: (watch?.rev ?? 0) + 1,
    rates: await withLearnedBands(context, agentId, rates),
    closed,
    recent: listOf(watch?.recent ?? [], due, added),
    session_id: sessionId,
  };
  const isStored = await replaceGuarded(
    context.models.scoreWatches,
    { id: agentId, rev: watch?.rev ?? null },
    withUntold(
      set,
      changed.map((alert) => ({ alert, session_id: sessionId, version_id: published._id })),
    ),
  );
  if (isStored) for (const alert of changed) tellOperator(context, agentId, alert);
  return isStored;
}

/**
 * The bands are learned from the calls that are counted, these included, and hold for the next ones: no call
 * speaks both for a limit and against it.
 */
async function withLearnedBands(
  context: Parts,
  agentId: string,
  rates: readonly WatchedRate[],
): Promise<WatchedRate[]> {
  const at = now(context);
  if (!rates.some((rate) => isLearningDue(rate, at))) return [...rates];
  const toMs = at.getTime() + 1;
  // Sums are by the hour; the one in which an alert was closed is left out.
  const fromMs = Math.ceil((toMs - LEARNING_DAYS * STEP_MS.day) / STEP_MS.hour) * STEP_MS.hour;
  const range = { fromMs, toMs, interval: 'day' } as const;
  const { totals } = await readScorecard(context, agentId, range);
  return rates.map((rate) =>
    isLearningDue(rate, at) ? withBand(rate, learnBand(rate.rule, totals.all, at)) : rate,
  );
}

function withUntold(set: object, untold: readonly UntoldAlert[]) {
  return untold.length === 0
    ? { $set: set }
    : { $set: { ...set, is_untold: true }, $push: { untold: { $each: untold } } };
}

function tellOperator({ logger, metrics }: Parts, agentId: string, alert: StoredAlert): void {
  const { rate, side, limit, calls, hits } = alert;
  const state = alert.closed_at === null ? 'open' : 'closed';
  metrics.scorecardAlerts.inc({ state });
  logger.warn(
    { agentId, alertId: alert.alert_id, rate, side, limit, calls, hits, reason: alert.close_reason },
    state === 'open' ? 'a rate of an agent has left its band' : 'an alert about a rate of an agent is closed',
  );
}
