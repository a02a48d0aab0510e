/** A tool: request fields and API representation. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import type { ToolDocument } from '../../platform/store/models/tool-model.ts';

const headerValue = z
  .string()
  .max(4_000)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a header value must not have (RFC 9110 §5.5)
  .regex(/^[^\x00-\x08\x0a-\x1f\x7f]*$/, 'must have no control characters');

const mockResponse = z.strictObject({
  name: z.string().max(120).default(''),
  status_code: z.number().int().min(100).max(599).default(200),
  content_type: z.string().max(128).default('application/json'),
  body: z.string().max(LIMITS.bodyTemplateChars).default(''),
});

const toolArgument = z.strictObject({
  name: z.string().min(1).max(LIMITS.argumentNameChars),
  description: z.string().max(LIMITS.argumentDescriptionChars).default(''),
});

const headerKind = z.enum(['custom', 'authorization_bearer', 'authorization_basic']);

/** All fields a caller may set, without defaults. */
const fields = {
  name: z.string().min(1).max(LIMITS.toolNameChars),
  description: z.string().max(LIMITS.toolDescriptionChars),
  arguments: z
    .array(toolArgument)
    .max(100)
    .refine(
      (list) => new Set(list.map((argument) => argument.name)).size === list.length,
      'names must be unique',
    ),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: z.string().max(LIMITS.urlChars),
  content_type: z.string().max(128),
  body_template: z.string().max(LIMITS.bodyTemplateChars),
  headers: z
    .array(
      z.strictObject({
        name: z
          .string()
          .max(128)
          .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/),
        value: headerValue.default(''),
        kind: headerKind.default('custom'),
      }),
    )
    .max(100),
  timeout_seconds: z.number().int().min(1).max(LIMITS.backgroundToolTimeoutSeconds),
  error_handling: z.enum(['passthrough', 'hide']),
  mock_responses: z.array(mockResponse).max(100),
  expects_response: z.boolean(),
  execution_mode: z.enum(['blocking', 'fire_and_forget', 'background']),
};

const toolType = z.enum(['webhook', 'client']);

/** Body of a creation. */
export const toolCreate = z.strictObject({
  name: fields.name,
  description: fields.description.default(''),
  tool_type: toolType.default('webhook'),
  arguments: fields.arguments.default([]),
  method: fields.method.default('POST'),
  url: fields.url.default(''),
  content_type: fields.content_type.default('application/json'),
  body_template: fields.body_template.default(''),
  headers: fields.headers.default([]),
  timeout_seconds: fields.timeout_seconds.default(30),
  error_handling: fields.error_handling.default('passthrough'),
  mock_responses: fields.mock_responses.default([]),
  expects_response: fields.expects_response.default(true),
  execution_mode: fields.execution_mode.default('blocking'),
});
export type ToolInput = z.output<typeof toolCreate>;

/** Body of an update; `tool_type` cannot be changed. */
export const toolPatch = z.strictObject({ ...fields, url: fields.url.min(1) }).partial();
export type ToolPatch = z.output<typeof toolPatch>;

/** A row of the list of tools. */
export const toolSummary = z.object({
  tool_id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  description: z.string(),
  tool_type: toolType,
  method: fields.method,
  url: z.string(),
  used_by: z.number().int(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** A complete tool; credential values are never returned. */
export const toolRecord = toolSummary.extend({
  content_type: z.string(),
  timeout_seconds: z.number(),
  error_handling: fields.error_handling,
  arguments: z.array(z.object({ name: z.string(), description: z.string() })),
  body_template: z.string(),
  headers: z.array(
    z.object({ name: z.string(), kind: headerKind, value: z.string().nullable(), has_secret: z.boolean() }),
  ),
  mock_responses: z.array(
    z.object({ name: z.string(), status_code: z.number(), content_type: z.string(), body: z.string() }),
  ),
  expects_response: z.boolean(),
  execution_mode: fields.execution_mode,
});

/** Converts a stored object to a list row. */
export function toToolSummary(tool: ToolDocument, usedBy: number): z.output<typeof toolSummary> {
  return {
    tool_id: tool._id,
    workspace_id: tool.workspace_id,
    name: tool.name,
    description: tool.description,
    tool_type: tool.tool_type,
    method: tool.method,
    url: tool.url,
    used_by: usedBy,
    created_at: tool.created_at.toISOString(),
    updated_at: tool.updated_at.toISOString(),
  };
}

/** Converts a tool to its full record. */
export function toToolRecord(tool: ToolDocument, usedBy: number): z.output<typeof toolRecord> {
  const {
    content_type,
    timeout_seconds,
    error_handling,
    body_template,
    mock_responses,
    expects_response,
    execution_mode,
  } = tool;
  return {
    ...toToolSummary(tool, usedBy),
    content_type,
    timeout_seconds,
    error_handling,
    arguments: tool.arguments,
    body_template,
    headers: tool.headers.map(({ name, kind, value }) => ({
      name,
      kind,
      value: kind === 'custom' ? value : null,
      has_secret: kind !== 'custom' && value !== '',
    })),
    mock_responses,
    expects_response,
    execution_mode,
  };
}
