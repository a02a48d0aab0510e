/**
 * Sessions: the record of a call, what it owes and what is still to be sent about it, in one document, so
 * that one update decides all three. Timeline, payloads and analysis results are sealed with the session's
 * own data key; erasing a session is removing `wrapped_key`.
 */
import { type Connection, type Model, Schema } from 'mongoose';
import type { SystemVariables } from '#protocol/call-plan.ts';
import type { ParticipantMode } from '#protocol/session-events.ts';
import type {
  DialStatus,
  EndReason,
  MediaQuality,
  ModelUsage,
  TurnLatency,
  TurnSilence,
} from '#protocol/session-record.ts';
import type { JsonText } from '../json-text.ts';
import type { Losses } from '../losses.ts';

/**
 * Bytes as the driver returns them: a Buffer, or its own wrapper in lean results. Read them with `toBuffer`.
 */
export type StoredBytes = Uint8Array | { readonly buffer: Uint8Array; readonly position: number };

/** `creating`: the intent is written and the charge is not taken yet; never shown. */
export type StoredStatus = 'creating' | 'pending' | 'active' | 'unknown' | 'completed' | 'failed';

/**
 * What the session owes, micro-dollars. `hold_due` → `held` → `settle_due` → `settled`; `free` owes nothing
 * ever.
 */
export interface SessionBilling {
  state: 'free' | 'hold_due' | 'held' | 'settle_due' | 'settled';
  at: Date;
  price_per_minute: number;
  hold: number;
  /** Given back at the end; negative when the call cost more than was held. */
  due: number;
}

/** An event that waits to be handed to the deliveries. */
export interface OutboxEvent {
  /** `<session>:<event>`, with the run of an analysis. */
  id: string;
  event: 'phone_call.dial_finished' | 'call.ended' | 'call.analyzed';
  /** Order of the session's events. */
  rank: number;
  at: Date;
  /** Sealed JSON, frozen when the event happened. */
  payload: StoredBytes;
}

/**
 * A worker's report on the timeline: sealed items, or the id of the side document that holds them when they
 * are large.
 */
export interface TimelineEntry {
  sealed: StoredBytes | null;
  document_id: string | null;
}

/** The worker that has the session. */
export interface SessionWorker {
  instance_id: string;
  supervisor_run: string | null;
  sip_tag: string | null;
}

/** Post-call analysis of a session. */
export interface SessionAnalysis {
  state: 'none' | 'queued' | 'running' | 'completed' | 'skipped' | 'error';
  at: Date;
  job_id: string;
  /** Workers that were lost with it since it was asked for; absent from sessions of an earlier version. */
  losses?: Losses;
  /** Results so far; names the events of a re-run. */
  runs: number;
  finished_at: Date | null;
  /** Sealed `AnalysisResult`. */
  result: StoredBytes | null;
}

/** One track of a recording, as its worker reported it. */
export interface RecordedTrack {
  role: 'agent' | 'user' | 'human';
  /** Of the worker that reported it; absent from what an earlier version stored. */
  epoch?: number;
  segments: number;
  rate_hz: number;
  started_at: string;
  duration_ms: number;
}

/** A colleague who was let into a session. */
export interface SessionParticipant {
  id: string;
  name: string | null;
  /** What they want to do when they connect. */
  mode: ParticipantMode;
  /** Hex SHA-256 of their token; null where LiveKit checks it. */
  token_hash: string | null;
  /** Name of the LiveKit room they share with the worker; null without one. */
  room: string | null;
}

/** One session. */
export interface SessionDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  /** Who pays. */
  user_id: string;
  agent_id: string;
  agent_name: string;
  /** Id of the published version; empty for a preview of the draft. */
  version_id: string;
  config_hash: string;
  name: string | null;
  channel: SystemVariables['channel'];
  source: 'api_key' | 'dashboard' | 'public' | 'phone';
  direction: 'inbound' | 'outbound';
  is_preview: boolean;
  /** False for a creation that was refused: kept only until its charge is returned. */
  is_listed: boolean;
  status: StoredStatus;
  end_reason: EndReason | null;
  dial_status: DialStatus | null;
  answered_by: 'unknown' | null;
  /** As the carrier gave it. */
  caller_number: string | null;
  dialed_number: string | null;
  sip_call_id: string | null;
  /** What an inbound call’s INVITE said beside that, sealed; absent from sessions of an earlier version. */
  sip_headers?: StoredBytes | null;
  timezone: string | null;
  end_user_id: string | null;
  /** Written by whoever asked for the session. */
  metadata: JsonText;
  created_at: Date;
  /** Join deadline. */
  expires_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  duration_seconds: number | null;
  status_at: Date;
  worker: SessionWorker | null;
  epoch: number;
  /** Sequence number of the newest report stored of this epoch. */
  last_seq: number;
  billing: SessionBilling;
  outbox: OutboxEvent[];
  /** Endpoints of its webhooks, as published when it began; secrets sealed. */
  endpoints: { url: string; secret: string | null }[];
  wrapped_key: StoredBytes | null;
  timeline: TimelineEntry[];
  turns: TurnLatency[];
  /** Absent from sessions of an earlier version. */
  silences?: TurnSilence[];
  usage: ModelUsage[];
  /** Each time another worker took the call over; absent from sessions of an earlier version. */
  takeovers?: Takeover[];
  /** Epochs whose worker died in it, or nobody knows in what. */
  died_epochs?: number[];
  /** Epochs whose worker died while it stood still in another session. */
  died_beside_epochs?: number[];
  /** Of a phone call that is over; absent from sessions of an earlier version. */
  media_quality?: MediaQuality | null;
  record_audio: boolean;
  tracks: RecordedTrack[];
  /** The answered SIP dialog, sealed. */
  dialog: StoredBytes | null;
  /** The person of a transfer and their dialog, sealed; absent from sessions of an earlier version. */
  person?: StoredBytes | null;
  analysis: SessionAnalysis;
  /** Hex SHA-256 of the web client's token. */
  token_hash: string | null;
  /** Name of its LiveKit room; null without one. */
  room: string | null;
  /** Absent from sessions of an earlier version. */
  participants?: SessionParticipant[];
}

