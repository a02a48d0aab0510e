/**
 * The share of an agent's calls that another version answers (docs/shares.md). The document decides alone
 * which calls get it, what is counted and whether it has ended: one update, guarded by `rev`, adds ended
 * calls and stops the share on their account.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';
import type { StoredSums } from './call-count-model.ts';
import type { ShareArm } from './session-share.ts';

/** The rates that are compared: of calls in which this happens. Less is better. */
export const SHARE_MEASURES = ['failed', 'unsuccessful', 'slow', 'dead_air', 'transferred'] as const;
export type ShareMeasure = (typeof SHARE_MEASURES)[number];

/** Calls in which something can be told, and in how many of them it happened. */
export interface StoredRate {
  readonly calls: number;
  readonly hits: number;
}

/** Sums over the ended calls of an arm. */
export interface ArmSums {
  readonly sums: StoredSums;
  readonly rates: Readonly<Record<ShareMeasure, StoredRate>>;
}

/** A rate that stops the share once it is certainly higher than beside it, by more than `margin` (0 to 1). */
export interface WatchedMeasure {
  readonly measure: ShareMeasure;
  readonly margin: number;
}

/** Why no more calls get the version. */
export const SHARE_ENDS = ['harm', 'by_hand', 'published', 'promoted'] as const;
export type ShareEndReason = (typeof SHARE_ENDS)[number];

export interface ShareEnd {
  readonly reason: ShareEndReason;
  readonly at: Date;
  /** Of a harm: the rate that has shown it, and the difference of the rates, with its interval. */
  readonly harm?: {
    readonly measure: ShareMeasure;
    readonly difference: number;
    readonly low: number;
    readonly high: number;
  };
}

/** An automatic stop that webhooks and the audit log do not have yet. */
export interface UntoldStop {
  readonly share_id: string;
  readonly version_number: number;
  readonly beside_id: string;
  readonly beside_number: number;
  /** The call that was counted last: the event is one of this session. */
  readonly session_id: string;
  readonly end: ShareEnd;
  readonly arms: Readonly<Record<ShareArm, StoredRate>>;
}

/** The newest share of an agent. */
export interface ShareDocument {
  /** Id of the agent. */
  _id: string;
  share_id: string;
  team_id: string;
  /** Guard: raised by every change. */
  rev: number;
  /** Share of callers, between 0 and 1. */
  share: number;
  version_id: string;
  version_number: number;
  config_hash: string;
  /** Sources of that version: they must not be deleted while it takes calls. */
  knowledge_source_ids: string[];
  /** The published version beside it; with another one published, the share is over. */
  beside_id: string;
  beside_number: number;
  watch: readonly WatchedMeasure[];
  /** A call is slow if the median wait for its replies is longer, ms. */
  slow_ms: number;
  /** No harm is found before each arm has this many calls. */
  at_least_calls: number;
  status: 'running' | 'ended';
  started_at: Date;
  end: ShareEnd | null;
  arms: Readonly<Record<ShareArm, ArmSums>>;
  /** Sessions that are counted and may not say so yet. */
  recent: string[];
  /** Absent without any. */
  untold?: UntoldStop[];
  is_untold?: true;
}

const text = { type: String, required: true };
const mixed = { type: Schema.Types.Mixed, required: true };

/** Defines the model on a connection. */
export const defineShares = modelOf<ShareDocument>('Share', () => {
  const schema = new Schema<ShareDocument>(
    {
      _id: text,
      share_id: text,
      team_id: text,
      rev: { type: Number, required: true },
      share: { type: Number, required: true },
      version_id: text,
      version_number: { type: Number, required: true },
      config_hash: text,
      knowledge_source_ids: { type: [String], default: [] },
      beside_id: text,
      beside_number: { type: Number, required: true },
      watch: mixed,
      slow_ms: { type: Number, required: true },
      at_least_calls: { type: Number, required: true },
      status: text,
      started_at: { type: Date, required: true },
      end: { type: Schema.Types.Mixed, default: null },
      arms: mixed,
      recent: { type: [String], default: [] },
      untold: { type: [Schema.Types.Mixed], default: undefined } as never,
      is_untold: Boolean,
    } as never,
    { collection: 'shares', versionKey: false, minimize: false },
  );
  schema.index({ is_untold: 1 }, { partialFilterExpression: { is_untold: true } });
  schema.index({ knowledge_source_ids: 1 });
  return schema;
});
