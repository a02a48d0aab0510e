/**
 * Sessions: a call's record, its charges and its unsent events in one document, so that one update decides
 * all three. Timeline, payloads and analysis results are sealed with the session's own data key; removing
 * `wrapped_key` erases the session.
 */
import { Schema } from 'mongoose';
import type { CallChannel } from '#protocol/call-plan.ts';
import type { ParticipantMode } from '#protocol/session-events.ts';
import type {
  DialStatus,
  EndReason,
  MediaQuality,
  ModelUsage,
  SessionLine,
  SpeechOverlap,
  TurnLatency,
  TurnSilence,
} from '#protocol/session-record.ts';
import type { WebhookEvent } from '#protocol/webhook-events.ts';
import type { JsonText } from '../json-text.ts';
import { modelOf } from '../schema.ts';
import type { Losses } from '../worker-losses.ts';
import { SESSION_INDEXES } from './session-indexes.ts';
import type { SessionShare } from './session-share.ts';

/**
 * Bytes as returned by the driver: a Buffer, or the driver's wrapper in lean results. Read them with
 * `toBuffer`.
 */
export type StoredBytes = Uint8Array | { readonly buffer: Uint8Array; readonly position: number };

/** `creating`: the intent is stored but nothing has been charged; never shown to users. */
export type StoredStatus = 'creating' | 'pending' | 'active' | 'unknown' | 'completed' | 'failed';

/**
 * Charges of the session, in micro-dollars. `hold_due` → `held` → `settle_due` → `settled`; `free` is never
 * charged.
 */
export interface SessionBilling {
  state: 'free' | 'hold_due' | 'held' | 'settle_due' | 'settled';
  at: Date;
  price_per_minute: number;
  hold: number;
  /** Refund at the end; negative if the call cost more than was held. */
  due: number;
}

/** An event waiting to be handed over to the deliveries. */
export interface OutboxEvent {
  /** `<session>:<event>`, plus the run number for an analysis. */
  id: string;
  event: WebhookEvent['event'];
  /** Position in the order of the session's events. */
  rank: number;
  at: Date;
  /** Sealed JSON, fixed when the event happened. */
  payload: StoredBytes;
}

/** The end of a session's chain. */
export interface ChainHead {
  readonly links: number;
  /** Of the last link; null without one. */
  readonly digest: string | null;
}

/** A worker's timeline report: sealed items, or the id of the attachment that holds large ones. */
export interface TimelineEntry {
  sealed: StoredBytes | null;
  document_id: string | null;
  /** Of the report; absent from entries of an earlier version. */
  epoch?: number;
  seq?: number;
}

/** The worker running the session. */
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
  /** Workers lost while running it since it was requested; absent from sessions of an earlier version. */
  losses?: Losses;
  /** Number of results so far; part of the event id of a re-run. */
  runs: number;
  finished_at: Date | null;
  /** Sealed `AnalysisResult`. */
  result: StoredBytes | null;
}

/** One track of a recording, as reported by its worker. */
export interface RecordedTrack {
  role: 'agent' | 'user' | 'human';
  /** Epoch of the worker that reported it; absent from records of an earlier version. */
  epoch?: number;
  segments: number;
  rate_hz: number;
  started_at: string;
  duration_ms: number;
}

/** A colleague admitted to a session. */
export interface SessionParticipant {
  id: string;
  name: string | null;
  /** Requested mode on connecting. */
  mode: ParticipantMode;
  /** Hex SHA-256 of the colleague's token; null if LiveKit checks it. */
  token_hash: string | null;
  /** LiveKit room shared with the worker; null if none. */
  room: string | null;
}

