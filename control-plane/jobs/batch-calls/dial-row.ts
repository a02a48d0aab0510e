/**
 * Dials one row: claims it in the store, places the call like a single one, and releases it if that fails.
 */
import { Fault } from '#config/errors.ts';
import type { OutboundAccount } from '../../calls/outbound/check-outbound.ts';
import { placeCall } from '../../calls/outbound/place-call.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { firstProblem, InvalidRequest } from '../../platform/http/problems.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { BatchCallDocument, BatchRowDocument } from '../../platform/store/models/batch-call-model.ts';
import type { UserDocument } from '../../platform/store/models/user-model.ts';
import { concernOf } from './batch-rules.ts';
import { isDoNotCall } from './do-not-call.ts';

/** `no_room`: there is no capacity for another call at the moment. */
export type DialResult = 'done' | 'no_room';

/** Dials a waiting row, unless another process has it or it must not be called. */
export async function dialRow(
  context: Context,
  batch: BatchCallDocument,
  waiting: BatchRowDocument,
): Promise<DialResult> {
  if (await isDoNotCall(context, batch.team_id, waiting.to_number)) {
    await endRow(context, waiting, { state: 'do_not_call', error: null });
    return 'done';
  }
  const row = await claim(context, waiting);
  if (!row) return 'done';
  // If the batch was cancelled or paused before this check, the row is not called.
  const status = (
    await context.models.batchCalls
      .findById(batch._id, { status: 1 })
      .lean<Pick<BatchCallDocument, 'status'>>()
  )?.status;
  if (status !== 'running') {
    await returnRow(context, row, { keepsSession: true });
    return 'no_room';
  }
  try {
    await place(context, batch, row);
    await context.models.batchRows.updateOne(
      { _id: row._id, session_id: row.session_id },
      { $set: { is_placed: true } },
    );
    return 'done';
  } catch (error) {
    return onRefused(context, batch, row, error);
  }
}

/**
 * Returns a claimed row to waiting. Its session id is not reused, because a session may have been written.
 */
export async function returnRow(
  context: Pick<Context, 'models' | 'clock'>,
  row: BatchRowDocument,
  { keepsSession }: { readonly keepsSession: boolean },
): Promise<void> {
  const session_id = keepsSession ? row.session_id : null;
  await context.models.batchRows.updateOne(
    { _id: row._id, state: 'calling', session_id: row.session_id, is_placed: false },
    { $set: { state: 'waiting', session_id, dialled_at: null, updated_at: now(context) } },
  );
}

function claim(context: Context, row: BatchRowDocument): Promise<BatchRowDocument | null> {
  const at = now(context);
  return context.models.batchRows
    .findOneAndUpdate(
      { _id: row._id, state: 'waiting', session_id: row.session_id },
      {
        $set: {
          state: 'calling',
          session_id: row.session_id ?? newId(),
          is_placed: false,
          dialled_at: at,
          updated_at: at,
        },
      },
      { returnDocument: 'after' },
    )
    .lean<BatchRowDocument>();
}

async function place(context: Context, batch: BatchCallDocument, row: BatchRowDocument): Promise<void> {
  const outreach =
    batch.disclosure === '' && batch.opt_out === null
      ? null
      : { disclosure: batch.disclosure, opt_out: batch.opt_out };
  const request = {
    agent_id: batch.agent_id,
    phone_number_id: batch.phone_number_id,
    to_number: row.to_number,
    extension: row.to_extension ?? null,
    dynamic_variables: JSON.parse(row.variables),
    metadata: JSON.parse(row.metadata),
    batch: { endUserId: row.end_user_id, outreach },
  };
  await placeCall(context, await callerOf(context, batch), row.session_id ?? '', request);
}

/** The paying account, as it is now. */
async function callerOf(context: Context, batch: BatchCallDocument): Promise<OutboundAccount> {
  const user = await context.models.users.findById(batch.user_id).lean<UserDocument>();
  return {
    userId: batch.user_id,
    teamId: batch.team_id,
    outboundEnabled: user?.outbound_enabled ?? false,
    spendLimits: { daily_cap: user?.daily_cap ?? null, concurrent_calls: user?.concurrent_calls ?? null },
  };
}

async function onRefused(
  context: Context,
  batch: BatchCallDocument,
  row: BatchRowDocument,
  error: unknown,
): Promise<DialResult> {
  if (error instanceof InvalidRequest) {
    await endRow(context, row, { state: 'failed', error: firstProblem(error) });
    return 'done';
  }
  if (!(error instanceof Fault)) {
    // The next pass checks the outcome. If the session already exists, another process is working on it.
    if (!isDuplicateKey(error))
      context.logger.error(
        { err: error, batchId: batch._id, sessionId: row.session_id },
        'failed to dial a row of a batch',
      );
    return 'no_room';
  }
  const concerns = concernOf(error.code);
  if (concerns === 'row') {
    await endRow(context, row, { state: 'failed', error: error.message });
    return 'done';
  }
  await returnRow(context, row, { keepsSession: false });
  if (concerns === 'batch') {
    context.logger.warn({ batchId: batch._id, reason: error.code }, 'paused a batch after a refused call');
    const paused = {
      status: 'paused',
      status_reason: error.reason ?? error.code,
      updated_at: now(context),
    } as const;
    await context.models.batchCalls.updateOne({ _id: batch._id, status: 'running' }, { $set: paused });
  }
  return 'no_room';
}

/** Ends a row that was not called. */
async function endRow(
  context: Context,
  row: BatchRowDocument,
  end: Pick<BatchRowDocument, 'state' | 'error'>,
): Promise<void> {
  await context.models.batchRows.updateOne(
    { _id: row._id, state: row.state, session_id: row.session_id },
    { $set: { ...end, session_id: null, is_placed: false, dialled_at: null, updated_at: now(context) } },
  );
}
