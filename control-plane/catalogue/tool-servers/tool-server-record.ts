/** A tool server: request fields and API representation. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import type { ServerTool, ToolChanges } from '#protocol/server-tools.ts';
import type { ToolServerDocument } from '../../platform/store/models/tool-server-model.ts';
import { toolCreate, toolRecord } from '../tools/tool-record.ts';

const toolNames = z
  .array(z.string().min(1).max(128))
  .max(LIMITS.listedServerTools)
  .refine((names) => new Set(names).size === names.length, 'names must be unique');
const oauthText = z.string().min(1).max(1_000);

/** All fields a caller may set, without defaults. */
const fields = {
  name: z
    .string()
    .min(1)
    .max(LIMITS.toolNameChars)
    .describe('Name of the server. Its first 20 characters are put before the names of its tools.'),
  url: z
    .string()
    .min(1)
    .max(LIMITS.urlChars)
    .describe('Address of the server (MCP over streamable HTTP): https, not private, without placeholders'),
  headers: toolCreate.shape.headers.unwrap(),
  oauth: z
    .strictObject({
      issuer: z.url().max(LIMITS.urlChars).describe('The only authorisation server that gets the secret'),
      client_id: oauthText.describe('Id of the client at the issuer'),
      client_secret: oauthText.describe('Secret of the client; write-only'),
      scope: z.string().max(1_000).default('').describe('Scopes to ask for, separated by spaces'),
    })
    .nullable()
    .describe('Client credentials (RFC 6749, section 4.4); null without OAuth'),
  allowed_tools: toolNames.nullable().describe('Tools that agents may use; null: every tool'),
  background_tools: toolNames.describe('Tools whose result comes later in the conversation'),
  timeout_seconds: z
    .number()
    .int()
    .min(1)
    .max(LIMITS.toolTimeoutSeconds)
    .describe('Seconds to wait for an answer or the next progress; together at most 300'),
};

/** Body of a creation. */
export const toolServerCreate = z.strictObject({
  name: fields.name,
  url: fields.url,
  headers: fields.headers.default([]),
  oauth: fields.oauth.default(null),
  allowed_tools: fields.allowed_tools.default(null),
  background_tools: fields.background_tools.default([]),
  timeout_seconds: fields.timeout_seconds.default(30),
});
export type ToolServerInput = z.output<typeof toolServerCreate>;

/** Body of an update. */
export const toolServerPatch = z.strictObject(fields).partial();
export type ToolServerPatch = z.output<typeof toolServerPatch>;

/** One tool as returned. */
export const serverToolRecord = z.object({
  name: z.string().describe('Name of the tool at its server'),
  description: z.string().describe('What the server says about the tool'),
  input_schema: z.record(z.string(), z.unknown()).describe('JSON schema of the arguments'),
  hash: z.string().describe('`sha256:<hex>` of the name, the description and the schema'),
});

/** How one list of tools differs from another. */
export const toolChangesRecord = z.object({
  added: z.array(serverToolRecord).describe('Tools that are new'),
  removed: z.array(serverToolRecord).describe('Tools that are gone'),
  changed: z
    .array(
      z.object({
        before: serverToolRecord.describe('The tool as it was'),
        after: serverToolRecord.describe('The tool as it is now'),
      }),
    )
    .describe('Tools with another description or schema'),
});

/** A row of the list of servers. */
export const toolServerSummary = z.object({
  tool_server_id: z.string(),
  workspace_id: z.string(),
  name: fields.name,
  url: fields.url,
  tool_count: z.number().int().describe('Number of tools as last read, permitted or not'),
  listed_at: z.iso
    .datetime()
    .nullable()
    .describe('When the tools were last read; null before the first time'),
  used_by: z.number().int().describe('Number of agents whose draft uses the server'),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** A complete server; credential values are never returned. */
export const toolServerRecord = toolServerSummary.extend({
  headers: toolRecord.shape.headers,
  oauth: z
    .object({
      issuer: z.string().describe('The only authorisation server that gets the secret'),
      client_id: z.string().describe('Id of the client at the issuer'),
      scope: z.string().describe('Scopes to ask for, separated by spaces'),
      has_secret: z.boolean().describe('Whether a secret is stored'),
    })
    .nullable()
    .describe('Client credentials; null without OAuth'),
  allowed_tools: fields.allowed_tools,
  background_tools: fields.background_tools,
  timeout_seconds: fields.timeout_seconds,
  tools: z.array(serverToolRecord).describe('Tools as last read'),
  refused_tools: z
    .array(
      z.object({
        name: z.string().describe('Name of the tool at its server'),
        reason: z.string().describe('The limit that it exceeds'),
      }),
    )
    .describe('Tools over a limit, which agents cannot use'),
});

/** A tool with its schema as an object. */
export function toServerToolRecord(tool: ServerTool): z.output<typeof serverToolRecord> {
  return { ...tool, input_schema: JSON.parse(tool.input_schema) as Record<string, unknown> };
}

/** Changes with schemas as objects. */
export function toChangesRecord({
  added,
  removed,
  changed,
}: ToolChanges): z.output<typeof toolChangesRecord> {
  return {
    added: added.map(toServerToolRecord),
    removed: removed.map(toServerToolRecord),
    changed: changed.map(({ before, after }) => ({
      before: toServerToolRecord(before),
      after: toServerToolRecord(after),
    })),
  };
}

/** Converts a stored object to a list row. */
export function toToolServerSummary(
  server: ToolServerDocument,
  usedBy: number,
): z.output<typeof toolServerSummary> {
  return {
    tool_server_id: server._id,
    workspace_id: server.workspace_id,
    name: server.name,
    url: server.url,
    tool_count: server.tools.length,
    listed_at: server.listed_at?.toISOString() ?? null,
    used_by: usedBy,
    created_at: server.created_at.toISOString(),
    updated_at: server.updated_at.toISOString(),
  };
}

/** Converts a server to its full record. */
export function toToolServerRecord(
  server: ToolServerDocument,
  usedBy: number,
): z.output<typeof toolServerRecord> {
  const { oauth, allowed_tools, background_tools, timeout_seconds, refused_tools } = server;
  return {
    ...toToolServerSummary(server, usedBy),
    headers: server.headers.map(({ name, kind, value }) => ({
      name,
      kind,
      value: kind === 'custom' ? value : null,
      has_secret: kind !== 'custom' && value !== '',
    })),
    oauth: oauth && {
      issuer: oauth.issuer,
      client_id: oauth.client_id,
      scope: oauth.scope,
      has_secret: oauth.client_secret !== '',
    },
    allowed_tools,
    background_tools,
    timeout_seconds,
    tools: server.tools.map(toServerToolRecord),
    refused_tools,
  };
}
