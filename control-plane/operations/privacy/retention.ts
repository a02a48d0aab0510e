/**
 * Deletes what a team's retention settings no longer allow: an hourly job that continues where the last one
 * stopped, so that no old record is checked twice. A team belongs to one replica at a time (a lease in the
 * store), so that none is deleted twice.
 */
import type { Meters } from '#base/meters.ts';
import { flightLogPrefix, recordingPrefix } from '../../calls/recordings/recording-store.ts';
import { removeBatch } from '../../jobs/batch-calls/batch-store.ts';
import { removeRegret } from '../../jobs/regret/regret-store.ts';
import { removeAnswers, removeRehearsals } from '../../jobs/rehearsals/forget-calls.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import { inBatches } from '../../platform/store/in-batches.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import {
  DEFAULT_RETENTION,
  type PrivacyDocument,
  type RetentionDays,
  type RetentionKind,
} from '../../platform/store/models/privacy-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { UserDocument } from '../../platform/store/models/user-model.ts';
import {
  archivedMonths,
  type SessionCollection,
  updateEverywhere,
} from '../../platform/store/session-archive.ts';
import { emptyTextSessions, KEYLESS } from './erase-texts.ts';
import { settleAll } from './settle-all.ts';

const TICK_MS = 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Ids read per query: a cursor would expire before all records are processed. */
const PAGE = 100;
/** Sessions whose blobs are deleted at once: a remote bucket answers late. */
const AT_ONCE = 50;
/** Renewed before each few sessions; a bucket that is slow or away takes its time. */
const LEASE_MS = 5 * 60 * 1000;

type Parts = Pick<Context, 'models' | 'blobs' | 'clock'>;

/** Data that belongs to a session and expires with it. */
type OfSession = Exclude<RetentionKind, 'deliveries' | 'test_runs' | 'batch_calls'>;

/** How each kind is deleted from sessions; each deletion is idempotent. */
const REMOVERS: Readonly<Record<OfSession, (context: Parts, ids: readonly string[]) => Promise<void>>> = {
  recordings: async ({ models, blobs, clock }, ids) => {
    await settleAll(ids.map((id) => blobs.deletePrefix(recordingPrefix(id))));
    await inBatches(clock, ids, (some) => updateEverywhere({ models }, some, { $set: { tracks: [] } }));
  },
  transcripts: ({ models, clock }, ids) =>
    inBatches(clock, ids, async (some) => {
      await updateEverywhere({ models }, some, {
        $set: { timeline: [], dialog: null, person: null, sip_headers: null, 'analysis.result': null },
      });
      await models.sessionAttachments.deleteMany({ session_id: { $in: some } });
      await models.scoredCalls.deleteMany({ _id: { $in: some } });
    }),
  flight_logs: async ({ blobs }, ids) => {
    await settleAll(ids.map((id) => blobs.deletePrefix(flightLogPrefix(id))));
  },
};

/** Starts enforcing retention in this replica: at once, then every hour. */
export function startRetention(context: Context): BackgroundLoop {
  const { clock, metrics, settings } = context;
  const holder = leaseHolder(settings);
  let enforcedMs = clock.now();
  addRetentionMetrics(metrics.meters, () => clock.now() - enforcedMs);
  return startBackgroundLoop(context, { name: 'retention', everyMs: TICK_MS }, async () => {
    const startMs = clock.now();
    await enforceRetention(context, holder);
    enforcedMs = startMs;
  });
}

/** Adds the metrics; `lagMs` is the time since the start of the last complete pass. */
export function addRetentionMetrics(meters: Meters, lagMs: () => number): void {
  meters.gauge({
    name: 'parley_retention_lag_seconds',
    help:
      'Time since the start of the last complete pass of this replica: everything that was due ' +
      'then is deleted, or another replica is deleting it. A pass starts every hour.',
    read: () => lagMs() / 1000,
  });
}

/**
 * One pass over every team that no other replica is at; `holder` identifies the holder of the leases. An
 * error of one team is thrown once all others have had their turn.
 */
export async function enforceRetention(context: Parts, holder: string): Promise<void> {
  const errors: unknown[] = [];
  for (let after = ''; ; ) {
    const users = await context.models.users
      .find({ _id: { $gt: after } }, { team_id: 1 })
      .sort({ _id: 1 })
      .limit(PAGE)
      .lean<Pick<UserDocument, '_id' | 'team_id'>[]>();
    for (const { team_id: teamId } of users)
      await enforceFor(context, teamId, holder).catch((error: unknown) => errors.push(error));
    after = users.at(-1)?._id ?? '';
    if (users.length === PAGE) continue;
    if (errors.length > 0) throw errors[0];
    return;
  }
}

