/**
 * The records of the ended calls of an agent (docs/scorecard.md): sums by day and version, a small document
 * for each call in which something was found, and the state of the rates that are watched. Each document is
 * changed by one guarded update, so that a call is in it once.
 */

import { Schema } from 'mongoose';
import { utcDay } from '#base/utc-day.ts';
import type { AlertRule } from '#config/scorecard.ts';
import type { AnalysisResult } from '#protocol/session-record.ts';
import { modelOf } from '../schema.ts';

export type CriterionResult = AnalysisResult['criteria_results'][number]['result'];

/** How often a criterion was judged how. */
export interface CriterionSums extends Readonly<Record<CriterionResult, number>> {
  readonly name: string;
}

/** Sums over the calls that began within one hour (UTC). */
export interface HourSums {
  /** 0 to 23. */
  readonly hour: number;
  readonly calls: number;
  readonly tags: readonly { readonly tag: string; readonly calls: number }[];
  readonly criteria: readonly CriterionSums[];
}

/** Sums over the calls with one version of an agent that began on one day (UTC). */
export interface ScorecardDocument {
  /** `<agent>:<YYYY-MM-DD>:<version>`. */
  _id: string;
  version_number: number;
  /** Guard: raised by every change. */
  rev: number;
  hours: HourSums[];
  /** Sessions that are counted and may not say so yet. */
  recent: string[];
}

/** A call in which something was found or judged; nothing in it is of the conversation. */
export interface ScoredCallDocument {
  /** Id of the session. */
  _id: string;
  team_id: string;
  agent_id: string;
  version_number: number;
  created_at: Date;
  duration_seconds: number;
  end_reason: string | null;
  tags: string[];
  criteria: { name: string; result: CriterionResult }[];
  /** By these, calls are listed: a tag, or criterion and result, each also with the version. */
  labels: string[];
}

/** On which side of its band a rate is. */
export type AlertSide = 'above' | 'below';

/** An alert, open or closed. */
export interface StoredAlert {
  readonly alert_id: string;
  readonly rate: string;
  readonly side: AlertSide;
  readonly limit: number;
  readonly opened_at: Date;
  /** When the calls began that have opened it, and what the rate is made of. */
  readonly since: Date;
  readonly calls: number;
  readonly hits: number;
  readonly closed_at: Date | null;
  /** `returned`: the rate is back in its band; `changed`: the rule was changed or removed. */
  readonly close_reason: 'returned' | 'changed' | null;
}

/** Evidence that a rate is on one side of a limit (`watch-rate.ts`). */
export interface StoredEvidence {
  readonly sums: readonly number[];
  readonly drift: number;
  readonly calls: number;
  readonly hits: number;
  readonly since: Date | null;
}

/** A band that was learned from an agent's own calls (`learn-band.ts`). */
export interface LearnedBand {
  /** When these calls were looked at, when they will be again, and what the rate was made of. */
  readonly at: Date;
  readonly again_at: Date;
  readonly calls: number;
  readonly hits: number;
  /** Null where no limit is learned: it is set, not wanted, or these calls are too few for it. */
  readonly above: number | null;
  readonly below: number | null;
}

/** The state of a rule. */
export interface WatchedRate {
  readonly rule: AlertRule;
  /** Absent until calls were looked at, and for a rule whose limits are set. */
  readonly learned?: LearnedBand;
  readonly above: StoredEvidence;
  readonly below: StoredEvidence;
  /** The open alert; null if the rate is in its band. */
  readonly open: StoredAlert | null;
}

/** An alert that was opened or closed, and that webhooks do not have yet. */
export interface UntoldAlert {
  readonly alert: StoredAlert;
  /** The event is one of this session. */
  readonly session_id: string;
  readonly version_id: string;
}

/** The watched rates of an agent. */
export interface ScoreWatchDocument {
  /** Id of the agent. */
  _id: string;
  team_id: string;
  rev: number;
  rates: WatchedRate[];
  /** The newest closed alerts, newest first. */
  closed: StoredAlert[];
  recent: string[];
  /** The call that was counted last and whose key was there: events travel with it. Empty without one. */
  session_id: string;
  /** Absent without any. */
  untold?: UntoldAlert[];
  is_untold?: true;
}

const text = { type: String, required: true };
const number = { type: Number, required: true };
const date = { type: Date, required: true };
const list = { type: [Schema.Types.Mixed], default: [] } as never;

/** Id of the sums with a call; those of an agent are in the order of their days. */
export function scorecardId(agentId: string, createdAt: Date, versionId: string): string {
  return `${scorecardDay(agentId, createdAt)}${versionId}`;
}

/** Condition of the ids of an agent. */
export function scorecardIdsOf(agentId: string): { readonly $gt: string; readonly $lt: string } {
  return { $gt: `${agentId}:`, $lt: `${agentId};` };
}

/** Start of the ids of a day. */
export function scorecardDay(agentId: string, at: Date): string {
  return `${agentId}:${utcDay(at)}:`;
}

/** Defines the model on a connection. */
export const defineScorecards = modelOf<ScorecardDocument>(
  'Scorecard',
  () =>
    new Schema<ScorecardDocument>(
      { _id: text, version_number: number, rev: number, hours: list, recent: list } as never,
      { collection: 'scorecards', versionKey: false },
    ),
);

/** Defines the model on a connection. */
export const defineScoredCalls = modelOf<ScoredCallDocument>('ScoredCall', () => {
  const schema = new Schema<ScoredCallDocument>(
    {
      _id: text,
      team_id: text,
      agent_id: text,
      version_number: number,
      created_at: date,
      duration_seconds: number,
      end_reason: { type: String, default: null },
      tags: { type: [String], default: [] } as never,
      criteria: list,
      labels: { type: [String], default: [] } as never,
    } as never,
    { collection: 'scored_calls', versionKey: false },
  );
  schema.index({ agent_id: 1, labels: 1, created_at: -1, _id: -1 });
  return schema;
});

/** Defines the model on a connection. */
export const defineScoreWatches = modelOf<ScoreWatchDocument>('ScoreWatch', () => {
  const schema = new Schema<ScoreWatchDocument>(
    {
      _id: text,
      team_id: text,
      rev: number,
      rates: list,
      closed: list,
      recent: list,
      session_id: { type: String, default: '' },
      untold: { type: [Schema.Types.Mixed], default: undefined } as never,
      is_untold: Boolean,
    } as never,
    { collection: 'score_watches', versionKey: false },
  );
  schema.index({ is_untold: 1 }, { partialFilterExpression: { is_untold: true } });
  return schema;
});
