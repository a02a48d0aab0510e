/** Creates an unpublished agent: the platform's defaults with the creator's patch applied. */
import { defaultAgentConfig, type PlatformDefaults } from '#config/agent-config.ts';
import type { AgentConfigPatch } from '#config/agent-config-patch.ts';
import type { PlatformModels } from '#config/platform-models.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { InvalidRequest } from '../../platform/http/problems.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import { patchedDraft } from './agent-store.ts';
import { NO_SECRETS } from './config-secrets.ts';
import { detachDeleted } from './references.ts';

/** Owner and initial fields of a new agent. */
export interface NewAgent {
  readonly owner: { readonly userId: string; readonly teamId: string; readonly workspaceId: string };
  readonly name: string;
  readonly description: string;
  readonly config: AgentConfigPatch;
  /** Set by callers that must be able to find the agent again. */
  readonly id?: string;
}

/** Creates an agent. Throws `quota_reached`, and `InvalidRequest` when the patch is invalid. */
export async function createAgent(context: Context, request: NewAgent): Promise<AgentDocument> {
  const { owner } = request;
  const start = {
    team_id: owner.teamId,
    config: defaultAgentConfig(platformDefaults(context.platform)),
    secrets: NO_SECRETS,
  };
  const draft = await patchedDraft(context, start, request.config).catch((error: unknown) => {
    throw error instanceof InvalidRequest ? asFieldConfig(error) : error;
  });
  const at = now(context);
  const agent: AgentDocument = {
    _id: request.id ?? newId(),
    team_id: owner.teamId,
    workspace_id: owner.workspaceId,
    user_id: owner.userId,
    name: request.name,
    description: request.description,
    status: 'active',
    public_enabled: false,
    allowed_origins: [],
    overrides_allowed: [],
    ...draft,
    config_updated_at: at,
    published: 0,
    published_hash: '',
    published_knowledge_source_ids: [],
    rev: 0,
    created_at: at,
    updated_at: at,
  };
  const counted = { kind: 'agents', owner: owner.teamId, id: agent._id } as const;
  await withinQuota(context, counted, () => context.models.agents.create(agent));
  if (!(await detachDeleted(context, agent, null))) return agent;
  // On the next attempt, the tool or source being deleted is refused with its name.
  await removeFromQuota(context, counted, () => context.models.agents.deleteOne({ _id: agent._id }));
  return createAgent(context, request);
}

/** In a creation the patch is in the field `config`, so its problems are reported there. */
function asFieldConfig({ entries }: InvalidRequest): InvalidRequest {
  return new InvalidRequest(
    entries.map((entry) => ({ ...entry, loc: ['body', 'config', ...entry.loc.slice(1)] })),
  );
}

/** Default models and voice of a new agent. */
export function platformDefaults(platform: PlatformModels): PlatformDefaults {
  const defaultOf = (list: PlatformModels['llm']) => list.find((offered) => offered.default)?.id ?? '';
  return {
    llmModel: defaultOf(platform.llm),
    asrModel: defaultOf(platform.asr),
    voiceId: defaultOf(platform.voices),
  };
}
