/** Batches in the store: created whole or not at all, counted, and changed by their owner. */
import { setImmediate as turn } from 'node:timers/promises';
import { Fault, fault } from '#config/errors.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import {
  dialledNumber,
  findCallingAgent,
  findCallingNumber,
  refuseExpensiveDestination,
} from '../../calls/outbound/check-outbound.ts';
import { hostedNumbers } from '../../catalogue/numbers/number-store.ts';
import { type Context, now } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { InvalidRequest, type ValidationEntry } from '../../platform/http/problems.ts';
import { requireRate } from '../../platform/limits/rate.ts';
import { inBatches, PAUSE_FACTOR, repeatWhileMatching } from '../../platform/store/in-batches.ts';
import {
  type BatchCallDocument,
  type BatchRowDocument,
  ROW_STATES,
  type RowCounts,
} from '../../platform/store/models/batch-call-model.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { BatchRequest, Recipient } from './batch-record.ts';
import { nextOpening } from './calling-hours.ts';
import { zonesOfNumber } from './destination-zones.ts';
import { byRow, faultyRow, type RecipientList } from './recipient-list.ts';

/**
 * Pause after some rows, per millisecond they took, while other accounts are active: in the embedded database
 * the rows of one account then use a tenth of the time. Only for so long, because the client is waiting.
 */
const SHARED_PAUSE_FACTOR = 9;
const SHARED_FOR_MS = 20_000;
/** Rows checked per iteration of the event loop. */
const CHUNK_ROWS = 50;

/**
 * Creates a batch with this id. Throws `too_many_a_minute`, `quota_reached`, `InvalidRequest` with every row
 * that cannot be called, and the faults of agent and number of a single call.
 */
export async function createBatch(
  context: Context,
  caller: Caller,
  request: BatchRequest,
  { list, id }: { readonly list: RecipientList; readonly id: string },
): Promise<BatchCallDocument> {
  const limit = context.settings.LIMIT_BATCHES_PER_MINUTE;
  await requireRate(context, { key: `batches:${caller.teamId}`, limit, what: 'batches of calls' });
  const number = await callingNumber(context, caller, request).catch((error: unknown) => {
    // Problems of the request itself are reported first.
    throw list.faulty.length > 0 ? new InvalidRequest(list.faulty) : error;
  });
  const people = await checkedPeople(context, number, request, list);
  const at = now(context);
  const batch: BatchCallDocument = {
    _id: id,
    team_id: caller.teamId,
    user_id: caller.userId,
    agent_id: request.agent_id,
    phone_number_id: request.phone_number_id,
    name: request.name,
    status: 'creating',
    status_reason: null,
    start_at: request.schedule.start_at === null ? null : new Date(request.schedule.start_at),
    calling_hours: request.schedule.calling_hours,
    pacing: request.pacing,
    retry: request.retry,
    disclosure: request.disclosure,
    opt_out: request.opt_out,
    row_count: people.length,
    zone_sets: [...new Set(people.map(({ zones }) => zones))],
    counts: null,
    lease_by: null,
    lease_until: at,
    hold_until: at,
    created_at: at,
    updated_at: at,
    started_at: null,
    finished_at: null,
  };
  // The batch becomes visible once all its rows exist; interrupted creations are cleaned up.
  await withinQuota(context, { kind: 'batches', owner: caller.teamId, id: batch._id }, () =>
    context.models.batchCalls.create(batch),
  );
  try {
    await insertRows(context, batch, people);
    const complete = { _id: batch._id, status: 'creating', created_at: at } as const;
    const { matchedCount } = await context.models.batchCalls.updateOne(complete, {
      $set: { status: 'scheduled' },
    });
    if (matchedCount === 0) throw new Error('creating the batch took so long that it was given up');
  } catch (error) {
    // After this one was given up, a repeated request may have created the batch under the same id.
    const isAnothers = await context.models.batchCalls.exists({ _id: id, created_at: { $ne: at } });
    if (!isAnothers) await removeBatch(context, batch);
    throw error;
  }
  context.workSignals.notify('batch-calls');
  return { ...batch, status: 'scheduled' };
}

async function insertRows(
  { clock, models, turns }: Context,
  batch: BatchCallDocument,
  people: readonly CheckedRecipient[],
): Promise<void> {
  const startMs = clock.now();
  const pauseFactor = () =>
    clock.now() - startMs < SHARED_FOR_MS && turns.hasOthers(batch.user_id)
      ? SHARED_PAUSE_FACTOR
      : PAUSE_FACTOR;
  await inBatches(
    clock,
    people,
    (part) => models.batchRows.collection.insertMany(part.map((person) => rowOf(batch, person)) as never),
    { pauseFactor },
  );
}

