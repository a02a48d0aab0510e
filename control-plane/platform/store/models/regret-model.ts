/**
 * The regret of agents (docs/regret.md): how far their calls are measured, and sums by day and version. A
 * day's sums name the last call that they have, so a group of calls that is added a second time after a crash
 * changes nothing.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** How far the calls of an agent are measured. */
export interface RegretDocument {
  /** Id of the agent. */
  _id: string;
  team_id: string;
  /** The last call that was looked at, in the order of their beginnings; the id is empty before the first. */
  at: Date;
  session_id: string;
  /** Attempts in vain at the next calls. */
  attempts: number;
  lease_by: string | null;
  lease_until: Date | null;
}

/** Sums over the calls that one version began on one day (UTC). */
export interface RegretDayDocument {
  /** `<agent>:<day>:<version id>`. */
  _id: string;
  team_id: string;
  agent_id: string;
  /** `2026-11-29`. */
  day: string;
  version_id: string;
  version_number: number;
  /** Guard: raised by every change. */
  rev: number;
  /** The last call in the sums. */
  at: Date;
  session_id: string;
  /** `RegretSums` without its candidates as JSON. */
  sums: string;
  /** Its candidates as JSON, which only learners read; absent without any. */
  candidates?: string;
}

const text = { type: String, required: true };

/** Defines the model on a connection. */
export const defineRegrets = modelOf<RegretDocument>(
  'Regret',
  () =>
    new Schema<RegretDocument>(
      {
        _id: text,
        team_id: text,
        at: { type: Date, required: true },
        session_id: { type: String, default: '' },
        attempts: { type: Number, default: 0 },
        lease_by: { type: String, default: null },
        lease_until: { type: Date, default: null },
      } as never,
      { collection: 'regrets', versionKey: false },
    ),
);

/** Defines the model on a connection. */
export const defineRegretDays = modelOf<RegretDayDocument>('RegretDay', () => {
  const schema = new Schema<RegretDayDocument>(
    {
      _id: text,
      team_id: text,
      agent_id: text,
      day: text,
      version_id: text,
      version_number: { type: Number, required: true },
      rev: { type: Number, required: true },
      at: { type: Date, required: true },
      session_id: text,
      sums: text,
      candidates: String,
    } as never,
    { collection: 'regret_days', versionKey: false },
  );
  schema.index({ agent_id: 1, day: 1 });
  schema.index({ team_id: 1, day: 1 });
  return schema;
});
