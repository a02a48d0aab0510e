/** Requests about text sessions. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { sessionFields } from '../../calls/sessions/session-request.ts';

const { overrides, dynamic_variables, end_user_id, metadata, timezone, client_timezone, world_context } =
  sessionFields;

/** Body of `POST /v1/agent/text-sessions`. */
export const textSessionBody = z.strictObject({
  agent_id: z.string().max(64),
  overrides,
  dynamic_variables,
  end_user_id,
  metadata,
  timezone,
  client_timezone,
  world_context,
  continue_session_id: z.string().max(64).nullish(),
});
export type TextSessionRequest = z.output<typeof textSessionBody>;

/** The text of a message; absent or null: the agent opens the conversation. */
export const messageContent = z
  .string()
  .max(LIMITS.textMessageChars)
  .refine((text) => text.trim() !== '', 'must not be empty')
  .nullish();

/** Body of `POST …/messages`. */
export const messageBody = z.strictObject({ content: messageContent, stream: z.boolean().default(false) });

/** A client's key of a message. */
export const messageKey = z.string().min(1).max(255);
