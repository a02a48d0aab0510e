/** An agent and its versions as the API returns them. */
import { z } from 'zod';
import { agentConfig } from '#config/agent-config.ts';
import { LIMITS } from '#config/limits.ts';
import type { PlatformModels } from '#config/platform-models.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { type AgentDocument, OVERRIDE_FIELDS } from '../../platform/store/models/agent-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { extension } from '../phones/extensions.ts';
import { agentWarning, warningsOf } from './agent-warnings.ts';
import { isOrigin } from './public-origin.ts';

const timestamp = z.iso.datetime();

/** Profile fields a caller may set. */
export const profileFields = {
  name: z.string().min(1).max(LIMITS.agentNameChars),
  description: z.string().max(LIMITS.agentDescriptionChars),
  status: z.enum(['active', 'archived']),
  public_enabled: z.boolean(),
  allowed_origins: z
    .array(
      z
        .string()
        .max(512)
        .refine(
          isOrigin,
          'must be an origin such as https://www.example.com; each is listed by itself, there are no ' +
            'wildcards',
        ),
    )
    .max(LIMITS.allowedOrigins),
  overrides_allowed: z.array(z.enum(OVERRIDE_FIELDS)).max(8),
};

/** Its number for the phones of its team; null takes it away. */
export const agentExtension = extension.nullable();

/** The agent record, without the configuration. */
export const agentRecord = z.object({
  agent_id: z.string(),
  workspace_id: z.string(),
  ...profileFields,
  allowed_origins: z.array(z.string()),
  /** Absent until set. */
  extension: z.string().optional(),
  publication_state: z.enum(['live', 'draft']),
  has_unpublished_changes: z.boolean(),
  created_at: timestamp,
  updated_at: timestamp,
  /** Absent without a warning. */
  warnings: z.array(agentWarning).optional(),
});

/** A configuration as returned, with its agent id, hash and time of the last change. */
export const configRecord = agentConfig.extend({
  agent_id: z.string(),
  config_hash: z.string(),
  updated_at: timestamp,
});

/** A row of the list of versions. */
export const versionSummary = z.object({
  version_number: z.number().int(),
  version_title: z.string().nullable(),
  version_description: z.string().nullable(),
  config_hash: z.string(),
  published_at: timestamp,
  for_share: z
    .literal(true)
    .optional()
    .describe('True: made for a share of calls and not published; otherwise absent'),
});

/** A version with its configuration. */
export const versionRecord = versionSummary.extend({ config: configRecord });

/** Converts an agent to its record for a reader; `draftHash` is the hash of its draft. */
export function toAgentRecord(
  agent: AgentDocument,
  draftHash: string,
  platform: Pick<PlatformModels, 'llm'>,
  reader: Pick<Caller, 'isOperator'>,
): z.output<typeof agentRecord> {
  const warnings = warningsOf(agent, platform, reader);
  return {
    agent_id: agent._id,
    workspace_id: agent.workspace_id,
    name: agent.name,
    description: agent.description,
    status: agent.status,
    public_enabled: agent.public_enabled,
    allowed_origins: agent.allowed_origins,
    overrides_allowed: agent.overrides_allowed,
    ...(agent.extension === undefined ? {} : { extension: agent.extension }),
    publication_state: agent.published > 0 ? 'live' : 'draft',
    has_unpublished_changes: agent.published_hash !== draftHash,
    created_at: agent.created_at.toISOString(),
    updated_at: agent.updated_at.toISOString(),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** Converts a draft's configuration to its record. */
export function toConfigRecord(agent: AgentDocument, draftHash: string): z.output<typeof configRecord> {
  return {
    agent_id: agent._id,
    config_hash: draftHash,
    updated_at: agent.config_updated_at.toISOString(),
    ...agent.config,
  };
}

/** Converts a version to a list row. */
export function toVersionSummary(version: VersionDocument): z.output<typeof versionSummary> {
  return {
    version_number: version.version_number,
    version_title: version.version_title,
    version_description: version.version_description,
    config_hash: version.config_hash,
    published_at: version.published_at.toISOString(),
    ...(version.for_share ? { for_share: true as const } : {}),
  };
}

/** Converts a version to its full record. */
export function toVersionRecord(version: VersionDocument): z.output<typeof versionRecord> {
  const { agent_id, config_hash, config, config_updated_at } = version;
  return {
    ...toVersionSummary(version),
    config: { agent_id, config_hash, updated_at: config_updated_at.toISOString(), ...config },
  };
}