/** Another replica has the team. */
class LeaseLost extends Error {}

async function enforceFor(context: Parts, teamId: string, holder: string): Promise<void> {
  if (!(await context.models.privacy.exists({ _id: teamId }))) {
    await removeDeliveries(context, teamId, DEFAULT_RETENTION);
    return;
  }
  const renew = () => lease(context, teamId, holder);
  try {
    const settings = await renew();
    await removeExpired(context, { ...DEFAULT_RETENTION, ...settings }, renew);
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
  } finally {
    await release(context, teamId, holder);
  }
}

/** Takes or renews the lease of a team, and returns its settings. Throws `LeaseLost`. */
async function lease({ models, clock }: Parts, teamId: string, holder: string): Promise<PrivacyDocument> {
  const team = { model: models.privacy, filter: { _id: teamId } };
  const settings = await takeLease({ clock }, team, { holder, ms: LEASE_MS });
  if (!settings) throw new LeaseLost();
  return settings;
}

async function release({ models }: Parts, teamId: string, holder: string): Promise<void> {
  await models.privacy.updateOne({ _id: teamId, lease_by: holder }, { $set: { lease_until: null } });
}

async function removeDeliveries(
  context: Parts,
  teamId: string,
  { deliveries_days: days }: RetentionDays,
): Promise<void> {
  const until = cutoff(context, days);
  if (until) await context.models.deliveries.deleteMany({ team_id: teamId, finished_at: { $lte: until } });
}

/** `renew` keeps the lease. */
async function removeExpired(
  context: Parts,
  settings: PrivacyDocument,
  renew: () => Promise<unknown>,
): Promise<void> {
  await removeDeliveries(context, settings._id, settings);
  await renew();
  const testsUntil = cutoff(context, settings.test_runs_days);
  if (testsUntil) await removeTestRuns(context, settings._id, testsUntil);
  const batchesUntil = cutoff(context, settings.batch_calls_days);
  await renew();
  if (batchesUntil) await removeBatchCalls(context, settings._id, batchesUntil);
  const writtenUntil = cutoff(context, settings.transcripts_days);
  await renew();
  if (writtenUntil) {
    await removeTextSessions(context, settings._id, writtenUntil);
    await removeMessages(context, settings._id, writtenUntil);
  }
  const logsUntil = cutoff(context, settings.flight_logs_days);
  if (logsUntil) {
    await removeRehearsals(context, settings._id, logsUntil);
    await removeRegret(context, settings._id, logsUntil);
  }
  const wordsUntil = cutoff(context, settings.transcripts_days);
  if (wordsUntil) await removeAnswers(context, settings._id, wordsUntil);
  for (const kind of ['recordings', 'transcripts', 'flight_logs'] as const) {
    const until = cutoff(context, settings[`${kind}_days`]);
    const done = settings.done[kind] ?? new Date(0);
    if (until && until > done) await removeEnded(context, { settings, kind, done, until, renew });
  }
}

/** The contents to remove from a team's sessions. */
interface Removal {
  readonly settings: PrivacyDocument;
  readonly kind: OfSession;
  readonly done: Date;
  readonly until: Date;
  readonly renew: () => Promise<unknown>;
}

/**
 * Reads the sessions in the order of their creation, because the list of a team has an index of that. Those
 * that ended later than others of their time are found again in the next pass: it begins at the first of
 * them. The archive comes second: what is moved meanwhile is there.
 */
async function removeEnded(context: Parts, job: Removal): Promise<void> {
  const { settings, kind, until } = job;
  const note = (set: Partial<Record<'done' | 'from' | 'archived', Date>>) =>
    context.models.privacy.updateOne(
      { _id: settings._id },
      { $set: Object.fromEntries(Object.entries(set).map(([field, at]) => [`${field}.${kind}`, at])) },
    );
  const since = settings.archived?.[kind] ?? new Date(0);
  const from = await removeFrom(context, job, {
    collection: context.models.sessions.collection,
    // A session that was put back may be older than those that were never archived.
    from: settings.archived?.[kind] ?? settings.from?.[kind] ?? new Date(0),
    note: (at) => note({ from: at }),
  });
  let archived = from;
  for (const { collection, endMs } of await archivedMonths(context)) {
    if (endMs <= since.getTime()) continue;
    const kept = await removeFrom(context, job, { collection, from: since, note: async () => undefined });
    if (kept < archived) archived = kept;
  }
  await note({ done: until, from, archived });
}

