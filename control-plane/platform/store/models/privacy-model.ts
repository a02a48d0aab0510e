/** Retention of a team's data; a team without an entry uses `DEFAULT_RETENTION`. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** Kinds of data that expire automatically. */
export const RETAINED = [
  'recordings',
  'transcripts',
  'flight_logs',
  'deliveries',
  'test_runs',
  'batch_calls',
] as const;
export type RetentionKind = (typeof RETAINED)[number];

/**
 * Days each kind is kept after its session ends. Deliveries, test runs (with their batch) and batches of
 * calls count from their own end. Null keeps the data forever.
 */
export type RetentionDays = Record<`${RetentionKind}_days`, number | null>;

/** Used until a team changes its settings. */
export const DEFAULT_RETENTION: RetentionDays = {
  recordings_days: null,
  transcripts_days: null,
  flight_logs_days: null,
  deliveries_days: 30,
  test_runs_days: null,
  batch_calls_days: null,
};

/** A team's settings, and its progress in removing each kind. */
export interface PrivacyDocument extends RetentionDays {
  /** The team's id. */
  _id: string;
  /** Sessions that ended up to this time have been processed. */
  done: Partial<Record<RetentionKind, Date>>;
  /** Sessions created before this time need not be looked at again; absent before the first pass. */
  from?: Partial<Record<RetentionKind, Date>>;
  /** The same of the archive. */
  archived?: Partial<Record<RetentionKind, Date>>;
  /** The replica that removes, and until when it may; null if none does. */
  lease_by: string | null;
  lease_until: Date | null;
}

/** Defines the model on a connection. */
export const definePrivacy = modelOf<PrivacyDocument>('PrivacySettings', () => {
  const days = { type: Number, default: null };
  const schema = new Schema<PrivacyDocument>(
    {
      _id: { type: String, required: true },
      recordings_days: days,
      transcripts_days: days,
      flight_logs_days: days,
      deliveries_days: { type: Number, default: DEFAULT_RETENTION.deliveries_days },
      test_runs_days: days,
      batch_calls_days: days,
      done: { type: Schema.Types.Mixed, default: {} },
      from: { type: Schema.Types.Mixed, default: undefined },
      archived: { type: Schema.Types.Mixed, default: undefined },
      lease_by: { type: String, default: null },
      lease_until: { type: Date, default: null },
    },
    { collection: 'privacy_settings', versionKey: false, minimize: false },
  );
  return schema;
});
