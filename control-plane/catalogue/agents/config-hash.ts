/**
 * Hash that identifies a configuration: covers its canonical form, secrets, tools and knowledge revisions.
 */
import { createHash } from 'node:crypto';
import type { AgentConfig } from '#config/agent-config.ts';
import type { SealedAgentSecrets } from '../../platform/store/models/agent-model.ts';
import type { ToolDefinition } from '../../platform/store/models/tool-model.ts';
import type { PinnedKnowledge } from '../../platform/store/models/version-model.ts';

/** A tool as attached to an agent. */
export type AttachedTool = ToolDefinition & { tool_id: string };

/** Everything that determines the state of an agent. */
export interface AgentSnapshot {
  readonly config: AgentConfig;
  readonly secrets: SealedAgentSecrets;
  readonly tools: readonly AttachedTool[];
  readonly knowledge: readonly PinnedKnowledge[];
}

/** `sha256:<hex>` of a snapshot; equal hashes mean that publishing would change nothing. */
export function configHash(snapshot: AgentSnapshot): string {
  const { config, secrets, tools, knowledge } = snapshot;
  const hash = createHash('sha256').update(canonicalJson({ config, secrets, tools, knowledge }));
  return `sha256:${hash.digest('hex')}`;
}

/** JSON with sorted object keys, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
