/**
 * Hash that identifies a configuration: covers its canonical form, secrets, tools and knowledge revisions.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '#base/canonical-json.ts';
import type { AgentConfig } from '#config/agent-config.ts';
import type { SealedAgentSecrets } from '../../platform/store/models/agent-model.ts';
import type { ToolDefinition } from '../../platform/store/models/tool-model.ts';
import type {
  PinnedKnowledge,
  PinnedToolServer,
  VersionDocument,
} from '../../platform/store/models/version-model.ts';

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

/** The parts of a snapshot that the hash reads: a server's tool is known by its own hash. */
export type HashedSnapshot = Omit<AgentSnapshot, 'toolServers'> & {
  readonly toolServers: readonly HashedToolServer[];
};
/** A tool server without the descriptions and schemas of its tools. */
export type HashedToolServer = Omit<PinnedToolServer, 'tools'> & {
  readonly tools: readonly Pick<PinnedToolServer['tools'][number], 'name' | 'hash'>[];
};

/** `sha256:<hex>` of a snapshot; equal hashes mean that publishing would change nothing. */
export function configHash(snapshot: HashedSnapshot): string {
  const { config, secrets, tools, knowledge } = snapshot;
  const toolServers = snapshot.toolServers.map((server) => ({
    ...server,
    tools: server.tools.map(({ name, hash }) => ({ name, hash })),
  }));
  const hashed = { config, secrets, tools, knowledge, ...(toolServers.length > 0 ? { toolServers } : {}) };
  const hash = createHash('sha256').update(canonicalJson(hashed));
  return `sha256:${hash.digest('hex')}`;
}

/** The hash of a version with this configuration in place of its own. */
export function configHashWith(
  config: AgentConfig,
  version: Pick<VersionDocument, 'secrets' | 'tools' | 'knowledge' | 'tool_servers'>,
): string {
  const { secrets, tools, knowledge, tool_servers: toolServers = [] } = version;
  return configHash({ config, secrets, tools, knowledge, toolServers });
}
