/**
 * Agents: profile and draft configuration in one document, guarded by `rev`; `published` is the number of the
 * live version.
 */
import { Schema } from 'mongoose';
import type { AgentConfig } from '#config/agent-config.ts';
import { modelOf } from '../schema.ts';
import type { SpendLimits } from './user-model.ts';

/**
 * Sealed secrets of a configuration, stored separately so that the configuration itself never contains one.
 */
export interface SealedAgentSecrets {
  /** Signing keys by endpoint URL, one list per kind of endpoint. */
  post_call: { url: string; sealed: string }[];
  conversation_init: { url: string; sealed: string }[];
  llm_api_key: string | null;
  /** Absent without keys for `custom_speech`. */
  custom_speech?: { asr?: string; tts?: string };
}

/** Fields that an agent can permit sessions to override. */
export const OVERRIDE_FIELDS = ['first_message', 'system_prompt', 'voice_id', 'language'] as const;
export type OverrideField = (typeof OVERRIDE_FIELDS)[number];

/** An agent with its draft. */
export interface AgentDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  /** The creator, who pays for its public and phone sessions. */
  user_id: string;
  name: string;
  description: string;
  status: 'active' | 'archived';
  public_enabled: boolean;
  allowed_origins: string[];
  overrides_allowed: OverrideField[];
  /** Its number for the phones of its team; absent until set. */
  extension?: string;
  /** Absent until set. */
  limits?: Partial<SpendLimits>;
  config: AgentConfig;
  secrets: SealedAgentSecrets;
  /** When the configuration was last changed. */
  config_updated_at: Date;
  /** Highest published version number; 0 before the first publication. */
  published: number;
  /** Hash of that version's configuration; empty before the first publication. */
  published_hash: string;
  /** Knowledge sources used by that version. */
  published_knowledge_source_ids: string[];
  /** Incremented with every change of the draft. */
  rev: number;
  created_at: Date;
  updated_at: Date;
}

/** Defines the model on a connection. */
export const defineAgents = modelOf<AgentDocument>('Agent', () => {
  const schema = new Schema<AgentDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      user_id: { type: String, required: true },
      name: { type: String, required: true },
      description: { type: String, default: '' },
      status: { type: String, required: true },
      public_enabled: { type: Boolean, default: false },
      allowed_origins: { type: [String], default: [] },
      overrides_allowed: { type: [String], default: [] },
      extension: { type: String },
      limits: { type: Schema.Types.Mixed },
      config: { type: Schema.Types.Mixed, required: true },
      secrets: { type: Schema.Types.Mixed, required: true },
      config_updated_at: { type: Date, required: true },
      published: { type: Number, default: 0 },
      published_hash: { type: String, default: '' },
      published_knowledge_source_ids: { type: [String], default: [] },
      rev: { type: Number, default: 0 },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
    },
    // Empty objects in a configuration are values and must not be dropped.
    { collection: 'agents', versionKey: false, minimize: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  schema.index(
    { team_id: 1, extension: 1 },
    { unique: true, partialFilterExpression: { extension: { $gt: '' } } },
  );
  schema.index({ 'config.tools.tool_ids': 1 });
  schema.index({ 'config.knowledge_base.knowledge_source_ids': 1 });
  schema.index({ published_knowledge_source_ids: 1 });
  return schema;
});
