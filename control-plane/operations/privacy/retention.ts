/**
 * Deletes what a team's retention settings no longer allow: an hourly job that continues where the last one
 * stopped, so that no old record is checked twice.
 */

import type { Meters } from '#base/meters.ts';
import { flightLogPrefix, recordingPrefix } from '../../calls/recordings/recording-store.ts';
import { removeBatch } from '../../jobs/batch-calls/batch-store.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import {
  DEFAULT_RETENTION,
  type PrivacyDocument,
  type RetentionKind,
} from '../../platform/store/models/privacy-model.ts';
import type { UserDocument } from '../../platform/store/models/user-model.ts';

const TICK_MS = 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Ids read per query: a cursor would expire before all records are processed. */
const PAGE = 100;

type Parts = Pick<Context, 'models' | 'blobs' | 'clock'>;

/** Data that belongs to a session and expires with it. */
type OfSession = Exclude<RetentionKind, 'deliveries' | 'test_runs' | 'batch_calls'>;

/** How each kind is deleted from a session; each deletion is idempotent. */
const REMOVERS: Readonly<Record<OfSession, (context: Parts, sessionId: string) => Promise<void>>> = {
  recordings: async ({ models, blobs }, id) => {
    await blobs.deletePrefix(recordingPrefix(id));
    await models.sessions.updateOne({ _id: id }, { $set: { tracks: [] } });
  },
  transcripts: async ({ models }, id) => {
    await models.sessions.updateOne(
      { _id: id },
      { $set: { timeline: [], dialog: null, person: null, sip_headers: null, 'analysis.result': null } },
    );
    await models.sessionAttachments.deleteMany({ session_id: id });
  },
  flight_logs: ({ blobs }, id) => blobs.deletePrefix(flightLogPrefix(id)),
};

/** Starts enforcing retention in this replica: at once, then every hour. */
export function startRetention(context: Context): BackgroundLoop {
  const { clock, metrics } = context;
  let enforcedMs = clock.now();
  addRetentionMetrics(metrics.meters, () => clock.now() - enforcedMs);
  return startBackgroundLoop(context, { name: 'retention', everyMs: TICK_MS }, async () => {
    const startMs = clock.now();
    await enforceRetention(context);
    enforcedMs = startMs;
  });
}

/** Adds the metrics; `lagMs` is the time since the start of the last complete pass. */
export function addRetentionMetrics(meters: Meters, lagMs: () => number): void {
  meters.gauge({
    name: 'parley_retention_lag_seconds',
    help:
      'Time since the start of the last complete pass of this replica: everything that was due ' +
      'then is deleted. A pass starts every hour.',
    read: () => lagMs() / 1000,
  });
}

/** One pass over every team. */
export async function enforceRetention(context: Parts): Promise<void> {
  for (let after = ''; ; ) {
    const users = await context.models.users
      .find({ _id: { $gt: after } }, { team_id: 1 })
      .sort({ _id: 1 })
      .limit(PAGE)
      .lean<Pick<UserDocument, '_id' | 'team_id'>[]>();
    for (const { team_id: teamId } of users) {
      const settings = await context.models.privacy.findById(teamId).lean<PrivacyDocument>();
      await enforceFor(context, { ...DEFAULT_RETENTION, ...(settings ?? { _id: teamId, done: {} }) });
    }
    after = users.at(-1)?._id ?? '';
    if (users.length < PAGE) return;
  }
}

async function enforceFor(context: Parts, settings: PrivacyDocument): Promise<void> {
  const deliveriesUntil = cutoff(context, settings.deliveries_days);
  if (deliveriesUntil)
    await context.models.deliveries.deleteMany({
      team_id: settings._id,
      finished_at: { $lte: deliveriesUntil },
    });
  const testsUntil = cutoff(context, settings.test_runs_days);
  if (testsUntil) await removeTestRuns(context, settings._id, testsUntil);
  const batchesUntil = cutoff(context, settings.batch_calls_days);
  if (batchesUntil) await removeBatchCalls(context, settings._id, batchesUntil);
  for (const kind of ['recordings', 'transcripts', 'flight_logs'] as const) {
    const until = cutoff(context, settings[`${kind}_days`]);
    const done = settings.done[kind] ?? new Date(0);
    if (until && until > done) await removeEnded(context, { settings, kind, done, until });
  }
}

async function removeEnded(
  context: Parts,
  job: { settings: PrivacyDocument; kind: OfSession; done: Date; until: Date },
): Promise<void> {
  const { settings, kind, until } = job;
  const note = (done: Date) =>
    context.models.privacy.updateOne({ _id: settings._id }, { $set: { [`done.${kind}`]: done } });
  let rest: object = { ended_at: { $gt: job.done, $lte: until } };
  for (;;) {
    const ended = await context.models.sessions
      .find({ team_id: settings._id, ...rest }, { ended_at: 1 })
      .sort({ ended_at: 1, _id: 1 })
      .limit(PAGE)
      .lean<{ _id: string; ended_at: Date }[]>();
    for (const { _id } of ended) await REMOVERS[kind](context, _id);
    const last = ended.at(-1);
    if (!last || ended.length < PAGE) break;
    rest = {
      ended_at: { $gte: last.ended_at, $lte: until },
      $or: [{ ended_at: { $gt: last.ended_at } }, { _id: { $gt: last._id } }],
    };
    // Other sessions may have ended in the same millisecond.
    await note(new Date(last.ended_at.getTime() - 1));
  }
  await note(until);
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

function cutoff({ clock }: Parts, days: number | null): Date | null {
  return days === null ? null : new Date(clock.wallTime() - days * DAY_MS);
}
