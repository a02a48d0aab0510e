/**
 * Runs batches in the background: dials due rows as fast as pacing allows, settles ended calls, and finishes
 * a batch after its last row. A batch belongs to one process at a time (a lease in the store), a row to one
 * call at a time: the row names its session before that is placed, so that after a crash the next process
 * finds the outcome of that session, as for a repeated Idempotency-Key, and continues from there.
 */
import { resolveDeadAttempt } from '../../calls/outbound/idempotency.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import type { BatchCallDocument, BatchRowDocument } from '../../platform/store/models/batch-call-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { findSessions } from '../../platform/store/session-archive.ts';
import { zonesOf } from './batch-record.ts';
import { afterAttempt, freeSlots, outcomeOf } from './batch-rules.ts';
import { cancelRows, countsOf, removeBatch } from './batch-store.ts';
import { isOpen } from './calling-hours.ts';
import { dialRow, returnRow } from './dial-row.ts';

/**
 * Interval at which batches are checked for opening calling hours, calls that ended on another replica, and
 * work interrupted by a crash.
 */
const TICK_MS = 2_000;
/** Renewed with every call; placing one takes well under a second. */
const LEASE_MS = 30_000;
const MINUTE_MS = 60_000;
/** Writing ten thousand rows takes seconds. */
const ABANDONED_MS = 10 * MINUTE_MS;
/** Calls placed per check of the pacing. */
const HANDFUL = 8;
/** Retry interval when no worker, trunk or limit had capacity. */
const HOLD_MS = 10_000;

/** Starts the runner of a process. */
export function startBatchRunner(context: Context): BackgroundLoop {
  const runner = leaseHolder(context.settings);
  const isDone = async () => (await context.models.batchCalls.exists({ finished_at: null })) === null;
  const options = {
    name: 'batch-calls',
    everyMs: TICK_MS,
    chore: 'batch-calls',
    isDone,
    waitsFor: ['batchCalls'],
  } as const;
  return startBackgroundLoop(context, options, () => runBatches(context, runner));
}

/** One pass over every unfinished batch; `runner` identifies the holder of the leases. */
export async function runBatches(context: Context, runner: string): Promise<void> {
  const open = await context.models.batchCalls
    .find({ finished_at: null }, { _id: 1 })
    .sort({ created_at: 1 })
    .lean<Pick<BatchCallDocument, '_id'>[]>();
  for (const { _id } of open) {
    try {
      const batch = await lease(context, _id, runner);
      if (batch) await advance(context, batch, runner);
    } catch (error) {
      // The next pass retries; other batches do not wait for it.
      context.logger.error({ err: error, batchId: _id }, 'failed to process a batch');
    }
  }
}

/** Takes or renews the lease of a batch; null if another process has it. */
function lease(context: Context, batchId: string, runner: string): Promise<BatchCallDocument | null> {
  const batch = { model: context.models.batchCalls, filter: { _id: batchId, finished_at: null } };
  return takeLease(context, batch, { holder: runner, ms: LEASE_MS });
}

async function release({ models, clock }: Context, batchId: string, runner: string): Promise<void> {
  await models.batchCalls.updateOne(
    { _id: batchId, lease_by: runner },
    { $set: { lease_until: new Date(clock.wallTime()) } },
  );
}

async function advance(context: Context, batch: BatchCallDocument, runner: string): Promise<void> {
  const { models, clock } = context;
  if (batch.status === 'creating') {
    if (batch.created_at.getTime() + ABANDONED_MS <= clock.wallTime()) await removeBatch(context, batch);
    return;
  }
  await settleCalls(context, batch);
  if (batch.status === 'cancelled') await cancelRows(context, batch._id);
  const isDue = batch.start_at === null || batch.start_at <= now(context);
  if (batch.status === 'scheduled' && isDue) {
    const started = { status: 'running', started_at: now(context), updated_at: now(context) } as const;
    await models.batchCalls.updateOne({ _id: batch._id, status: 'scheduled' }, { $set: started });
  }
  if (batch.status === 'running' || (batch.status === 'scheduled' && isDue))
    await dialDue(context, batch, runner);
  await finishIfOver(context, batch._id);
}

/** Advances rows whose call has ended, and checks rows whose placing was interrupted. */
async function settleCalls(context: Context, batch: BatchCallDocument): Promise<void> {
  const rows = await context.models.batchRows
    .find({ batch_id: batch._id, state: 'calling' })
    .lean<BatchRowDocument[]>();
  for (const row of rows.filter(({ is_placed }) => !is_placed)) await recover(context, row);
  const placed = rows.filter(({ is_placed }) => is_placed);
  const ids = placed.map(({ session_id }) => session_id ?? '');
  const sessions = await findSessions<Pick<SessionDocument, '_id' | 'status' | 'dial_status'>>(context, ids, {
    status: 1,
    dial_status: 1,
  });
  const byId = new Map(sessions.map((session) => [session._id, session]));
  for (const row of placed) await settleRow(context, batch, row, byId.get(row.session_id ?? '') ?? null);
}

