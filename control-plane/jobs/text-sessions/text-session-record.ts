/** Text sessions and their answers as the API returns them. */
import { z } from 'zod';
import { sessionItem } from '#protocol/session-record.ts';
import { textMedium, textTurnUsage } from '#protocol/text-turn.ts';
import { openJson, openText } from '../../calls/sessions/sealed-contents.ts';
import { sessionAnalysis, sessionShare, shareRecord } from '../../calls/sessions/session-record.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import type { Context } from '../../platform/context.ts';
import { fromJsonText } from '../../platform/store/json-text.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';

const timestamp = z.iso.datetime();

/** A row of the list. */
export const textSessionRecord = z.object({
  text_session_id: z.string(),
  agent_id: z.string(),
  agent_name: z.string(),
  config_hash: z.string(),
  medium: textMedium,
  status: z.enum(['active', 'ended']),
  end_reason: z.enum(['client', 'agent', 'idle', 'message_limit']).nullable(),
  continued_from: z.string().nullable(),
  end_user_id: z.string().nullable(),
  /** The person's number and that of the agent; only of a conversation by SMS. */
  caller_number: z.string().optional(),
  dialed_number: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()),
  message_count: z.number().int(),
  created_at: timestamp,
  last_message_at: timestamp,
  /** When it ends unless something is written before. */
  idle_at: timestamp,
  ended_at: timestamp.nullable(),
  share: sessionShare.optional(),
});

/** A session with everything that was written and done in it. */
export const textSessionDetail = textSessionRecord.extend({
  items: z.array(sessionItem),
  /** Of the messages so far, in dollars. */
  cost: z.string(),
  analysis: sessionAnalysis.nullable(),
});

/** The answer to one message. */
export const textAnswer = z.object({
  message_id: z.string(),
  text_session_id: z.string(),
  /** Empty if the agent has said nothing. */
  reply: z.string(),
  /** The message and everything that followed it. */
  items: z.array(sessionItem),
  session_status: z.enum(['active', 'ended']),
  usage: z.array(textTurnUsage),
});
export type TextAnswer = z.output<typeof textAnswer>;

/** Converts a session to a list row. */
export function toTextSessionRecord(session: TextSessionDocument): z.output<typeof textSessionRecord> {
  return {
    text_session_id: session._id,
    agent_id: session.agent_id,
    agent_name: session.agent_name,
    config_hash: session.config_hash,
    medium: session.medium,
    status: session.status,
    end_reason: session.end_reason,
    continued_from: session.continued_from,
    end_user_id: session.end_user_id,
    ...(session.sms ? { caller_number: session.sms.person, dialed_number: session.sms.own } : {}),
    metadata: fromJsonText(session.metadata),
    message_count: session.turns,
    created_at: session.created_at.toISOString(),
    last_message_at: session.last_at.toISOString(),
    idle_at: session.idle_at.toISOString(),
    ended_at: session.ended_at?.toISOString() ?? null,
    ...shareRecord(session.share),
  };
}

/** Converts a turn that is over. */
export function toTextAnswer(
  context: Pick<Context, 'dataKeys'>,
  session: TextSessionDocument,
  turn: TextTurnDocument,
): TextAnswer {
  const sealer = sealerOf(context, session);
  return {
    message_id: turn._id,
    text_session_id: turn.session_id,
    reply: openText(sealer, turn.reply, 'reply') ?? '',
    items: openJson(sealer, turn.items, 'items', z.array(sessionItem)) ?? [],
    session_status: turn.ends_session ? 'ended' : session.status,
    usage: turn.usage,
  };
}
