/** Tools belong to a workspace and are shared by its agents. Values of credential headers are sealed. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** A stored header: `custom` values in plain text, credential values sealed. */
interface ToolHeader {
  name: string;
  kind: 'custom' | 'authorization_bearer' | 'authorization_basic';
  value: string;
}

/** A tool's definition, without its owner. */
export interface ToolDefinition {
  name: string;
  description: string;
  tool_type: 'webhook' | 'client';
  arguments: { name: string; description: string }[];
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  content_type: string;
  body_template: string;
  headers: ToolHeader[];
  timeout_seconds: number;
  error_handling: 'passthrough' | 'hide';
  mock_responses: { name: string; status_code: number; content_type: string; body: string }[];
  expects_response: boolean;
  execution_mode: 'blocking' | 'fire_and_forget' | 'background';
}

/** A tool in a workspace. */
export interface ToolDocument extends ToolDefinition {
  _id: string;
  team_id: string;
  workspace_id: string;
  rev: number;
  created_at: Date;
  updated_at: Date;
  /** Set while a deletion is in progress; see `references.ts`. */
  deleting_at?: Date;
}

/** Defines the model on a connection. */
export const defineTools = modelOf<ToolDocument>('Tool', () => {
  const mixedList = { type: [Schema.Types.Mixed], default: [] } as never;
  const schema = new Schema<ToolDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      name: { type: String, required: true },
      description: { type: String, default: '' },
      tool_type: { type: String, required: true },
      arguments: mixedList,
      method: { type: String, required: true },
      url: { type: String, default: '' },
      content_type: { type: String, required: true },
      body_template: { type: String, default: '' },
      headers: mixedList,
      timeout_seconds: { type: Number, required: true },
      error_handling: { type: String, required: true },
      mock_responses: mixedList,
      expects_response: { type: Boolean, required: true },
      execution_mode: { type: String, required: true },
      rev: { type: Number, default: 0 },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
      deleting_at: { type: Date },
    },
    { collection: 'tools', versionKey: false, minimize: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  return schema;
});
