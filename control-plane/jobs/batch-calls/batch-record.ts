/** Batches and rows as written by clients and as shown by the API (docs/batch-calls.md). */
import { z } from 'zod';
import { keysField } from '#config/keys-field.ts';
import { LIMITS } from '#config/limits.ts';
import { sessionFields, template } from '../../calls/sessions/session-request.ts';
import {
  type BatchCallDocument,
  type BatchRowDocument,
  ROW_STATES,
  type RowCounts,
} from '../../platform/store/models/batch-call-model.ts';
import { isOpen, minutesOf, nextOpening, WEEKDAYS } from './calling-hours.ts';

const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'must be HH:MM');

const callingHours = z
  .strictObject({
    start: time.default('09:00'),
    end: time.default('20:00'),
    days: z
      .array(z.enum(WEEKDAYS))
      .min(1)
      .refine((days) => new Set(days).size === days.length, 'a day is listed twice')
      .default([...WEEKDAYS]),
  })
  .refine(({ start, end }) => minutesOf(start) < minutesOf(end), 'start must be before end');

const schedule = z.strictObject({
  /** No row is dialled before this time; null starts at once. */
  start_at: z.iso.datetime({ offset: true }).nullable().default(null),
  /** In the local time of the callee; null allows any hour. */
  calling_hours: callingHours.nullable().prefault({}),
});

const pacing = z.strictObject({
  concurrent_calls: z.number().int().min(1).max(LIMITS.batchConcurrentCalls).default(5),
  calls_per_minute: z.number().int().min(1).max(LIMITS.batchCallsPerMinute).default(30),
});

const retry = z.strictObject({
  on: z
    .array(z.enum(['busy', 'no_answer', 'failed']))
    .max(3)
    .default(['busy', 'no_answer']),
  /** Maximum calls to one number, including the first. */
  max_attempts: z.number().int().min(1).max(LIMITS.batchAttempts).default(1),
  delay_seconds: z.number().int().min(60).max(604_800).default(1_800),
});

const optOut = z
  .strictObject({
    key: z
      .string()
      .regex(/^[0-9*#]$/, 'must be one key of the phone')
      .nullable()
      .default(null),
    phrases: z
      .array(z.string().trim().min(2).max(LIMITS.optOutPhraseChars))
      .max(LIMITS.optOutPhrases)
      .default([]),
    /** Said before the call ends; if empty, a goodbye in the agent's language. */
    confirmation: z.string().max(LIMITS.disclosureChars).default(''),
  })
  .refine(({ key, phrases }) => key !== null || phrases.length > 0, 'name a key, a phrase, or both');

/** A person to call, as a row of JSON or of a file. Whether the number can be called is checked later. */
export const recipient = z.strictObject({
  to_number: z.string().max(64),
  /** Named so because a column `extension` is a variable. */
  to_extension: keysField.nullish(),
  dynamic_variables: sessionFields.dynamic_variables,
  metadata: sessionFields.metadata,
  end_user_id: sessionFields.end_user_id,
});
export type Recipient = z.output<typeof recipient>;

/** Body of `POST /v1/agent/batch-calls`; in a form, `recipients` is the file and the objects are JSON. */
export const batchCreate = z.strictObject({
  agent_id: z.string().max(64),
  phone_number_id: z.string().max(64),
  name: z.string().max(LIMITS.batchNameChars).default(''),
  recipients: z.array(recipient).min(1).max(LIMITS.batchRows),
  schedule: schedule.prefault({}),
  pacing: pacing.prefault({}),
  retry: retry.prefault({}),
  disclosure: template(LIMITS.disclosureChars).default(''),
  opt_out: optOut.nullable().default(null),
});
export type BatchRequest = z.output<typeof batchCreate>;

/** Statuses of a batch. */
export const batchStatus = z.enum(['scheduled', 'running', 'paused', 'completed', 'cancelled']);
export const rowState = z.enum(ROW_STATES);

const count = z.number().int();

/** A batch of calls. */
export const batchRecord = z.object({
  batch_call_id: z.string(),
  agent_id: z.string(),
  phone_number_id: z.string(),
  name: z.string(),
  status: batchStatus,
  status_reason: z.string().nullable(),
  row_count: count,
  counts: z.object({
    waiting: count,
    calling: count,
    completed: count,
    busy: count,
    no_answer: count,
    failed: count,
    do_not_call: count,
    cancelled: count,
    opted_out: count,
  }),
  schedule: z.object({
    start_at: z.iso.datetime().nullable(),
    calling_hours: z
      .object({ start: z.string(), end: z.string(), days: z.array(z.enum(WEEKDAYS)) })
      .nullable(),
  }),
  pacing: z.object({ concurrent_calls: count, calls_per_minute: count }),
  retry: z.object({
    on: z.array(z.enum(['busy', 'no_answer', 'failed'])),
    max_attempts: count,
    delay_seconds: count,
  }),
  disclosure: z.string(),
  opt_out: z
    .object({ key: z.string().nullable(), phrases: z.array(z.string()), confirmation: z.string() })
    .nullable(),
  /** When calling hours next open, while they are closed in all of its time zones. */
  opens_at: z.iso.datetime().nullable(),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
});

/** A row. */
export const rowRecord = z.object({
  row_id: z.string(),
  line: count,
  to_number: z.string(),
  /** Absent without one. */
  to_extension: z.string().optional(),
  state: rowState,
  /** Of the latest call. */
  session_id: z.string().nullable(),
  attempts: z.array(z.object({ session_id: z.string(), dialled_at: z.iso.datetime(), outcome: rowState })),
  /**
   * While waiting: when it may be dialled at the earliest, which is the next opening if its calling hours are
   * closed.
   */
  next_at: z.iso.datetime().nullable(),
  time_zones: z.array(z.string()),
  dynamic_variables: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), z.unknown()),
  end_user_id: z.string().nullable(),
  opted_out: z.boolean(),
  error: z.string().nullable(),
});

