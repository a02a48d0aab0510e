/**
 * Hash that identifies a configuration: covers its canonical form, secrets, tools and knowledge revisions.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '#base/canonical-json.ts';
import type { AgentConfig } from '#config/agent-config.ts';
import type { SealedAgentSecrets } from '../../platform/store/models/agent-model.ts';
import type { ToolDefinition } from '../../platform/store/models/tool-model.ts';
import type { PinnedKnowledge, PinnedToolServer } from '../../platform/store/models/version-model.ts';

/** A tool as attached to an agent. */
export type AttachedTool = ToolDefinition & { tool_id: string };

/** Everything that determines the state of an agent. */
export interface AgentSnapshot {
  readonly config: AgentConfig;
  readonly secrets: SealedAgentSecrets;
  readonly tools: readonly AttachedTool[];
  readonly knowledge: readonly PinnedKnowledge[];
  /** Empty without any; then it is no part of the hash. */
  readonly toolServers: readonly PinnedToolServer[];
}

/** `sha256:<hex>` of a snapshot; equal hashes mean that publishing would change nothing. */
export function configHash(snapshot: AgentSnapshot): string {
  const { config, secrets, tools, knowledge, toolServers } = snapshot;
  const hashed = { config, secrets, tools, knowledge, ...(toolServers.length > 0 ? { toolServers } : {}) };
  const hash = createHash('sha256').update(canonicalJson(hashed));
  return `sha256:${hash.digest('hex')}`;
}
