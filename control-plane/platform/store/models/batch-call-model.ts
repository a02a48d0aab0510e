/**
 * Batch calls, their rows, and the do-not-call list (docs/batch-calls.md). Tenant-supplied row content is
 * stored as JSON text, because its keys can be anything.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** Permitted calling hours, as local times of the called party, `HH:MM`. */
export interface CallingHours {
  start: string;
  end: string;
  days: Weekday[];
}
export type Weekday = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun';

/** Rate limits of a batch. */
export interface Pacing {
  concurrent_calls: number;
  calls_per_minute: number;
}

/** Which calls are retried. */
export interface RetryRules {
  on: ('busy' | 'no_answer' | 'failed')[];
  /** Maximum calls to one number, including the first. */
  max_attempts: number;
  delay_seconds: number;
}

/** States of a row; all but the first two are final. */
export const ROW_STATES = [
  'waiting',
  'calling',
  'completed',
  'busy',
  'no_answer',
  'failed',
  'do_not_call',
  'cancelled',
] as const;
export type RowState = (typeof ROW_STATES)[number];
/** Number of rows in each state, and of called parties who opted out. */
export type RowCounts = Record<RowState | 'opted_out', number>;

/** A batch of calls. */
export interface BatchCallDocument {
  _id: string;
  team_id: string;
  /** The account that pays. */
  user_id: string;
  agent_id: string;
  phone_number_id: string;
  name: string;
  /** `creating`: not all rows are stored yet; never shown to users. */
  status: 'creating' | 'scheduled' | 'running' | 'paused' | 'completed' | 'cancelled';
  /** Why the batch paused itself: a reason from docs/errors.md. */
  status_reason: string | null;
  start_at: Date | null;
  calling_hours: CallingHours | null;
  pacing: Pacing;
  retry: RetryRules;
  disclosure: string;
  opt_out: { key: string | null; phrases: string[]; confirmation: string } | null;
  row_count: number;
  /** The distinct `zones` of its rows. */
  zone_sets: string[];
  /** Null until the batch is finished; until then its rows are counted on demand. */
  counts: RowCounts | null;
  /** The process working on the batch, and the end of its lease. */
  lease_by: string | null;
  lease_until: Date;
  /** No dialling before this time, because a worker, trunk or limit had no capacity. */
  hold_until: Date;
  created_at: Date;
  updated_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

/** One number to call. */
export interface BatchRowDocument {
  /** Descending ids follow the order of the original list, because lists are read in descending order. */
  _id: string;
  team_id: string;
  batch_id: string;
  /** Line in the file, or position in the JSON list, from 1. */
  line: number;
  to_number: string;
  /** Pressed after the answer; absent from rows of earlier releases. */
  to_extension?: string | null;
  /** Possible time zones of the number, joined by `&`; empty if calls are allowed at any hour. */
  zones: string;
  /** JSON text. */
  variables: string;
  /** JSON text. */
  metadata: string;
  end_user_id: string | null;
  state: RowState;
  /** While waiting: earliest time of the next call. */
  next_at: Date;
  /**
   * Chosen before the call is placed, so that the outcome can be found after a crash; kept until it is known
   * to be used.
   */
  session_id: string | null;
  /** The call has definitely been placed. */
  is_placed: boolean;
  dialled_at: Date | null;
  /** Finished calls. */
  attempts: { session_id: string; dialled_at: Date; outcome: Exclude<RowState, 'waiting' | 'calling'> }[];
  opted_out: boolean;
  /** Why the number could not be called at all. */
  error: string | null;
  created_at: Date;
  updated_at: Date;
}

/** A number that the team's batches must not call. */
export interface DoNotCallDocument {
  /** `<team id>:<number>` */
  _id: string;
  team_id: string;
  phone_number: string;
  /** How the number was added to the list. */
  source: 'api' | 'voice' | 'key';
  note: string;
  /** The call in which the called party opted out. */
  session_id: string | null;
  created_at: Date;
}

const text = { type: String, required: true };
const optionalText = { type: String, default: null };
const date = { type: Date, required: true };
const optionalDate = { type: Date, default: null };

/** Defines the model of batches on a connection. */
export const defineBatchCalls = modelOf<BatchCallDocument>('BatchCall', () => {
  const schema = new Schema<BatchCallDocument>(
    {
      _id: text,
      team_id: text,
      user_id: text,
      agent_id: text,
      phone_number_id: text,
      name: { type: String, default: '' },
      status: text,
      status_reason: optionalText,
      start_at: optionalDate,
      calling_hours: { type: Schema.Types.Mixed, default: null },
      pacing: { type: Schema.Types.Mixed, required: true },
      retry: { type: Schema.Types.Mixed, required: true },
      disclosure: { type: String, default: '' },
      opt_out: { type: Schema.Types.Mixed, default: null },
      row_count: { type: Number, required: true },
      zone_sets: { type: [String], default: [] },
      counts: { type: Schema.Types.Mixed, default: null },
      lease_by: optionalText,
      lease_until: date,
      hold_until: date,
      created_at: date,
      updated_at: date,
      started_at: optionalDate,
      finished_at: optionalDate,
    },
    { collection: 'batch_calls', versionKey: false, minimize: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  for (const field of ['agent_id', 'status'])
    schema.index({ team_id: 1, [field]: 1, created_at: -1, _id: -1 });
  schema.index({ finished_at: 1, created_at: 1 });
  return schema;
});

/** Rows are inserted by the thousand, before they have any of these values. */
const PARTIAL_ROW_INDEXES = [
  { name: 'dialled_rows', key: { batch_id: 1, dialled_at: 1 }, only: { dialled_at: { $type: 'date' } } },
  { name: 'opted_out_rows', key: { batch_id: 1, opted_out: 1 }, only: { opted_out: true } },
  { name: 'rows_in_call', key: { session_id: 1 }, only: { session_id: { $gt: '' } } },
] as const;
/** Indexes of an earlier release, which those replace. */
export const RETIRED_ROW_INDEXES = ['batch_id_1_dialled_at_1', 'batch_id_1_opted_out_1', 'session_id_1'];

/** Defines the model of rows on a connection. */
export const defineBatchRows = modelOf<BatchRowDocument>('BatchRow', () => {
  const schema = new Schema<BatchRowDocument>(
    {
      _id: text,
      team_id: text,
      batch_id: text,
      line: { type: Number, required: true },
      to_number: { type: String, default: '' },
      to_extension: optionalText,
      zones: { type: String, default: '' },
      variables: text,
      metadata: text,
      end_user_id: optionalText,
      state: text,
      next_at: date,
      session_id: optionalText,
      is_placed: { type: Boolean, default: false },
      dialled_at: optionalDate,
      attempts: { type: [Schema.Types.Mixed], default: [] } as never,
      opted_out: { type: Boolean, default: false },
      error: optionalText,
      created_at: date,
      updated_at: date,
    },
    { collection: 'batch_call_rows', versionKey: false, minimize: false },
  );
  schema.index({ batch_id: 1, created_at: -1, _id: -1 });
  schema.index({ batch_id: 1, state: 1, created_at: -1, _id: -1 });
  schema.index({ batch_id: 1, state: 1, next_at: 1, line: 1 });
  schema.index({ team_id: 1, end_user_id: 1 });
  for (const { name, key, only } of PARTIAL_ROW_INDEXES)
    schema.index(key, { name, partialFilterExpression: only });
  return schema;
});

/** Defines the model of the do-not-call list on a connection. */
export const defineDoNotCall = modelOf<DoNotCallDocument>('DoNotCall', () => {
  const schema = new Schema<DoNotCallDocument>(
    {
      _id: text,
      team_id: text,
      phone_number: text,
      source: text,
      note: { type: String, default: '' },
      session_id: optionalText,
      created_at: date,
    },
    { collection: 'do_not_call', versionKey: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  return schema;
});
