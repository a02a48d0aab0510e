/**
 * Rehearsals of agents: a draft, and how far the calls before it have been run again under it. What was found
 * is kept as sums in JSON text, which one update advances together with the position.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** Calls that could not be rehearsed. */
export interface LeftOut {
  no_log: number;
  other_version: number;
  unreadable: number;
}

/** The judge of a rehearsal, and what it has cost. Amounts are micro-dollars. */
export interface JudgeState {
  /** Counts its changes: one that follows from an older state is not stored. */
  rev: number;
  /** `<provider>/<model>` of the draft, and of the judge. */
  draft_model: string;
  judge_model: string;
  max_micros: number;
  /** Turns wanted. */
  turns: number;
  /** The draft as `JudgedDraft` in JSON; empty once it has ended. */
  draft: string;
  /** Null until turns have been drawn. */
  drawn: { calls_read: number; turns_found: number } | null;
  /** Prices of all answers. */
  spent_micros: number;
  /** Reserved for questions that a worker may have asked, and whose answer never came. */
  lost_micros: number;
  /** Questions reserved for, and not settled yet. */
  asked: { turn: string; asks: number; micros: number }[];
  /** Why it has not asked all; null if it has. */
  stopped: string | null;
}

/** One rehearsal. */
export interface RehearsalDocument {
  _id: string;
  team_id: string;
  agent_id: string;
  /** `judging`: its calls have been run again, and turns of them are judged. */
  status: 'running' | 'judging' | 'completed' | 'failed';
  error: string | null;
  config_hash: string;
  /** `AgentConfig` of the draft as JSON; empty once it has ended. */
  draft: string;
  /** The version published when it began; null without one. */
  published_id: string | null;
  not_judged: string[];
  timezone: string;
  since: Date;
  calls_found: number;
  calls_wanted: number;
  calls_looked_at: number;
  calls_of_earlier_versions: number;
  left_out: LeftOut;
  /** Position in the list of sessions; null at its start. */
  cursor: string | null;
  /** `RehearsalTally` as JSON. */
  tally: string;
  /** Attempts in vain at the next calls. */
  attempts: number;
  /** Errors in a row. */
  failures?: number;
  /** Absent without a judge. */
  judge?: JudgeState;
  lease_by: string | null;
  lease_until: Date | null;
  created_at: Date;
  /** When it last came further. */
  advanced_at: Date;
  finished_at: Date | null;
}

/** Defines the model on a connection. */
export const defineRehearsals = modelOf<RehearsalDocument>('Rehearsal', () => {
  const schema = new Schema<RehearsalDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      agent_id: { type: String, required: true },
      status: { type: String, required: true },
      error: { type: String, default: null },
      config_hash: { type: String, required: true },
      draft: { type: String, default: '' },
      published_id: { type: String, default: null },
      not_judged: { type: [String], default: [] },
      timezone: { type: String, required: true },
      since: { type: Date, required: true },
      calls_found: { type: Number, required: true },
      calls_wanted: { type: Number, required: true },
      calls_looked_at: { type: Number, required: true },
      calls_of_earlier_versions: { type: Number, required: true },
      left_out: { type: Schema.Types.Mixed, required: true },
      cursor: { type: String, default: null },
      tally: { type: String, required: true },
      attempts: { type: Number, required: true },
      failures: { type: Number, default: undefined } as never,
      judge: { type: Schema.Types.Mixed, default: undefined } as never,
      lease_by: { type: String, default: null },
      lease_until: { type: Date, default: null },
      created_at: { type: Date, required: true },
      advanced_at: { type: Date, required: true },
      finished_at: { type: Date, default: null },
    },
    { collection: 'rehearsals', versionKey: false },
  );
  schema.index({ agent_id: 1, created_at: -1, _id: -1 });
  schema.index({ status: 1, advanced_at: 1 });
  schema.index({ team_id: 1, status: 1 });
  return schema;
});
