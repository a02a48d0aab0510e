/**
 * Measures the next calls of an agent: their logs go to a worker, and what became of them into the sums of
 * their day and version, each call exactly once.
 */
import { LIMITS } from '#config/limits.ts';
import type { RegretOutcome, RegretRequestCall } from '#protocol/regret.ts';
import { addLeftOut, addMeasured, NO_REGRET, type RegretSums } from '#protocol/regret-tally.ts';
import type { TriedSettings } from '#protocol/tuning.ts';
import { type Context, now } from '../../platform/context.ts';
import type { RegretDayDocument, RegretDocument } from '../../platform/store/models/regret-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { replaceGuarded } from '../../platform/store/replace-guarded.ts';
import { isUnderWay } from '../../platform/store/session-status.ts';
import { askAboutCalls, isGroupFull, logOf } from '../ask-about-calls.ts';
import { dayOf, storedSums, sumsOf } from './regret-store.ts';

const PAGE_SIZE = 50;
/** A replica may store a call so much later than it began; the end of a log takes some seconds, too. */
const SETTLE_MS = 60_000;

const FIELDS = {
  agent_id: 1,
  created_at: 1,
  ended_at: 1,
  status: 1,
  is_listed: 1,
  is_preview: 1,
  version_id: 1,
  wrapped_key: 1,
} as const;
type Measurable = Pick<SessionDocument, '_id' | keyof typeof FIELDS>;

/** Settings that the calls of a version are judged under beside their own. */
export type CandidatesOf = (version: VersionDocument) => readonly TriedSettings[];

/** A call with its log; without one it is counted as left out. */
interface Read {
  readonly session: Measurable;
  readonly version: Pick<VersionDocument, '_id' | 'version_number'>;
  readonly candidates: readonly TriedSettings[];
  readonly log: string | null;
}

/** The next calls of an agent that have ended, and begun before none that has not; the earliest first. */
export function nextCalls(
  context: Pick<Context, 'models' | 'clock'>,
  { _id, team_id, at, session_id }: RegretDocument,
  limit = PAGE_SIZE,
): Promise<Measurable[]> {
  const until = new Date(context.clock.wallTime() - SETTLE_MS);
  return readStored<SessionDocument, Measurable>(
    context.models.sessions,
    {
      team_id,
      agent_id: _id,
      created_at: { $gte: at, $lte: until },
      $or: [{ created_at: { $gt: at } }, { _id: { $gt: session_id } }],
    },
    { projection: FIELDS, sort: { created_at: 1, _id: 1 }, limit },
  ).then((found) => {
    const open = found.findIndex((call) => !hasSettled(call, until));
    return open === -1 ? found : found.slice(0, open);
  });
}

function hasSettled({ status, ended_at: endedAt }: Measurable, until: Date): boolean {
  return !isUnderWay(status) && (endedAt === null || endedAt <= until);
}

/**
 * Measures a group. `no_worker`: none is free or can do it; `no_answer`: one took too long or died; `lost`:
 * another process has added calls meanwhile. Otherwise the position after it; null if there is no call.
 */
export async function measureGroup(
  context: Context,
  regret: RegretDocument,
  candidatesOf: CandidatesOf,
): Promise<Pick<RegretDocument, 'at' | 'session_id'> | 'no_worker' | 'no_answer' | 'lost' | null> {
  if (!context.dispatch.hasWorker()) return 'no_worker';
  const { calls, last } = await readGroup(context, regret, candidatesOf);
  if (!last) return null;
  const wanted = calls.flatMap(({ session, candidates, log }): RegretRequestCall[] =>
    log === null ? [] : [{ session_id: session._id, log, candidates: [...candidates] }],
  );
  const ask = (some: readonly RegretRequestCall[]) => context.dispatch.measureRegret(some);
  const outcomes = await askAboutCalls(wanted, regret.attempts, ask);
  if (outcomes === 'no_worker' || outcomes === 'no_answer') return outcomes;
  const byId = new Map(outcomes.map((outcome) => [outcome.session_id, outcome]));
  const groups = Map.groupBy(calls, ({ session, version }) => `${dayOf(session.created_at)}:${version._id}`);
  for (const group of groups.values()) if (!(await store(context, regret, group, byId))) return 'lost';
  return { at: last.created_at, session_id: last._id };
}

