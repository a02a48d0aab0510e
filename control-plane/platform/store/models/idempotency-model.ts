/** Idempotency keys of requests, and the things that they made; a TTL index removes them after 24 h. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** An idempotency key of a team. */
export interface IdempotencyDocument {
  /** `<team id>:<key>` */
  _id: string;
  /** Hash of the request: the key must not be reused with a different one. */
  body_hash: string;
  state: 'in_flight' | 'done';
  /**
   * Id of the thing, which may be no session. Chosen before it is made, so that a repeated request finds the
   * result of the first one.
   */
  session_id: string;
  /** Until then a process is making it; afterwards the attempt is considered dead. */
  lease_until: Date;
  expires_at: Date;
}

/** Defines the model on a connection. */
export const defineIdempotencyKeys = modelOf<IdempotencyDocument>('IdempotencyKey', () => {
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
  return schema;
});
