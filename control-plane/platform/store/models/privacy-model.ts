/** How long a team's data is kept; a team without an entry keeps what `DEFAULT_RETENTION` says. */
import { type Connection, type Model, Schema } from 'mongoose';

/** What expires on its own. */
export const RETAINED = [
  'recordings',
  'transcripts',
  'flight_logs',
  'deliveries',
  'test_runs',
  'batch_calls',
] as const;
export type Retained = (typeof RETAINED)[number];

/**
 * Days each kind is kept after the end of its session (of a delivery, a test run with its batch, or a batch
 * of calls: after its own); null keeps it.
 */
export type RetentionDays = Record<`${Retained}_days`, number | null>;

/** What holds until a team says otherwise. */
export const DEFAULT_RETENTION: RetentionDays = {
  recordings_days: null,
  transcripts_days: null,
  flight_logs_days: null,
  deliveries_days: 30,
  test_runs_days: null,
  batch_calls_days: null,
};

/** A team's settings, and how far each kind has been removed. */
export interface PrivacyDocument extends RetentionDays {
  /** The team's id. */
  _id: string;
  /** Sessions that ended up to then are done. */
  done: Partial<Record<Retained, Date>>;
}

/** Defines the model on a connection. */
export function definePrivacy(connection: Connection): Model<PrivacyDocument> {
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
    },
    { collection: 'privacy_settings', versionKey: false, minimize: false },
  );
  return connection.model<PrivacyDocument>('PrivacySettings', schema);
}
