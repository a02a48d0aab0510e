/** A session as the API returns it: list row, detail and analysis. */
import { z } from 'zod';
import type { Sealer } from '#base/sealer.ts';
import { CALL_TAGS } from '#config/scorecard.ts';
import {
  analysisResult,
  dialStatus,
  endReason,
  mediaQuality,
  type SessionLine,
  sessionItem,
  sessionLine,
  sessionStatus,
} from '#protocol/session-record.ts';
import type { Context } from '../../platform/context.ts';
import { agentIdentity, callerIdentity } from '../../platform/rooms.ts';
import { fromJsonText } from '../../platform/store/json-text.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { type SessionShare, SHARE_ARMS } from '../../platform/store/models/session-share.ts';
import { explainedTurn, explainTurn } from './explain-turn.ts';
import { turnUsage, usageByTurn } from './llm-usage.ts';
import { openJson } from './sealed-contents.ts';
import { sealerOf } from './session-store.ts';
import { explainedSilence, explainSilence } from './silences.ts';
import { tagsRecord } from './tag-session.ts';
import { readTimeline } from './timeline.ts';

const timestamp = z.iso.datetime();
const text = z.string().nullable();

/** The share of calls that has decided the version of a session, and what it has decided. */
export const sessionShare = z
  .object({
    share_id: z.string().describe('Id of the share of calls'),
    arm: z.enum(SHARE_ARMS).describe('`share`: with its version; `published`: beside it'),
    version_number: z.number().int().describe('Number of the version that the session has'),
  })
  .describe('The share of calls that has decided the version; absent if the agent had none');

/** A row of the session list. */
export const sessionRecord = z.object({
  session_id: z.string(),
  agent_id: z.string(),
  agent_name: z.string(),
  name: text,
  status: sessionStatus,
  end_reason: endReason.nullable(),
  source: z.enum(['api_key', 'dashboard', 'public', 'phone']),
  direction: z.enum(['inbound', 'outbound']),
  dial_status: dialStatus.nullable(),
  dial_error: z
    .string()
    .optional()
    .describe('Why an outbound call was not answered; absent if `dial_status` says all'),
  answered_by: z.literal('unknown').nullable(),
  continued_from: z
    .string()
    .optional()
    .describe('Id of the text session by SMS that the agent knew when the caller came; absent without one'),
  caller_number: text.describe(
    'Number of the other party: who called, or for an outbound call who was called',
  ),
  dialed_number: text.describe(
    'Number on this side: the one called, or for an outbound call the one it came from',
  ),
  sip_call_id: text,
  timezone: text,
  created_at: timestamp,
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
  duration_seconds: z.number().int().nullable(),
  participant_identity: text,
  agent_participant_identity: text,
  agent_joined_at: timestamp.nullable(),
  metadata: z.record(z.string(), z.unknown()),
  share: sessionShare.optional(),
});

/** The analysis as the sessions API returns it, without error and time. */
export const sessionAnalysis = z.object({
  status: z.enum(['queued', 'running', 'completed', 'skipped', 'error']),
  summary: analysisResult.shape.summary,
  data: analysisResult.shape.data,
  criteria_results: analysisResult.shape.criteria_results,
});

const callTag = z.object({
  tag: z.enum(CALL_TAGS).describe('What happened'),
  count: z.number().int().describe('How often it happened in the call'),
  moments: z
    .array(
      z.object({
        at_ms: z.number().int().describe('When, in ms since the call began'),
        evidence: z.string().describe('What shows it, for people'),
      }),
    )
    .describe('Where it happened, in order, at most 20'),
});

/** A session with its timeline, its analysis and the latency waterfall of each turn. */
export const sessionDetail = sessionRecord.extend({
  items: z.array(sessionItem),
  analysis: sessionAnalysis.nullable(),
  turns: z.array(explainedTurn),
  silences: z.array(explainedSilence),
  llm_usage: z.array(turnUsage),
  /** Failovers to another worker; between the two times the call had no worker. */
  takeovers: z.array(z.object({ lost_at: timestamp, taken_over_at: timestamp })),
  /** Only for phone calls that have ended; otherwise null. */
  media_quality: mediaQuality.nullable(),
  /**
   * Headers from the INVITE of an inbound call: P-Asserted-Identity, Privacy, Diversion and every X- header,
   * unmodified; names in lower case. Null for other sessions.
   */
  sip_headers: z.record(z.string(), z.string()).nullable(),
  lines: z
    .array(sessionLine)
    .optional()
    .describe('Stretches of an outgoing call in which no person was there; absent without any'),
  hold_seconds: z
    .number()
    .int()
    .optional()
    .describe('Time that the agent was on hold, in whole seconds; absent if it was not'),
  tags: z
    .array(callTag)
    .optional()
    .describe('What went wrong in the ended call, as far as facts tell; absent if nothing was found'),
});

