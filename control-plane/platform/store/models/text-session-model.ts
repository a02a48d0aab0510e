/**
 * Text sessions and their turns (docs/text.md). A turn is one message and its answer, in a document of its
 * own: stored before anything runs, so that what a client was told is never lost. Contents are sealed with
 * the session's data key; removing `wrapped_key` erases the session.
 */
import { Schema } from 'mongoose';
import type { TextMedium, TextTurnUsage } from '#protocol/text-turn.ts';
import type { JsonText } from '../json-text.ts';
import { modelOf } from '../schema.ts';
import type { Losses } from '../worker-losses.ts';
import type { SessionAnalysis, StoredBytes } from './session-model.ts';
import type { SessionShare } from './session-share.ts';

/** Why a text session ended. */
export type TextEndReason = 'client' | 'agent' | 'idle' | 'message_limit';

/** A text session. */
export interface TextSessionDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  /** The account that pays. */
  user_id: string;
  agent_id: string;
  agent_name: string;
  /** Id of the published version. */
  version_id: string;
  config_hash: string;
  medium: TextMedium;
  status: 'active' | 'ended';
  end_reason: TextEndReason | null;
  /** Id of the session whose context it has taken over; null without one. */
  continued_from: string | null;
  end_user_id: string | null;
  /** The numbers of a conversation by SMS; null or absent without any. */
  sms?: { number_id: string; person: string; own: string } | null;
  /** Supplied by the client that created the session. */
  metadata: JsonText;
  /** Number of the newest turn. */
  turns: number;
  created_at: Date;
  /** Of the newest message or answer. */
  last_at: Date;
  /** It ends then, unless something is written before. */
  idle_at: Date;
  ended_at: Date | null;
  /** The plan and the earlier context are sealed with it, too, in attachments (`session-model.ts`). */
  wrapped_key: StoredBytes | null;
  /** Webhook endpoints that ask for its events, as published when it began; secrets are sealed. */
  endpoints: { url: string; secret: string | null; events: string[] }[];
  analysis: SessionAnalysis;
  /** The worker that has the analysis, and the number of the attempt. */
  instance_id: string | null;
  epoch: number;
  /** Which version it has, and why; absent unless the agent had a share of calls. */
  share?: SessionShare;
}

/** One message and its answer. */
export interface TextTurnDocument {
  /** Takes the place of a session's id on the worker link. */
  _id: string;
  session_id: string;
  team_id: string;
  user_id: string;
  agent_id: string;
  number: number;
  /** The client's key, or an own one: unique in the session. */
  key: string;
  /** Hex SHA-256 of the message, to notice a key that is used twice. */
  message_hash: string;
  /** `queued` → `running` → `answered` or `failed`. */
  status: 'queued' | 'running' | 'answered' | 'failed';
  status_at: Date;
  is_streamed: boolean;
  /** The worker running it; null while queued. */
  instance_id: string | null;
  /** Number of the attempt; reports of earlier attempts are ignored. */
  epoch: number;
  /** Workers lost while running it; absent if none. */
  losses?: Losses;
  created_at: Date;
  finished_at: Date | null;
  /** Sealed text; null: the agent opens the conversation. */
  message: StoredBytes | null;
  /** Sealed items, the message first; null until it is over. */
  items: StoredBytes | null;
  /** Size of `items` before they were sealed. */
  items_bytes: number;
  /** Sealed reply; of a failed turn the apology for it. */
  reply: StoredBytes | null;
  /** Why there is no answer. */
  error: string | null;
  usage: TextTurnUsage[];
  /** Price in micro-dollars. */
  price: number;
  /** `due` → `paid` → `returned` if there was no answer; `free` is never charged. */
  billing: 'free' | 'due' | 'paid' | 'returned';
  /** The turn is over, and its session and its charge do not know it yet. */
  is_unsettled: boolean;
  /** The agent has ended the conversation with it. */
  ends_session: boolean;
}

/** Statuses of a turn that is not over. */
export const OPEN_TURNS = ['queued', 'running'] as const;

const text = { type: String, required: true };
const optionalText = { type: String, default: null };
const optionalDate = { type: Date, default: null };
const bytes = { type: Schema.Types.Mixed, default: null };

/** An index of an earlier version, which the one of the same fields in the order of the list replaces. */
export const RETIRED_TEXT_SESSION_INDEXES = ['team_id_1_sms.person_1'];

/** Defines the model of sessions on a connection. */
export const defineTextSessions = modelOf<TextSessionDocument>('TextSession', () => {
  const schema = new Schema<TextSessionDocument>(
    {
      _id: text,
      team_id: text,
      workspace_id: text,
      user_id: text,
      agent_id: text,
      agent_name: { type: String, default: '' },
      version_id: text,
      config_hash: text,
      medium: text,
      status: text,
      end_reason: optionalText,
      continued_from: optionalText,
      end_user_id: optionalText,
      sms: { type: Schema.Types.Mixed },
      metadata: { type: Schema.Types.Mixed, default: '{}' },
      turns: { type: Number, default: 0 },
      created_at: { type: Date, required: true },
      last_at: { type: Date, required: true },
      idle_at: { type: Date, required: true },
      ended_at: optionalDate,
      wrapped_key: bytes,
      endpoints: { type: [Schema.Types.Mixed], default: [] } as never,
      analysis: { type: Schema.Types.Mixed, required: true },
      instance_id: optionalText,
      epoch: { type: Number, default: 0 },
      share: { type: Schema.Types.Mixed, default: undefined },
    },
    { collection: 'text_sessions', versionKey: false, minimize: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  for (const field of ['agent_id', 'status', 'end_user_id', 'continued_from', 'sms.person'])
    schema.index({ team_id: 1, [field]: 1, created_at: -1, _id: -1 });
  schema.index({ user_id: 1, status: 1 });
  schema.index({ status: 1, idle_at: 1 });
  schema.index({ team_id: 1, ended_at: 1 });
  schema.index({ 'analysis.state': 1, 'analysis.at': 1 });
  return schema;
});

/** Defines the model of turns on a connection. */
export const defineTextTurns = modelOf<TextTurnDocument>('TextTurn', () => {
  const schema = new Schema<TextTurnDocument>(
    {
      _id: text,
      session_id: text,
      team_id: text,
      user_id: text,
      agent_id: text,
      number: { type: Number, required: true },
      key: text,
      message_hash: text,
      status: text,
      status_at: { type: Date, required: true },
      is_streamed: { type: Boolean, default: false },
      instance_id: optionalText,
      epoch: { type: Number, default: 0 },
      losses: { type: Schema.Types.Mixed, default: undefined } as never,
      created_at: { type: Date, required: true },
      finished_at: optionalDate,
      message: bytes,
      items: bytes,
      items_bytes: { type: Number, default: 0 },
      reply: bytes,
      error: optionalText,
      usage: { type: [Schema.Types.Mixed], default: [] } as never,
      price: { type: Number, default: 0 },
      billing: text,
      is_unsettled: { type: Boolean, default: false },
      ends_session: { type: Boolean, default: false },
    },
    { collection: 'text_turns', versionKey: false, minimize: false },
  );
  schema.index({ session_id: 1, key: 1 }, { unique: true });
  schema.index({ session_id: 1, number: 1 });
  schema.index({ status: 1, status_at: 1 });
  schema.index({ user_id: 1, status: 1 });
  schema.index({ instance_id: 1, status: 1 });
  schema.index({ agent_id: 1, created_at: 1 });
  schema.index({ is_unsettled: 1 }, { partialFilterExpression: { is_unsettled: true } });
  return schema;
});