/** Where sessions are, and from when on they are to be looked at. */
interface Place {
  readonly collection: SessionCollection;
  readonly from: Date;
  /** Notes that all sessions before this time are done. */
  note(at: Date): Promise<unknown>;
}

/** Returns from when on the next pass is to look again. */
async function removeFrom(context: Parts, job: Removal, { collection, from, note }: Place): Promise<Date> {
  const { settings, kind, done, until } = job;
  let kept: Date | null = null;
  let rest: object = { created_at: { $gte: from, $lte: until } };
  for (;;) {
    await job.renew();
    const page = (await collection
      .find({ team_id: settings._id, ...rest } as never, {
        projection: { created_at: 1, ended_at: 1 },
        sort: { created_at: 1, _id: 1 },
        limit: PAGE,
      })
      .toArray()) as unknown as Aged[];
    const ids = page.filter((session) => isBetween(session, done, until)).map(({ _id }) => _id);
    for (let first = 0; first < ids.length; first += AT_ONCE) {
      await job.renew();
      await REMOVERS[kind](context, ids.slice(first, first + AT_ONCE));
    }
    kept ??= page.find(({ ended_at: at }) => at === null || at > until)?.created_at ?? null;
    const last = page.at(-1);
    if (!last || page.length < PAGE) return kept ?? until;
    rest = {
      created_at: { $gte: last.created_at, $lte: until },
      $or: [{ created_at: { $gt: last.created_at } }, { _id: { $gt: last._id } }],
    };
    await note(kept ?? last.created_at);
  }
}

type Aged = Pick<SessionDocument, '_id' | 'created_at' | 'ended_at'>;

/** Whether a session became due between the last pass and this one. */
function isBetween({ created_at: created, ended_at: ended }: Aged, done: Date, until: Date): boolean {
  if (ended === null || ended > until) return false;
  // The clock of its worker may have been slow.
  return ended > done || created > done;
}

/**
 * Finished batches are deleted with all their runs, so that no batch is ever seen with half of them; runs
 * first, so that an interrupted deletion is found again.
 */
async function removeTestRuns({ models }: Parts, teamId: string, until: Date): Promise<void> {
  const finished = () =>
    models.testBatches
      .find({ team_id: teamId, finished_at: { $lte: until } }, { _id: 1 })
      .limit(PAGE)
      .lean<{ _id: string }[]>();
  for (let page = await finished(); page.length > 0; page = await finished()) {
    for (const { _id } of page) {
      await models.testRuns.deleteMany({ batch_id: _id });
      await models.testInputs.deleteMany({ batch_id: _id });
      await models.testBatches.deleteOne({ _id });
    }
  }
}

/**
 * Finished batches of calls are deleted with their rows. The do-not-call list stays, and the sessions expire
 * by themselves.
 */
async function removeBatchCalls(context: Parts, teamId: string, until: Date): Promise<void> {
  const { batchCalls } = context.models;
  const finished = () =>
    batchCalls
      .find({ team_id: teamId, finished_at: { $lte: until } }, { _id: 1 })
      .limit(PAGE)
      .lean<{ _id: string }[]>();
  for (let page = await finished(); page.length > 0; page = await finished())
    for (const { _id } of page) await removeBatch(context, { _id, team_id: teamId });
}

/** Text messages that were handled or sent. */
async function removeMessages({ models }: Parts, teamId: string, until: Date): Promise<void> {
  const over = { $in: ['handled', 'sent', 'delivered', 'failed'] as const };
  await models.smsMessages.deleteMany({ team_id: teamId, created_at: { $lte: until }, state: over });
}

/** The contents of ended text sessions; the key last, so that an interrupted deletion is found again. */
async function removeTextSessions({ models }: Parts, teamId: string, until: Date): Promise<void> {
  const expired = () =>
    models.textSessions
      .find({ team_id: teamId, ended_at: { $lte: until }, wrapped_key: { $ne: null } }, { _id: 1 })
      .limit(PAGE)
      .lean<{ _id: string }[]>();
  for (let page = await expired(); page.length > 0; page = await expired()) {
    const ids = page.map(({ _id }) => _id);
    await emptyTextSessions(models, ids);
    await models.textSessions.updateMany({ _id: { $in: ids } }, { $set: KEYLESS });
  }
}

function cutoff({ clock }: Parts, days: number | null): Date | null {
  return days === null ? null : new Date(clock.wallTime() - days * DAY_MS);
}