async function callingNumber(
  context: Context,
  caller: Caller,
  request: BatchRequest,
): Promise<NumberDocument> {
  await findCallingAgent(context, caller, request);
  return findCallingNumber(context, caller, request);
}

/**
 * Looks for the batch of an interrupted creation. Throws `idempotency_key_conflict` while that may still be
 * completed: the rows are removed once it is given up.
 */
export async function leftByBatch(
  { models }: Pick<Context, 'models'>,
  batchId: string,
): Promise<'made' | 'nothing'> {
  const batch = await models.batchCalls.findById(batchId, { status: 1 }).lean<{ status: string }>();
  if (batch?.status === 'creating') throw fault('idempotency_key_conflict');
  return batch ? 'made' : 'nothing';
}

/** Finds a batch of a team. Throws `not_found`. */
export async function findBatch(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  batchId: string,
): Promise<BatchCallDocument> {
  const batch = await models.batchCalls
    .findOne({ _id: batchId, team_id: teamId, status: { $ne: 'creating' } })
    .lean<BatchCallDocument>();
  if (!batch) throw fault('not_found');
  return batch;
}

/** Counts the rows of a batch by status. */
export async function countsOf(
  { models }: Pick<Context, 'models'>,
  batch: Pick<BatchCallDocument, '_id' | 'counts'>,
): Promise<RowCounts> {
  if (batch.counts) return batch.counts;
  const counted = await Promise.all(
    ROW_STATES.map(
      async (state) =>
        [state, await models.batchRows.countDocuments({ batch_id: batch._id, state })] as const,
    ),
  );
  const optedOut = await models.batchRows.countDocuments({ batch_id: batch._id, opted_out: true });
  return { ...Object.fromEntries(counted), opted_out: optedOut } as RowCounts;
}

/** Actions of a batch's owner, and when they are allowed. */
const CHANGES = {
  pause: { from: ['scheduled', 'running'], word: 'paused' },
  resume: { from: ['paused'], word: 'resumed' },
  cancel: { from: ['scheduled', 'running', 'paused'], word: 'cancelled' },
} as const;
export type BatchChange = keyof typeof CHANGES;

/** Pauses, resumes or cancels; running calls continue to their end. Throws `not_found` and `conflict`. */
export async function changeBatch(
  context: Context,
  teamId: string,
  batchId: string,
  change: BatchChange,
): Promise<BatchCallDocument> {
  const { from, word } = CHANGES[change];
  const before = await findBatch(context, teamId, batchId);
  const at = now(context);
  const resumed = before.started_at === null ? 'scheduled' : 'running';
  const status = { pause: 'paused', resume: resumed, cancel: 'cancelled' } as const;
  const changed = await context.models.batchCalls
    .findOneAndUpdate(
      { _id: batchId, finished_at: null, status: { $in: [...from] } },
      { $set: { status: status[change], status_reason: null, hold_until: at, updated_at: at } },
      { returnDocument: 'after' },
    )
    .lean<BatchCallDocument>();
  if (!changed) throw fault('conflict', { detail: `A batch that is ${before.status} cannot be ${word}` });
  if (change === 'cancel') await cancelRows(context, batchId);
  context.workSignals.notify('batch-calls');
  return changed;
}

/** Cancels the waiting rows of a cancelled batch. */
export async function cancelRows(context: Pick<Context, 'models' | 'clock'>, batchId: string): Promise<void> {
  const waiting = { batch_id: batchId, state: 'waiting' } as const;
  const cancelled = { $set: { state: 'cancelled', updated_at: now(context) } } as const;
  const { batchRows } = context.models;
  await repeatWhileMatching(context.clock, { model: batchRows, filter: waiting }, (ids) =>
    batchRows.updateMany({ ...waiting, _id: { $in: ids } }, cancelled),
  );
}

/** Deletes a finished batch with its rows. Throws `not_found` and `conflict`. */
export async function deleteBatch(context: Context, teamId: string, batchId: string): Promise<void> {
  const batch = await findBatch(context, teamId, batchId);
  if (batch.finished_at === null)
    throw fault('conflict', { detail: 'A batch is deleted once it is over: cancel it first' });
  await removeBatch(context, batch);
}

/** Deletes rows first, then the batch, so that an interrupted deletion is found again. */
export async function removeBatch(
  context: Pick<Context, 'models' | 'clock'>,
  { _id, team_id }: Pick<BatchCallDocument, '_id' | 'team_id'>,
): Promise<void> {
  const { batchRows, batchCalls } = context.models;
  await repeatWhileMatching(context.clock, { model: batchRows, filter: { batch_id: _id } }, (ids) =>
    batchRows.deleteMany({ _id: { $in: ids } }),
  );
  await removeFromQuota(context, { kind: 'batches', owner: team_id, id: _id }, () =>
    batchCalls.deleteOne({ _id }),
  );
}

