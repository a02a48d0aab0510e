/**
 * Batches of calls, their rows, and the numbers that are not to be called (docs/batch-calls.md).
 * What tenants wrote in a row is kept as JSON text: its keys may be anything.
 */
import { type Connection, type Model, Schema } from 'mongoose';

/** When calls may be made: local times of the party called, `HH:MM`. */
export interface CallingHours {
  start: string;
  end: string;
  days: Weekday[];
}
export type Weekday = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun';

/** How fast a batch may call. */
export interface Pacing {
  concurrent_calls: number;
  calls_per_minute: number;
}

/** Which calls are made again. */
export interface RetryRules {
  on: ('busy' | 'no_answer' | 'failed')[];
  /** Calls to one number, the first included. */
  max_attempts: number;
  delay_seconds: number;
}

/** What a row can be in; all but the first two are final. */
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
/** How many rows are in which state, and how many of the people called want no more calls. */
export type RowCounts = Record<RowState | 'opted_out', number>;

/** A batch. */
export interface BatchCallDocument {
  _id: string;
  team_id: string;
  /** Who pays. */
  user_id: string;
  agent_id: string;
  phone_number_id: string;
  name: string;
  /** `creating`: not all rows are stored yet; never shown. */
  status: 'creating' | 'scheduled' | 'running' | 'paused' | 'completed' | 'cancelled';
  /** Why it paused by itself: a reason of docs/errors.md. */
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
  /** Null until it is finished: its rows are counted until then. */
  counts: RowCounts | null;
  /** The process that works on it, until when. */
  lease_by: string | null;
  lease_until: Date;
  /** Nothing is dialled before: no worker, trunk or limit had room. */
  hold_until: Date;
  created_at: Date;
  updated_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

/** One number to call. */
export interface BatchRowDocument {
  /** In the order of the list when sorted downwards, as lists are read. */
  _id: string;
  team_id: string;
  batch_id: string;
  /** Line of the file, or place in the JSON list, from 1. */
  line: number;
  to_number: string;
  /** Time zones the number may be in, joined by `&`; empty where calls may be made at any hour. */
  zones: string;
  /** JSON */
  variables: string;
  /** JSON */
  metadata: string;
  end_user_id: string | null;
  state: RowState;
  /** Waiting: not dialled before. */
  next_at: Date;
  /**
   * Chosen before the call is placed, so that whoever comes after a crash finds what became of it; kept while
   * it is not known to be used.
   */
  session_id: string | null;
  /** The call was placed for certain. */
  is_placed: boolean;
  dialled_at: Date | null;
  /** Calls that are over. */
  attempts: { session_id: string; dialled_at: Date; outcome: Exclude<RowState, 'waiting' | 'calling'> }[];
  opted_out: boolean;
  /** Why it could not be called at all. */
  error: string | null;
  created_at: Date;
  updated_at: Date;
}

/** A number that a team's batches do not call. */
export interface DoNotCallDocument {
  /** `<team id>:<number>` */
  _id: string;
  team_id: string;
  phone_number: string;
  /** How it came to be on the list. */
  source: 'api' | 'voice' | 'key';
  note: string;
  /** The call in which it was asked for. */
  session_id: string | null;
  created_at: Date;
}

const text = { type: String, required: true };
const optionalText = { type: String, default: null };
const date = { type: Date, required: true };
const optionalDate = { type: Date, default: null };

/** Defines the model of batches on a connection. */
export function defineBatchCalls(connection: Connection): Model<BatchCallDocument> {
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
  return connection.model<BatchCallDocument>('BatchCall', schema);
}

/** Defines the model of rows on a connection. */
export function defineBatchRows(connection: Connection): Model<BatchRowDocument> {
  const schema = new Schema<BatchRowDocument>(
    {
      _id: text,
      team_id: text,
      batch_id: text,
      line: { type: Number, required: true },
      to_number: { type: String, default: '' },
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
  schema.index({ batch_id: 1, dialled_at: 1 });
  schema.index({ batch_id: 1, opted_out: 1 });
  schema.index({ session_id: 1 });
  schema.index({ team_id: 1, end_user_id: 1 });
  return connection.model<BatchRowDocument>('BatchRow', schema);
}

/** Defines the model of the do-not-call list on a connection. */
export function defineDoNotCall(connection: Connection): Model<DoNotCallDocument> {
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
  return connection.model<DoNotCallDocument>('DoNotCall', schema);
}
