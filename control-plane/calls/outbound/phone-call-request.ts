/**
 * Request schema of an outbound call. The numbers themselves are checked later (`check-outbound.ts`), because
 * those refusals have a reason of their own.
 */
import { z } from 'zod';
import { keysField } from '#config/keys-field.ts';
import { sessionFields } from '../sessions/session-request.ts';

const USER_TO_USER = 'user-to-user';
const USER_TO_USER_CHARS = 128;
const MAX_HEADERS = 20;

const sipHeaders = z
  .record(
    z.string().regex(/^(X-[A-Za-z0-9-]{1,126}|User-to-User)$/i),
    z
      .string()
      .min(1)
      .max(1_024)
      .regex(/^[\x20-\x7e]+$/),
  )
  .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `at most ${MAX_HEADERS} headers`)
  .refine(
    (headers) => new Set(lowerNames(headers)).size === Object.keys(headers).length,
    'names must be unique',
  )
  .refine(
    (headers) => !lowerNames(headers).some((name) => name.startsWith('x-service-')),
    'names must not start with X-Service-',
  )
  .refine(
    (headers) =>
      Object.entries(headers).every(
        ([name, value]) => name.toLowerCase() !== USER_TO_USER || value.length <= USER_TO_USER_CHARS,
      ),
    `User-to-User has at most ${USER_TO_USER_CHARS} characters`,
  );

/** Body of `POST /v1/agent/phone-calls`. */
export const phoneCallBody = z.strictObject({
  agent_id: z.string().max(64),
  phone_number_id: z.string().max(64),
  to_number: z.string().max(64),
  dynamic_variables: sessionFields.dynamic_variables,
  overrides: sessionFields.overrides,
  metadata: sessionFields.metadata,
  llm_extra_body: sessionFields.llm_extra_body,
  sip_headers: sipHeaders.nullish(),
  /** Pressed after the answer. */
  extension: keysField.nullish(),
});

/** A parsed call request. */
export type PhoneCallRequest = z.output<typeof phoneCallBody>;

function lowerNames(headers: Readonly<Record<string, string>>): string[] {
  return Object.keys(headers).map((name) => name.toLowerCase());
}