/** The caller was without an agent between the two. */
export interface Takeover {
  /** When its worker was last known to have the call. */
  lost_at: Date;
  taken_over_at: Date;
}

/**
 * Something of a session too large for its document: its plan, a report with large tool outputs. Its id is
 * deterministic, so that writing it again changes nothing.
 */
export interface SessionAttachment {
  _id: string;
  session_id: string;
  sealed: StoredBytes;
}

/** Reads stored bytes. */
export function toBuffer(bytes: StoredBytes): Buffer {
  return bytes instanceof Uint8Array
    ? Buffer.from(bytes)
    : Buffer.from(bytes.buffer.subarray(0, bytes.position));
}

const text = { type: String, required: true };
const optionalText = { type: String, default: null };
const optionalDate = { type: Date, default: null };
const list = { type: [Schema.Types.Mixed], default: [] } as never;

const FIELDS = {
  _id: text,
  team_id: text,
  workspace_id: text,
  user_id: text,
  agent_id: text,
  agent_name: { type: String, default: '' },
  version_id: { type: String, default: '' },
  config_hash: { type: String, default: '' },
  name: optionalText,
  channel: text,
  source: text,
  direction: text,
  is_preview: { type: Boolean, default: false },
  is_listed: { type: Boolean, default: true },
  status: text,
  end_reason: optionalText,
  dial_status: optionalText,
  answered_by: optionalText,
  caller_number: optionalText,
  dialed_number: optionalText,
  sip_call_id: optionalText,
  sip_headers: { type: Schema.Types.Mixed, default: null },
  timezone: optionalText,
  end_user_id: optionalText,
  metadata: { type: Schema.Types.Mixed, default: '{}' },
  created_at: { type: Date, required: true },
  expires_at: { type: Date, required: true },
  started_at: optionalDate,
  ended_at: optionalDate,
  duration_seconds: { type: Number, default: null },
  status_at: { type: Date, required: true },
  worker: { type: Schema.Types.Mixed, default: null },
  epoch: { type: Number, default: 0 },
  last_seq: { type: Number, default: 0 },
  billing: { type: Schema.Types.Mixed, required: true },
  outbox: list,
  endpoints: list,
  wrapped_key: { type: Schema.Types.Mixed, default: null },
  timeline: list,
  turns: list,
  silences: list,
  usage: list,
  takeovers: list,
  died_epochs: { type: [Number], default: undefined } as never,
  died_beside_epochs: { type: [Number], default: undefined } as never,
  media_quality: { type: Schema.Types.Mixed, default: null },
  record_audio: { type: Boolean, default: false },
  tracks: list,
  dialog: { type: Schema.Types.Mixed, default: null },
  person: { type: Schema.Types.Mixed, default: null },
  analysis: { type: Schema.Types.Mixed, required: true },
  token_hash: optionalText,
  room: optionalText,
  participants: list,
};

/** Defines the model on a connection. */
export function defineSessions(connection: Connection): Model<SessionDocument> {
  const schema = new Schema<SessionDocument>(FIELDS, {
    collection: 'sessions',
    versionKey: false,
    minimize: false,
  });
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, agent_id: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, status: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, direction: 1, created_at: -1, _id: -1 });
  schema.index(
    { team_id: 1, end_reason: 1, created_at: -1, _id: -1 },
    { partialFilterExpression: { end_reason: { $type: 'string' } } },
  );
  schema.index(
    { team_id: 1, caller_number: 1, created_at: -1, _id: -1 },
    { partialFilterExpression: { caller_number: { $type: 'string' } } },
  );
  schema.index({ team_id: 1, end_user_id: 1 });
  schema.index({ team_id: 1, ended_at: 1 });
  schema.index({ user_id: 1, status: 1 });
  schema.index({ agent_id: 1, status: 1 });
  schema.index({ sip_call_id: 1 });
  schema.index({ status: 1, expires_at: 1 });
  schema.index({ 'worker.instance_id': 1, status: 1 });
  schema.index({ 'billing.state': 1, 'billing.at': 1 });
  schema.index({ 'outbox.at': 1 }, { sparse: true });
  schema.index({ 'analysis.state': 1, 'analysis.at': 1 });
  return connection.model<SessionDocument>('Session', schema);
}

/** Defines the model on a connection. */
export function defineSessionAttachments(connection: Connection): Model<SessionAttachment> {
  const schema = new Schema<SessionAttachment>(
    { _id: text, session_id: text, sealed: { type: Schema.Types.Mixed, required: true } },
    { collection: 'session_attachments', versionKey: false },
  );
  schema.index({ session_id: 1 });
  return connection.model<SessionAttachment>('SessionAttachment', schema);
}
