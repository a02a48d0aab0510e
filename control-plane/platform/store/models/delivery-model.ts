/** Webhook deliveries: one event for one endpoint, leased while it is being sent. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';
import type { StoredBytes } from './session-model.ts';

/** `queued`: waits for an earlier event of the same session to this endpoint. `pending`: due at `next_at`. */
export type DeliveryState = 'queued' | 'pending' | 'delivered' | 'dropped';

/** Delivery of one event to one endpoint. */
export interface DeliveryDocument {
  /** `<outbox id>:<endpoint number>` */
  _id: string;
  session_id: string;
  team_id: string;
  event: string;
  url: string;
  /** Sealed by the secret box; null when the endpoint has none. */
  secret: string | null;
  rank: number;
  state: DeliveryState;
  next_at: Date;
  lease: string | null;
  attempts: number;
  last_attempt_at: Date | null;
  /** HTTP status of the last answer, or why there was none. */
  last_result: string;
  /** The payload bytes, sealed with the session's data key; identical for every attempt. */
  payload: StoredBytes;
  created_at: Date;
  /** Time of delivery or of dropping. */
  finished_at: Date | null;
}

/** Defines the model on a connection. */
export const defineDeliveries = modelOf<DeliveryDocument>('Delivery', () => {
  const schema = new Schema<DeliveryDocument>(
    {
      _id: { type: String, required: true },
      session_id: { type: String, required: true },
      team_id: { type: String, required: true },
      event: { type: String, required: true },
      url: { type: String, required: true },
      secret: { type: String, default: null },
      rank: { type: Number, required: true },
      state: { type: String, required: true },
      next_at: { type: Date, required: true },
      lease: { type: String, default: null },
      attempts: { type: Number, default: 0 },
      last_attempt_at: { type: Date, default: null },
      last_result: { type: String, default: '' },
      payload: { type: Schema.Types.Mixed, required: true },
      created_at: { type: Date, required: true },
      finished_at: { type: Date, default: null },
    },
    { collection: 'webhook_deliveries', versionKey: false },
  );
  schema.index({ state: 1, next_at: 1 });
  schema.index({ state: 1, team_id: 1, next_at: 1 });
  // Preserves order: at most one pending event per session and endpoint.
  schema.index({ session_id: 1, url: 1 }, { unique: true, partialFilterExpression: { state: 'pending' } });
  schema.index({ session_id: 1, url: 1, rank: 1 });
  schema.index({ session_id: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, finished_at: 1 });
  return schema;
});
