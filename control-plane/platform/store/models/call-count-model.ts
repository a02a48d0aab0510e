/**
 * Sums over ended calls, kept as calls end, so that statistics need not read the calls
 * (docs/decisions/034-counts-of-ended-calls.md).
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';
import type { StoredBytes } from './session-model.ts';

/** Lengths of the stretches of time (UTC) that have sums, ms. */
export const COUNT_SPANS = { '1d': 86_400_000, '1h': 3_600_000, '5m': 300_000 } as const;
export type CountSpan = keyof typeof COUNT_SPANS;

/** Sums over calls; those of several sets of calls can be added. */
export interface StoredSums {
  readonly calls: number;
  readonly answered: number;
  readonly seconds: number;
  readonly cost_micros: number;
  readonly end_reasons: Readonly<Record<string, number>>;
  /** Histogram of the latencies of turns, as `Tally` writes it. */
  readonly latencies: StoredBytes;
}

/** A call that was counted lately, or whose session does not say yet that it is counted. */
export interface RecentCall {
  readonly id: string;
  /** How many of its turns are counted. */
  readonly turns: number;
  readonly at: Date;
}

/** Sums over the ended calls that one agent began within one stretch of time. */
export interface CallCountDocument {
  /** `<team>:<span>:<start>:<agent>`, see `countId`. */
  _id: string;
  agent_id: string;
  /** Name of the agent in its newest call, and when that one was created. */
  agent_name: string;
  newest_at: Date;
  /** Guard: increased by every change. */
  rev: number;
  sums: StoredSums;
  recent: RecentCall[];
}

/** How far the calls of earlier releases are counted, and which replica counts. */
export interface CallCountState {
  _id: 'state';
  lease_by: string | null;
  lease_until: Date | null;
  /** The session that was counted last: teams in ascending order, and their sessions from the newest on. */
  team_id: string;
  created_at: Date | null;
  session_id: string;
  /** Sessions looked at so far. */
  seen: number;
  /** Null while calls of an earlier release may be missing from the sums. */
  finished_at: Date | null;
}

/** Start of an id: a range of these has all agents of a team in a range of time. */
export function countIdPrefix(teamId: string, span: CountSpan, startMs: number): string {
  return `${teamId}:${span}:${new Date(startMs).toISOString()}:`;
}

/** Id of the sums with the call of an agent that was created at this time. */
export function countId(teamId: string, span: CountSpan, agentId: string, createdMs: number): string {
  const length = COUNT_SPANS[span];
  return countIdPrefix(teamId, span, Math.floor(createdMs / length) * length) + agentId;
}

const text = { type: String, required: true };
const optionalDate = { type: Date, default: null };

/** Defines the model on a connection. */
export const defineCallCounts = modelOf<CallCountDocument>(
  'CallCount',
  () =>
    new Schema<CallCountDocument>(
      {
        _id: text,
        agent_id: text,
        agent_name: { type: String, default: '' },
        newest_at: { type: Date, required: true },
        rev: { type: Number, required: true },
        sums: { type: Schema.Types.Mixed, required: true },
        recent: { type: [Schema.Types.Mixed], default: [] } as never,
      },
      { collection: 'call_counts', versionKey: false, minimize: false },
    ),
);

/** Defines the model on a connection. */
export const defineCallCountStates = modelOf<CallCountState>(
  'CallCountState',
  () =>
    new Schema<CallCountState>(
      {
        _id: text,
        lease_by: { type: String, default: null },
        lease_until: optionalDate,
        team_id: { type: String, default: '' },
        created_at: optionalDate,
        session_id: { type: String, default: '' },
        seen: { type: Number, default: 0 },
        finished_at: optionalDate,
      } as never,
      { collection: 'call_count_state', versionKey: false },
    ),
);
