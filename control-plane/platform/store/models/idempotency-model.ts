/** Idempotency keys of phone calls: which call a key stands for; forgotten after 24 h by a TTL index. */
import { type Connection, type Model, Schema } from 'mongoose';

/** One key of a team. */
export interface IdempotencyDocument {
  /** `<team id>:<key>` */
  _id: string;
  /** Hash of the request's body: the key may not be used with another one. */
  body_hash: string;
  state: 'in_flight' | 'done';
  /** Chosen before the call is placed, so that a second attempt finds what the first one left. */
  session_id: string;
  /** While it lasts somebody is placing the call; after it the attempt is taken for dead. */
  lease_until: Date;
  expires_at: Date;
}

/** Defines the model on a connection. */
export function defineIdempotencyKeys(connection: Connection): Model<IdempotencyDocument> {
  const schema = new Schema<IdempotencyDocument>(
    {
      _id: { type: String, required: true },
      body_hash: { type: String, required: true },
      state: { type: String, required: true },
      session_id: { type: String, required: true },
      lease_until: { type: Date, required: true },
      expires_at: { type: Date, required: true },
    },
    { collection: 'idempotency_keys', versionKey: false },
  );
  schema.index({ expires_at: 1 }, { expireAfterSeconds: 0 });
  return connection.model<IdempotencyDocument>('IdempotencyKey', schema);
}
