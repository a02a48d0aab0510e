/**
 * One turn of a text session (docs/text.md): what a worker needs to answer a message, what it reports while
 * the agent writes, and the result.
 */
import { z } from 'zod';
import { callPlan } from './call-plan.ts';
import { sessionItem } from './session-record.ts';

/** Where the conversation is written. */
export const textMedium = z.enum(['chat', 'sms']);
export type TextMedium = z.output<typeof textMedium>;

/** A turn to be answered. */
export const textTurnJob = z.object({
  /** Takes the place of the session's id on the worker link. */
  turn_id: z.string(),
  /** The plan of the text session; it has no transport that is used. */
  plan: callPlan,
  medium: textMedium,
  /** Position among the session's turns, from 1. */
  number: z.number().int(),
  /** The items before it, oldest first. */
  items: z.array(sessionItem),
  /** Null: the agent opens the conversation. */
  message: z.string().nullable(),
  /** Somebody reads the answer while it is written. */
  is_streamed: z.boolean(),
});
export type TextTurnJob = z.output<typeof textTurnJob>;

/** Tokens of one request to a language model; null if it does not report them. */
export const textTurnUsage = z.object({
  model: z.string(),
  input_tokens: z.number().nullable(),
  cached_input_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
});
export type TextTurnUsage = z.output<typeof textTurnUsage>;

/** The result of a turn. */
export const textTurnResult = z.object({
  /** Empty if the agent has said nothing. After a failure an apology, to be sent by SMS, or empty. */
  reply: z.string(),
  /** The items of the turn, without the message it answers. */
  items: z.array(sessionItem),
  /** The agent has ended the conversation. */
  has_ended: z.boolean(),
  /** Why there is no answer; null if there is one. */
  error: z.string().nullable(),
  usage: z.array(textTurnUsage),
});
export type TextTurnResult = z.output<typeof textTurnResult>;

/** A live event of a turn. It may be lost; the result has everything. */
export const textTurnEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_delta'), text: z.string() }),
  z.object({
    type: z.literal('text_tool'),
    tool_name: z.string(),
    status: z.enum(['started', 'completed', 'failed']),
  }),
]);
export type TextTurnEvent = z.output<typeof textTurnEvent>;