/** Converts a batch for the API as of `nowMs`. */
export function toBatchRecord(
  batch: BatchCallDocument,
  counts: RowCounts,
  nowMs: number,
): z.output<typeof batchRecord> {
  return {
    batch_call_id: batch._id,
    agent_id: batch.agent_id,
    phone_number_id: batch.phone_number_id,
    name: batch.name,
    status: batchStatus.parse(batch.status),
    status_reason: batch.status_reason,
    row_count: batch.row_count,
    counts,
    schedule: { start_at: batch.start_at?.toISOString() ?? null, calling_hours: batch.calling_hours },
    pacing: batch.pacing,
    retry: batch.retry,
    disclosure: batch.disclosure,
    opt_out: batch.opt_out,
    opens_at: opensAt(batch, nowMs),
    created_at: batch.created_at.toISOString(),
    started_at: batch.started_at?.toISOString() ?? null,
    finished_at: batch.finished_at?.toISOString() ?? null,
  };
}

/** Converts rows of a batch for the API as of `nowMs`. */
export function toRowRecords(
  rows: readonly BatchRowDocument[],
  batch: BatchCallDocument,
  nowMs: number,
): z.output<typeof rowRecord>[] {
  // Searching for an opening steps through days in quarters of an hour, and most rows share their zones.
  const openings = new Map<string, number | null>();
  const openingFromNow = (zones: string) => {
    if (!openings.has(zones)) openings.set(zones, nextOpening(batch.calling_hours, zonesOf(zones), nowMs));
    return openings.get(zones) ?? nowMs;
  };
  return rows.map((row) => {
    const dueMs = Math.max(row.next_at.getTime(), batch.start_at?.getTime() ?? 0);
    if (row.state !== 'waiting') return toRowRecord(row, dueMs);
    const openMs = openingFromNow(row.zones);
    // Due after the hours have opened: they may be closed again by then.
    const nextMs =
      openMs >= dueMs
        ? openMs
        : (nextOpening(batch.calling_hours, zonesOf(row.zones), Math.max(dueMs, nowMs)) ?? dueMs);
    return toRowRecord(row, nextMs > Math.max(dueMs, nowMs) ? nextMs : dueMs);
  });
}

function toRowRecord(row: BatchRowDocument, nextMs: number): z.output<typeof rowRecord> {
  return {
    row_id: row._id,
    line: row.line,
    to_number: row.to_number,
    ...(row.to_extension ? { to_extension: row.to_extension } : {}),
    state: row.state,
    session_id:
      row.state === 'calling' && row.is_placed ? row.session_id : (row.attempts.at(-1)?.session_id ?? null),
    attempts: row.attempts.map(({ session_id, dialled_at, outcome }) => ({
      session_id,
      dialled_at: dialled_at.toISOString(),
      outcome,
    })),
    next_at: row.state === 'waiting' ? new Date(nextMs).toISOString() : null,
    time_zones: zonesOf(row.zones),
    dynamic_variables: JSON.parse(row.variables),
    metadata: JSON.parse(row.metadata),
    end_user_id: row.end_user_id,
    opted_out: row.opted_out,
    error: row.error,
  };
}

/** The zones of a row, from their stored form. */
export function zonesOf(zones: string): string[] {
  return zones === '' ? [] : zones.split('&');
}

function opensAt(
  { calling_hours: hours, zone_sets: sets, start_at: startAt, finished_at: finishedAt }: BatchCallDocument,
  nowMs: number,
): string | null {
  const fromMs = Math.max(nowMs, startAt?.getTime() ?? nowMs);
  if (finishedAt !== null || hours === null || sets.some((set) => isOpen(hours, zonesOf(set), fromMs)))
    return null;
  const openings = sets.map((set) => nextOpening(hours, zonesOf(set), fromMs)).filter((at) => at !== null);
  return openings.length === 0 ? null : new Date(Math.min(...openings)).toISOString();
}
