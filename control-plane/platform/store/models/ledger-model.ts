/** The wallet ledger: append-only; two unique indexes decide every posting. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** A stored ledger entry; amounts are integer micro-dollars. */
export interface LedgerDocument {
  /** `<user>:<seq>` */
  _id: string;
  user_id: string;
  seq: number;
  key: string;
  kind: 'top_up' | 'hold' | 'settle' | 'refund' | 'void' | 'adjust';
  amount: number;
  /** Balance after this entry. */
  balance: number;
  /** Sum of all top-ups up to this entry, including starting credit. */
  cumulative_top_up: number;
  at: Date;
}

/** Defines the model on a connection. */
export const defineLedger = modelOf<LedgerDocument>('LedgerEntry', () => {
  const schema = new Schema<LedgerDocument>(
    {
      _id: { type: String, required: true },
      user_id: { type: String, required: true },
      seq: { type: Number, required: true },
      key: { type: String, required: true },
      kind: { type: String, required: true },
      amount: { type: Number, required: true },
      balance: { type: Number, required: true },
      cumulative_top_up: { type: Number, required: true },
      at: { type: Date, required: true },
    },
    { collection: 'wallet_ledger', versionKey: false },
  );
  schema.index({ user_id: 1, seq: -1 }, { unique: true });
  schema.index({ user_id: 1, at: -1, seq: -1 });
  schema.index({ user_id: 1, key: 1 }, { unique: true });
  return schema;
});
