/**
 * Request for a session: one schema for keys, public pages and previews, plus the checks a schema cannot
 * express.
 */
import { z } from 'zod';
import { variables } from '#config/agent-config.ts';
import { SPEAKING_LANGUAGES } from '#config/languages.ts';
import { LIMITS } from '#config/limits.ts';
import { systemPromptProblem } from '#config/prompt-tokens.ts';
import { isTimezone } from '#config/timezones.ts';
import { freeJson } from '#protocol/free-json.ts';
import { placeholderProblem } from '#protocol/placeholders.ts';
import { invalidField } from '../../platform/http/problems.ts';

/** Text in which all `{{system.*}}` placeholders are known. */
export function template(maxChars: number) {
  return z
    .string()
    .max(maxChars)
    .superRefine((text, check) => {
      const problem = placeholderProblem(text);
      if (problem) check.addIssue({ code: 'custom', message: problem });
    });
}

function jsonObject(maxBytes: number) {
  return z.record(z.string(), z.unknown()).superRefine(freeJson(maxBytes));
}

/** Dynamic variables of a request. */
const requestVariables = variables
  .refine(
    (value) => Object.keys(value).length <= LIMITS.variableEntries,
    `at most ${LIMITS.variableEntries} entries`,
  )
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= LIMITS.variableBytes,
    'at most 1 MiB in total',
  );

const overrides = z
  .strictObject({
    first_message: template(10_000).optional(),
    first_message_prompt: template(10_000).optional(),
    system_prompt: template(LIMITS.systemPromptChars).optional(),
    voice_id: z.string().max(256).optional(),
    language: z.enum(SPEAKING_LANGUAGES).optional(),
  })
  .refine(
    (value) => value.first_message === undefined || value.first_message_prompt === undefined,
    'first_message and first_message_prompt exclude each other',
  );

/** Fields common to all session requests, by name. */
export const sessionFields = {
  name: z.string().max(LIMITS.sessionNameChars).nullish(),
  overrides: overrides.nullish(),
  dynamic_variables: requestVariables.nullish(),
  end_user_id: z.string().max(LIMITS.endUserIdChars).nullish(),
  metadata: jsonObject(LIMITS.metadataBytes).nullish(),
  llm_extra_body: jsonObject(LIMITS.llmExtraBodyBytes).nullish(),
  tool_events: z.boolean().default(true),
  record_audio: z.boolean().nullish(),
  timezone: z
    .string()
    .max(64)
    .refine((zone) => isTimezone(zone), 'must be an IANA time zone')
    .nullish(),
  client_timezone: z.string().max(64).nullish(),
  world_context: z.boolean().default(true),
};

/** Body of `POST /v1/agent/sessions`. */
export const sessionBody = z.strictObject({ agent_id: z.string().max(64), ...sessionFields });

/** Body of a preview, without the agent, which is in the path. */
export const previewBody = z.strictObject(sessionFields).optional();

/** A parsed request for a session, without its agent. */
export type SessionRequest = Omit<z.output<typeof sessionBody>, 'agent_id'>;

/** Throws `InvalidRequest` when an overridden system prompt has too many tokens. */
export async function checkPromptLength(request: Pick<SessionRequest, 'overrides'>): Promise<void> {
  const problem = await systemPromptProblem(request.overrides?.system_prompt ?? '');
  if (problem) throw invalidField(['overrides', 'system_prompt'], problem);
}

/** Defaults for a preview without a body. */
export const PLAIN_REQUEST: SessionRequest = { tool_events: true, world_context: true };
