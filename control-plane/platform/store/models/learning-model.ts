/**
 * Learners of agents (docs/regret.md#the-learner): their rules, what they are doing, and why they did what
 * they did. Absent until one is set.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

export const LEARNING_STEPS = [
  'began',
  'tried',
  'looked',
  'promoted',
  'stopped',
  'paused',
  'resumed',
] as const;

/** One step, for people. */
export interface LearningEntry {
  readonly at: Date;
  readonly did: (typeof LEARNING_STEPS)[number];
  readonly why: string;
}

/** A setting as it is stored. */
export interface StoredSetting {
  readonly eagerness: string;
  readonly response_wait_ms: number;
}

/** The learner of an agent. */
export interface LearningDocument {
  /** Id of the agent. */
  _id: string;
  team_id: string;
  /** Guard: raised by every change. */
  rev: number;
  wait_min_ms: number;
  wait_max_ms: number;
  eagerness: readonly string[];
  cut_off_bound: number;
  share: number;
  status: 'learning' | 'paused';
  /** Why it does what it does now, or why it is paused. */
  why: string;
  /** Hash of the published version that it goes on from: another one is an operator's. */
  published_hash: string;
  /** Version of the draft that it has seen: another one is an operator's. */
  draft_rev: number;
  /** The share that it has set; null while there is none. */
  trial: {
    readonly share_id: string | null;
    readonly version_id: string;
    readonly purpose: 'try' | 'look';
    readonly setting: StoredSetting;
  } | null;
  /** The last share that it has set: one that it was about to stop is its own. */
  last_share_id: string | null;
  refused: readonly (StoredSetting & { readonly at: Date })[];
  history: readonly LearningEntry[];
  created_at: Date;
  lease_by: string | null;
  lease_until: Date | null;
}

const text = { type: String, required: true };
const number = { type: Number, required: true };
const mixed = { type: Schema.Types.Mixed, default: null };
const list = { type: [Schema.Types.Mixed], default: [] } as never;

/** Defines the model on a connection. */
export const defineLearnings = modelOf<LearningDocument>('Learning', () => {
  const schema = new Schema<LearningDocument>(
    {
      _id: text,
      team_id: text,
      rev: number,
      wait_min_ms: number,
      wait_max_ms: number,
      eagerness: { type: [String], required: true } as never,
      cut_off_bound: number,
      share: number,
      status: text,
      why: { type: String, default: '' },
      published_hash: text,
      draft_rev: number,
      trial: mixed,
      last_share_id: { type: String, default: null },
      refused: list,
      history: list,
      created_at: { type: Date, required: true },
      lease_by: { type: String, default: null },
      lease_until: { type: Date, default: null },
    } as never,
    { collection: 'learnings', versionKey: false },
  );
  return schema;
});
