/**
 * The hash that tells one configuration from another: over its canonical form, its secrets, its tools and the
 * revisions of its knowledge.
 */
import { createHash } from 'node:crypto';
import type { AgentConfig } from '#config/agent-config.ts';
import type { SealedAgentSecrets } from '../../platform/store/models/agent-model.ts';
import type { ToolDefinition } from '../../platform/store/models/tool-model.ts';
import type { PinnedKnowledge } from '../../platform/store/models/version-model.ts';

/** A tool as attached to an agent. */
export type AttachedTool = ToolDefinition & { tool_id: string };

/** Everything that makes up one state of an agent. */
export interface AgentSnapshot {
  readonly config: AgentConfig;
  readonly secrets: SealedAgentSecrets;
  readonly tools: readonly AttachedTool[];
  readonly knowledge: readonly PinnedKnowledge[];
}

/** `sha256:<hex>` of a snapshot; equal exactly when publishing again would change nothing. */
export function configHash(snapshot: AgentSnapshot): string {
  const { config, secrets, tools, knowledge } = snapshot;
  return `sha256:${createHash('sha256').update(canonicalJson({ config, secrets, tools, knowledge })).digest('hex')}`;
}

/** JSON with the keys of every object in order, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