/** Fields not needed for a list row. */
export const DETAIL_FIELDS = [
  ...['timeline', 'turns', 'silences', 'overlaps', 'lines', 'usage', 'takeovers', 'media_quality'],
  ...['sip_headers', 'chain', 'chain_head'],
  ...['dialog', 'person', 'outbox', 'endpoints', 'wrapped_key', 'tracks'],
] as const;

/** Converts a session to a list row. */
export function toSessionRecord(session: SessionDocument): z.output<typeof sessionRecord> {
  return {
    session_id: session._id,
    agent_id: session.agent_id,
    agent_name: session.agent_name,
    name: session.name,
    status: session.status === 'creating' ? 'pending' : session.status,
    end_reason: session.end_reason,
    source: session.source,
    direction: session.direction,
    dial_status: session.dial_status,
    ...(session.dial_error === undefined ? {} : { dial_error: session.dial_error }),
    answered_by: session.answered_by,
    ...(session.continued_from === undefined ? {} : { continued_from: session.continued_from }),
    caller_number: session.caller_number,
    dialed_number: session.dialed_number,
    sip_call_id: session.sip_call_id,
    timezone: session.timezone,
    created_at: session.created_at.toISOString(),
    started_at: session.started_at?.toISOString() ?? null,
    ended_at: session.ended_at?.toISOString() ?? null,
    duration_seconds: session.duration_seconds,
    participant_identity: session.room === null ? null : callerIdentity(session._id),
    agent_participant_identity: session.room === null ? null : agentIdentity(session._id),
    agent_joined_at: session.started_at?.toISOString() ?? null,
    metadata: fromJsonText(session.metadata),
    ...shareRecord(session.share),
  };
}

/** The share of a session as a field of its record; no field without one. */
export function shareRecord(share: SessionShare | undefined): {
  share?: z.output<typeof sessionShare>;
} {
  if (!share) return {};
  return { share: { share_id: share.id, arm: share.arm, version_number: share.version_number } };
}

/** Converts a session to its full record. */
export async function toSessionDetail(
  context: Context,
  session: SessionDocument,
): Promise<z.output<typeof sessionDetail>> {
  const items = await readTimeline(context, session);
  return {
    ...toSessionRecord(session),
    items,
    analysis: toAnalysis(session.analysis, sealerOf(context, session)),
    turns: session.turns.map((turn) => explainTurn(turn, items)),
    silences: (session.silences ?? []).map(explainSilence),
    llm_usage: usageByTurn(session.usage),
    takeovers: (session.takeovers ?? []).map((takeover) => ({
      lost_at: takeover.lost_at.toISOString(),
      taken_over_at: takeover.taken_over_at.toISOString(),
    })),
    // Parsed to fill in fields that an earlier version did not measure.
    media_quality: session.media_quality ? mediaQuality.parse(session.media_quality) : null,
    sip_headers: readSipHeaders(context, session),
    ...linesRecord(session.lines),
    ...(await tagsRecord(context, session, items)),
  };
}

/** The automated lines of a session as fields of its record; none without any. */
function linesRecord(
  lines: readonly SessionLine[] = [],
): Pick<z.output<typeof sessionDetail>, 'lines' | 'hold_seconds'> {
  if (lines.length === 0) return {};
  const held = lines.filter(({ line }) => line === 'hold');
  const heldMs = held.reduce((sum, { duration_ms }) => sum + duration_ms, 0);
  return { lines: [...lines], ...(held.length > 0 ? { hold_seconds: Math.round(heldMs / 1_000) } : {}) };
}

function readSipHeaders(context: Context, session: SessionDocument): Record<string, string> | null {
  const headers = z.record(z.string(), z.string());
  return openJson(sealerOf(context, session), session.sip_headers, 'sip_headers', headers);
}

/** Converts an analysis; null before the end of its conversation. */
export function toAnalysis(
  { state, result }: SessionDocument['analysis'],
  sealer: Sealer | null,
): z.output<typeof sessionAnalysis> | null {
  if (state === 'none') return null;
  const isResult = state !== 'queued' && state !== 'running';
  const known = isResult ? openJson(sealer, result, 'analysis', analysisResult) : null;
  const { summary, data, criteria_results } = known ?? { summary: null, data: [], criteria_results: [] };
  return { status: state, summary, data, criteria_results };
}