/** One session. */
export interface SessionDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  /** The account that pays. */
  user_id: string;
  agent_id: string;
  agent_name: string;
  /** Id of the published version; empty when previewing the draft. */
  version_id: string;
  config_hash: string;
  name: string | null;
  channel: CallChannel;
  source: 'api_key' | 'dashboard' | 'public' | 'phone';
  direction: 'inbound' | 'outbound';
  is_preview: boolean;
  /** False for a refused creation, which is kept only until its charge is refunded. */
  is_listed: boolean;
  status: StoredStatus;
  end_reason: EndReason | null;
  dial_status: DialStatus | null;
  /** Why an outbound call was not answered, for people; absent if the status says all. */
  dial_error?: string;
  answered_by: 'unknown' | null;
  /** Id of the text session that the agent knew when the caller came; absent without one. */
  continued_from?: string;
  /** As supplied by the carrier. */
  caller_number: string | null;
  dialed_number: string | null;
  sip_call_id: string | null;
  /** Other headers of an inbound INVITE, sealed; absent from sessions of an earlier version. */
  sip_headers?: StoredBytes | null;
  timezone: string | null;
  end_user_id: string | null;
  /** Supplied by the client that created the session. */
  metadata: JsonText;
  created_at: Date;
  /** Deadline for joining. */
  expires_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  duration_seconds: number | null;
  status_at: Date;
  worker: SessionWorker | null;
  epoch: number;
  /** Of the call, set once a worker has its analysis. */
  call_worker?: { readonly instance_id: string; readonly epoch: number };
  /** Sequence number of the newest stored report of this epoch. */
  last_seq: number;
  billing: SessionBilling;
  outbox: OutboxEvent[];
  /** Webhook endpoints as published when the session began; secrets are sealed. */
  endpoints: { url: string; secret: string | null }[];
  wrapped_key: StoredBytes | null;
  timeline: TimelineEntry[];
  turns: TurnLatency[];
  /** Absent from sessions of an earlier version. */
  silences?: TurnSilence[];
  /** Absent from calls in which caller and agent took turns. */
  overlaps?: SpeechOverlap[];
  /** Automated lines; absent from calls without any. */
  lines?: SessionLine[];
  usage: ModelUsage[];
  /** What was signed while the call ran, link by link, packed; absent without any. */
  chain?: StoredBytes[];
  /** Absent from sessions of an earlier version, and once it is erased: then there is no chain. */
  chain_head?: ChainHead | null;
  /** Takeovers of the call by another worker; absent from sessions of an earlier version. */
  takeovers?: Failover[];
  /** Epochs whose worker died in this session, or in an unknown one. */
  died_epochs?: number[];
  /** Epochs whose worker was killed because it hung in another session. */
  died_beside_epochs?: number[];
  /** Set when a phone call has ended; absent from sessions of an earlier version. */
  media_quality?: MediaQuality | null;
  record_audio: boolean;
  tracks: RecordedTrack[];
  /** The answered SIP dialog, sealed. */
  dialog: StoredBytes | null;
  /** The transfer target and its dialog, sealed; absent from sessions of an earlier version. */
  person?: StoredBytes | null;
  analysis: SessionAnalysis;
  /** Hex SHA-256 of the web client's token. */
  token_hash: string | null;
  /** Name of the session's LiveKit room; null if none. */
  room: string | null;
  /** Absent from sessions of an earlier version. */
  participants?: SessionParticipant[];
  /** Open work, as bits (`session-due.ts`); absent from sessions of an earlier version. */
  due?: number;
  /** The call has ended, or a turn has come since, and the sums of the statistics lack it. */
  uncounted?: boolean;
  /** Number of turns in the sums of the statistics; absent until the call is in them. */
  counted_turns?: number;
  /** Which version it has, and why; absent unless the agent had a share of calls. */
  share?: SessionShare;
}

/** Projection without the lists that grow with the call, for reads that do not need them. */
export const WITHOUT_LISTS = {
  timeline: 0,
  turns: 0,
  silences: 0,
  overlaps: 0,
  lines: 0,
  usage: 0,
  chain: 0,
} as const;

/** A session without its growing lists. */
export type SessionHead = Omit<SessionDocument, keyof typeof WITHOUT_LISTS>;

/** A failover; the caller had no agent between the two times. */
export interface Failover {
  /** When the previous worker was last known to have the call. */
  lost_at: Date;
  taken_over_at: Date;
  /**
   * Until when the caller was certainly served before. Counts while the successor has reported nothing.
   * Absent from takeovers of an earlier version.
   */
  served_until?: Date;
}

/**
 * Session data too large for the session document, such as the plan or a report with large tool outputs. The
 * id is deterministic, so writing it again changes nothing.
 */
export interface SessionAttachment {
  _id: string;
  session_id: string;
  sealed: StoredBytes;
}

/** Converts stored bytes to a Buffer. */
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
  dial_error: String,
  continued_from: String,
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
  call_worker: { type: Schema.Types.Mixed, default: undefined },
  last_seq: { type: Number, default: 0 },
  billing: { type: Schema.Types.Mixed, required: true },
  outbox: list,
  endpoints: list,
  wrapped_key: { type: Schema.Types.Mixed, default: null },
  timeline: list,
  turns: list,
  silences: list,
  overlaps: { type: [Schema.Types.Mixed], default: undefined } as never,
  lines: { type: [Schema.Types.Mixed], default: undefined } as never,
  usage: list,
  chain: { type: [Schema.Types.Mixed], default: undefined } as never,
  chain_head: { type: Schema.Types.Mixed, default: undefined },
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
  // Of a number, mongoose would remove the operands of `$bit`.
  due: { type: Schema.Types.Mixed, default: undefined },
  uncounted: Boolean,
  counted_turns: Number,
  share: { type: Schema.Types.Mixed, default: undefined },
};

/** Defines the model on a connection. */
export const defineSessions = modelOf<SessionDocument>('Session', () => {
  const schema = new Schema<SessionDocument>(FIELDS, {
    collection: 'sessions',
    versionKey: false,
    minimize: false,
  });
  for (const { key, only } of SESSION_INDEXES)
    schema.index({ ...key }, only ? { partialFilterExpression: only } : {});
  return schema;
});

/** Defines the model on a connection. */
export const defineSessionAttachments = modelOf<SessionAttachment>('SessionAttachment', () => {
  const schema = new Schema<SessionAttachment>(
    { _id: text, session_id: text, sealed: { type: Schema.Types.Mixed, required: true } },
    { collection: 'session_attachments', versionKey: false },
  );
  schema.index({ session_id: 1 });
  return schema;
});
