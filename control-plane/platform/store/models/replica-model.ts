/**
 * Replicas of the control plane. Each refreshes its entry every few seconds; a TTL index removes silent ones.
 * One that stops leaves its entry too, if it had workers lately: it says when they were last heard.
 */
import { Schema } from 'mongoose';
import type { SignallingReport } from '#protocol/worker-watch.ts';
import { documentSchema, modelOf } from '../schema.ts';

const KEPT_SECONDS = 60 * 60;

/** A worker that is no longer connected, or no longer heard, and when it was last listed. */
export interface LeftWorker {
  readonly worker: string;
  readonly at: Date;
}

/** A replica. */
export interface ReplicaDocument {
  _id: string;
  /** Whether it shares a Redis with the others. */
  is_shared: boolean;
  /** Start time of the process. */
  started_at: Date;
  seen_at: Date;
  /** Ids of the workers connected to it, for the other replicas; empty if there are none. */
  workers: readonly string[];
  /** Workers it listed before, lately; absent in entries of older versions. */
  left?: readonly LeftWorker[];
  /** The last reports that signalling servers sent to it. */
  signalling?: readonly SignallingReport[];
}

/** Defines the model on a connection. */
export const defineReplicas = modelOf<ReplicaDocument>('Replica', () => {
  const schema = documentSchema<ReplicaDocument>(
    {
      _id: String,
      is_shared: { $type: Boolean, required: true },
      started_at: { $type: Date, required: true },
      seen_at: { $type: Date, required: true },
      workers: { $type: [String], default: [] },
      left: { $type: [Schema.Types.Mixed], default: [] },
      signalling: { $type: [Schema.Types.Mixed], default: [] },
    },
    { collection: 'replicas' },
  );
  schema.index({ seen_at: 1 }, { expireAfterSeconds: KEPT_SECONDS });
  return schema;
});
