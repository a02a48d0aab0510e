/** MCP servers whose tools agents may use. Values of credential headers and OAuth secrets are sealed. */
import { Schema } from 'mongoose';
import type { RefusedTool, ServerTool } from '#protocol/server-tools.ts';
import { modelOf } from '../schema.ts';

/** A server's definition, without its owner and its tools. */
export interface ToolServerDefinition {
  name: string;
  url: string;
  headers: { name: string; kind: 'custom' | 'authorization_bearer' | 'authorization_basic'; value: string }[];
  /** Client credentials (RFC 6749 §4.4); null without. */
  oauth: { issuer: string; client_id: string; client_secret: string; scope: string } | null;
  /** Null: every tool. */
  allowed_tools: string[] | null;
  background_tools: string[];
  timeout_seconds: number;
}

/** A tool server in a workspace. */
export interface ToolServerDocument extends ToolServerDefinition {
  _id: string;
  team_id: string;
  workspace_id: string;
  /** The tools as last read from the server. */
  tools: ServerTool[];
  refused_tools: RefusedTool[];
  /** Null before the first reading. */
  listed_at: Date | null;
  rev: number;
  created_at: Date;
  updated_at: Date;
  /** Set while a deletion is in progress; see `references.ts`. */
  deleting_at?: Date;
}

/** A server as frozen in a version, with the tools that were permitted then. */
export type PinnedToolServer = Omit<ToolServerDefinition, 'allowed_tools'> & {
  tool_server_id: string;
  tools: ServerTool[];
};

/** Defines the model on a connection. */
export const defineToolServers = modelOf<ToolServerDocument>('ToolServer', () => {
  const mixedList = { type: [Schema.Types.Mixed], default: [] } as never;
  const schema = new Schema<ToolServerDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      name: { type: String, required: true },
      url: { type: String, required: true },
      headers: mixedList,
      oauth: { type: Schema.Types.Mixed, default: null },
      allowed_tools: { type: Schema.Types.Mixed, default: null } as never,
      background_tools: mixedList,
      timeout_seconds: { type: Number, required: true },
      tools: mixedList,
      refused_tools: mixedList,
      listed_at: { type: Date, default: null },
      rev: { type: Number, default: 0 },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
      deleting_at: { type: Date },
    },
    { collection: 'tool_servers', versionKey: false, minimize: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  return schema;
});
