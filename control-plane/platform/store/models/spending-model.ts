/** Teams' daily usage (UTC) of things that are limited but not charged. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** Past days are never read. */
const KEPT_SECONDS = 3 * 24 * 3_600;

/** A team's usage on one day. */
export interface SpendingDocument {
  /** `<what>:<team>:<yyyy-mm-dd>` */
  _id: string;
  micros: number;
  at: Date;
}

/** Defines the model on a connection. */
export const defineSpending = modelOf<SpendingDocument>('Spending', () => {
  const schema = new Schema<SpendingDocument>(
    {
      _id: { type: String, required: true },
      micros: { type: Number, required: true },
      at: { type: Date, required: true },
    },
    { collection: 'spending', versionKey: false },
  );
  schema.index({ at: 1 }, { expireAfterSeconds: KEPT_SECONDS });
  return schema;
});