/** The process that was placing this row's call is dead: checks whether the call was placed. */
async function recover(context: Context, row: BatchRowDocument): Promise<void> {
  const found = row.session_id === null ? 'given_up' : await resolveDeadAttempt(context, row.session_id);
  if (found === 'made')
    await context.models.batchRows.updateOne(
      { _id: row._id, session_id: row.session_id },
      { $set: { is_placed: true } },
    );
  // If nothing was written the session id is used up: any process still working on it finds it taken.
  else await returnRow(context, row, { keepsSession: found === 'nothing' });
}

async function settleRow(
  context: Context,
  batch: BatchCallDocument,
  row: BatchRowDocument,
  session: Pick<SessionDocument, 'status' | 'dial_status'> | null,
): Promise<void> {
  const outcome = outcomeOf(session);
  if (outcome === null || row.session_id === null) return;
  const at = now(context);
  const attempts = row.attempts.length + 1;
  // After an erasure the number no longer exists.
  const isLast = row.opted_out || row.to_number === '';
  const { state, nextAtMs } = afterAttempt(batch.retry, { outcome, attempts, isLast, atMs: at.getTime() });
  const attempt = { session_id: row.session_id, dialled_at: row.dialled_at ?? at, outcome };
  await context.models.batchRows.updateOne(
    { _id: row._id, state: 'calling', session_id: row.session_id },
    {
      $set: { state, next_at: new Date(nextAtMs), session_id: null, is_placed: false, updated_at: at },
      $push: { attempts: attempt },
    },
  );
}

/** Dials a few rows; the rest is due in the next pass, after the other batches. */
async function dialDue(context: Context, batch: BatchCallDocument, runner: string): Promise<void> {
  if (batch.hold_until > now(context)) return;
  if (!context.dispatch.hasWorker()) {
    // Another replica may have workers that this one cannot reach.
    await release(context, batch._id, runner);
    return;
  }
  const due = await dueRows(context, batch);
  // One after the other, so that the limits of trunk and account are exact.
  for (const row of due) {
    if (!(await lease(context, batch._id, runner))) return;
    if ((await dialRow(context, batch, row)) !== 'no_room') continue;
    const until = new Date(context.clock.wallTime() + HOLD_MS);
    await context.models.batchCalls.updateOne({ _id: batch._id }, { $set: { hold_until: until } });
    return;
  }
  if (due.length === HANDFUL) context.workSignals.notify('batch-calls');
}

/** The rows to dial now, in the order of the list; retries come last. */
async function dueRows(context: Context, batch: BatchCallDocument): Promise<BatchRowDocument[]> {
  const { batchRows } = context.models;
  const wallTime = context.clock.wallTime();
  const open = batch.zone_sets.filter((zones) => isOpen(batch.calling_hours, zonesOf(zones), wallTime));
  if (open.length === 0) return [];
  const [calling, lastMinute] = await Promise.all([
    batchRows.countDocuments({ batch_id: batch._id, state: 'calling' }),
    batchRows.countDocuments({
      batch_id: batch._id,
      // Only with `$type` can the query use the partial index.
      dialled_at: { $type: 'date', $gt: new Date(wallTime - MINUTE_MS) },
    }),
  ]);
  const slots = freeSlots(batch.pacing, { calling, lastMinute });
  if (slots === 0) return [];
  return batchRows
    .find({
      batch_id: batch._id,
      state: 'waiting',
      next_at: { $lte: new Date(wallTime) },
      zones: { $in: open },
    })
    .sort({ next_at: 1, line: 1 })
    .limit(Math.min(slots, HANDFUL))
    .lean<BatchRowDocument[]>();
}

async function finishIfOver(context: Context, batchId: string): Promise<void> {
  if (await context.models.batchRows.exists({ batch_id: batchId, state: { $in: ['waiting', 'calling'] } }))
    return;
  const batch = await context.models.batchCalls.findById(batchId).lean<BatchCallDocument>();
  if (!batch || batch.finished_at !== null) return;
  const counts = await countsOf(context, batch);
  const at = now(context);
  const status = batch.status === 'cancelled' ? 'cancelled' : 'completed';
  await context.models.batchCalls.updateOne(
    { _id: batchId, finished_at: null },
    { $set: { status, counts, finished_at: at, updated_at: at } },
  );
}