async function readGroup(
  context: Context,
  regret: RegretDocument,
  candidatesOf: CandidatesOf,
): Promise<{ readonly calls: readonly Read[]; readonly last: Measurable | null }> {
  const sessions = await nextCalls(context, regret);
  const versions = await versionsOf(context, sessions);
  const calls: Read[] = [];
  let last: Measurable | null = null;
  let bytes = 0;
  for (const session of sessions) {
    const version = versions.get(session.version_id);
    if (version && session.is_listed && !session.is_preview) {
      const log = await logOf(context, session);
      const more = log?.byteLength ?? 0;
      if (isGroupFull({ calls: calls.length, bytes }, { more, attempts: regret.attempts }))
        return { calls, last };
      bytes += more;
      calls.push({ session, version, candidates: candidatesOf(version), log: log?.toString('utf8') ?? null });
    }
    last = session;
  }
  return { calls, last };
}

async function versionsOf(
  { models }: Context,
  sessions: readonly Measurable[],
): Promise<ReadonlyMap<string, VersionDocument>> {
  const ids = [...new Set(sessions.map(({ version_id: id }) => id))].filter((id) => id !== '');
  if (ids.length === 0) return new Map();
  const found = await readStored<VersionDocument>(
    models.versions,
    { _id: { $in: ids } },
    { projection: { version_number: 1, config: 1 } },
  );
  return new Map(found.map((version) => [version._id, version]));
}

/** Adds calls of one day and version to its sums, those that it does not have; false after a conflict. */
async function store(
  context: Context,
  { _id: agentId, team_id }: RegretDocument,
  group: readonly Read[],
  outcomes: ReadonlyMap<string, RegretOutcome>,
): Promise<boolean> {
  const [first] = group;
  const last = group.at(-1);
  if (!first || !last) return true;
  const day = dayOf(first.session.created_at);
  const _id = `${agentId}:${day}:${first.version._id}`;
  const [before] = await readStored<RegretDayDocument>(context.models.regretDays, { _id }, {});
  const added = group.filter(({ session }) => !before || isAfter(session, before));
  if (added.length === 0) return true;
  const sums = added.reduce(
    (all, call) => withCall(all, call, outcomes.get(call.session._id)),
    before ? sumsOf(before) : NO_REGRET,
  );
  const change = {
    at: last.session.created_at,
    session_id: last.session._id,
    ...storedSums(sums),
    rev: (before?.rev ?? 0) + 1,
  };
  const { _id: version_id, version_number } = first.version;
  const $set = before ? change : { team_id, agent_id: agentId, day, version_id, version_number, ...change };
  const guard = { id: _id, rev: before?.rev ?? null };
  if (!(await replaceGuarded(context.models.regretDays, guard, { $set }))) return false;
  if (!before) await forgetOldest(context, agentId);
  return true;
}

function withCall(sums: RegretSums, { candidates }: Read, outcome: RegretOutcome | undefined): RegretSums {
  return outcome?.outcome === 'measured' ? addMeasured(sums, outcome, candidates) : addLeftOut(sums);
}

function isAfter(
  { created_at: at, _id }: Measurable,
  last: Pick<RegretDayDocument, 'at' | 'session_id'>,
): boolean {
  const order = at.getTime() - last.at.getTime();
  return order > 0 || (order === 0 && _id > last.session_id);
}

/** Sums of days that no question may ask for are not kept. */
async function forgetOldest(context: Context, agentId: string): Promise<void> {
  const oldest = new Date(now(context).getTime() - LIMITS.regretDays * 24 * 60 * 60_000);
  await context.models.regretDays.deleteMany({ agent_id: agentId, day: { $lt: dayOf(oldest) } });
}