interface CheckedRecipient {
  readonly recipient: Recipient;
  readonly line: number;
  readonly toNumber: string;
  readonly zones: string;
}

/** The recipients of the list, with the number to dial for each. */
async function checkedPeople(
  context: Context,
  number: NumberDocument,
  request: BatchRequest,
  list: RecipientList,
): Promise<CheckedRecipient[]> {
  const check = rowCheck(context, number, request);
  const hosted = await findHosted(
    context,
    number,
    list.rows.map(({ recipient }) => recipient),
  );
  const seen = new Map<string, number>();
  const people: CheckedRecipient[] = [];
  const faulty: ValidationEntry[] = [...list.faulty];
  for (const { recipient, index, line } of list.rows) {
    const result = await check(recipient, hosted);
    const earlier = 'toNumber' in result ? seen.get(result.toNumber) : undefined;
    if ('problem' in result) faulty.push(faultyRow(index, line, 'to_number', result.problem));
    else if (earlier !== undefined)
      faulty.push(faultyRow(index, line, 'to_number', `has the same number as line ${earlier}`));
    else {
      seen.set(result.toNumber, line);
      people.push({ recipient, line, ...result });
    }
    if (index % CHUNK_ROWS === CHUNK_ROWS - 1) await turn();
  }
  if (faulty.length > 0) throw new InvalidRequest(faulty.toSorted(byRow));
  return people;
}

type RecipientCheck = { readonly toNumber: string; readonly zones: string } | { readonly problem: string };

function rowCheck(
  context: Context,
  number: NumberDocument,
  { schedule: { calling_hours: hours } }: BatchRequest,
): (recipient: Recipient, hosted: ReadonlySet<string>) => Promise<RecipientCheck> {
  const neverOpen = new Map<string, boolean>();
  return async ({ to_number }, hosted) => {
    let toNumber: string;
    try {
      toNumber = dialledNumber(number, to_number);
      if (hosted.has(toNumber)) throw fault('self_call_blocked');
      refuseExpensiveDestination(context, number, toNumber);
    } catch (error) {
      if (error instanceof Fault) return { problem: error.message };
      throw error;
    }
    if (hours === null) return { toNumber, zones: '' };
    const list = await zonesOfNumber(toNumber);
    const zones = list.join('&');
    if (zones === '')
      return {
        problem:
          'the time zone of this number is unknown, so calling hours cannot be applied: set calling_hours ' +
          'to null',
      };
    if (!neverOpen.has(zones))
      neverOpen.set(zones, nextOpening(hours, list, context.clock.wallTime()) === null);
    return neverOpen.get(zones)
      ? { problem: `no time of day is within the calling hours in all its time zones (${list.join(', ')})` }
      : { toNumber, zones };
  };
}

/** The recipients whose number is hosted on this platform. */
async function findHosted(
  context: Context,
  number: NumberDocument,
  recipients: readonly Recipient[],
): Promise<ReadonlySet<string>> {
  const hosted = new Set<string>();
  // Small batches: each number is looked up three times, and fifty kept the embedded database from other
  // requests for 6 to 12 ms.
  await inBatches(context.clock, recipients, async (part) => {
    const wanted = part.map(({ to_number }) => dialledNumberOrEmpty(number, to_number));
    for (const found of await hostedNumbers(context, number.team_id, wanted)) hosted.add(found);
  });
  return hosted;
}

function dialledNumberOrEmpty(number: NumberDocument, wanted: string): string {
  try {
    return dialledNumber(number, wanted);
  } catch {
    return '';
  }
}

/**
 * Lists are read in descending order, so ids count down from the largest: rows are returned in the order of
 * the uploaded list.
 */
function rowOf(
  batch: BatchCallDocument,
  { recipient, line, toNumber, zones }: CheckedRecipient,
): BatchRowDocument {
  return {
    _id: `${batch._id.slice(0, 24)}${(0xffff_ffff - line).toString(16).padStart(8, '0')}`,
    team_id: batch.team_id,
    batch_id: batch._id,
    line,
    to_number: toNumber,
    to_extension: recipient.to_extension ?? null,
    zones,
    variables: JSON.stringify(recipient.dynamic_variables ?? {}),
    metadata: JSON.stringify(recipient.metadata ?? {}),
    end_user_id: recipient.end_user_id ?? null,
    state: 'waiting',
    next_at: batch.created_at,
    session_id: null,
    is_placed: false,
    dialled_at: null,
    attempts: [],
    opted_out: false,
    error: null,
    created_at: batch.created_at,
    updated_at: batch.created_at,
  };
}
