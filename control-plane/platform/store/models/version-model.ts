/**
 * Published versions: a frozen configuration with everything a call needs, including its tools and sealed
 * secrets.
 */
import { Schema } from 'mongoose';
import type { AgentConfig } from '#config/agent-config.ts';
import { modelOf } from '../schema.ts';
import type { SealedAgentSecrets } from './agent-model.ts';
import type { ToolDefinition } from './tool-model.ts';
import type { PinnedToolServer } from './tool-server-model.ts';

export type { PinnedToolServer };

/** A knowledge source as frozen in a version. */
export interface PinnedKnowledge {
  knowledge_source_id: string;
  revision_number: number;
  /** The pinned revision of the content. */
  revision_id: string;
  /** Name shown to the model. */
  name: string;
  size_bytes: number;
}

/** An immutable version. */
export interface VersionDocument {
  _id: string;
  agent_id: string;
  team_id: string;
  version_number: number;
  version_title: string | null;
  version_description: string | null;
  config: AgentConfig;
  config_hash: string;
  /** When the draft was last changed before it was frozen. */
  config_updated_at: Date;
  secrets: SealedAgentSecrets;
  /** Frozen copies of the attached tools, in the order of `config.tools.tool_ids`. */
  tools: (ToolDefinition & { tool_id: string })[];
  /**
   * All attached knowledge sources at their newest revision when published, in the order of
   * `config.knowledge_base.knowledge_source_ids`.
   */
  knowledge: PinnedKnowledge[];
  /** Attached tool servers with their permitted tools when published; absent without any. */
  tool_servers?: PinnedToolServer[];
  /** Made for a share of calls, never the published version; otherwise absent. */
  for_share?: true;
  published_at: Date;
}

/** Defines the model on a connection. */
export const defineVersions = modelOf<VersionDocument>('Version', () => {
  const schema = new Schema<VersionDocument>(
    {
      _id: { type: String, required: true },
      agent_id: { type: String, required: true },
      team_id: { type: String, required: true },
      version_number: { type: Number, required: true },
      version_title: { type: String, default: null },
      version_description: { type: String, default: null },
      config: { type: Schema.Types.Mixed, required: true },
      config_hash: { type: String, required: true },
      config_updated_at: { type: Date, required: true },
      secrets: { type: Schema.Types.Mixed, required: true },
      tools: { type: [Schema.Types.Mixed], default: [] } as never,
      knowledge: { type: [Schema.Types.Mixed], default: [] } as never,
      tool_servers: { type: [Schema.Types.Mixed], default: undefined } as never,
      for_share: Boolean,
      published_at: { type: Date, required: true },
    },
    { collection: 'versions', versionKey: false, minimize: false },
  );
  schema.index({ agent_id: 1, version_number: -1 }, { unique: true });
  schema.index({ 'knowledge.revision_id': 1 });
  return schema;
});
