/**
 * Tools in the store: created, changed by compare-and-set on `rev`, deleted when no draft refers to them.
 * Credential values are encrypted before storage.
 */

import { isOtherHost } from '#config/credential-host.ts';
import { fault } from '#config/errors.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import { type Context, now } from '../../platform/context.ts';
import { reseal, type SecretBox } from '../../platform/secrets/secret-box.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { ToolDefinition, ToolDocument } from '../../platform/store/models/tool-model.ts';
import { deleteReferred } from '../agents/references.ts';
import type { ToolInput, ToolPatch } from './tool-record.ts';
import { checkTool } from './tool-rules.ts';

const CHANGE_ATTEMPTS = 10;

/** Finds a tool of a team. Throws `not_found`. */
export async function findTool(context: Context, teamId: string, toolId: string): Promise<ToolDocument> {
  const tool = await context.models.tools.findOne({ _id: toolId, team_id: teamId }).lean<ToolDocument>();
  if (!tool) throw fault('not_found');
  return tool;
}

/** Creates a tool with this id. Throws `InvalidRequest`, `quota_reached`. */
export async function createTool(
  context: Context,
  owner: { teamId: string; workspaceId: string },
  input: ToolInput,
  id: string,
): Promise<ToolDocument> {
  checkTool(context.egress, input);
  const at = now(context);
  const tool: ToolDocument = {
    _id: id,
    team_id: owner.teamId,
    workspace_id: owner.workspaceId,
    ...input,
    headers: sealHeaders(context.secretBox, input.headers, []),
    rev: 0,
    created_at: at,
    updated_at: at,
  };
  await withinQuota(context, { kind: 'tools', owner: owner.teamId, id: tool._id }, () =>
    context.models.tools.create(tool),
  );
  return tool;
}

/**
 * Changes a tool. Rules across fields apply to the complete result, and credentials are cleared when the new
 * URL has another host. Throws `not_found`, `InvalidRequest`, `duplicate_client_tool`.
 */
export async function patchTool(
  context: Context,
  teamId: string,
  toolId: string,
  patch: ToolPatch,
): Promise<ToolDocument> {
  const given = Object.fromEntries(
    Object.entries(patch).filter(([, value]) => value !== undefined),
  ) as Partial<ToolDefinition>;
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS; attempt++) {
    const tool = await findTool(context, teamId, toolId);
    const open = tool.headers.map((header) =>
      header.kind === 'custom' ? header : { ...header, value: 'kept' },
    );
    checkTool(context.egress, { ...tool, headers: open, ...given });
    if (tool.tool_type === 'client' && given.name !== undefined)
      await refuseDuplicateName(context, tool, given.name);
    const saved = await context.models.tools
      .findOneAndUpdate(
        { _id: toolId, rev: tool.rev },
        {
          $set: {
            ...given,
            ...(given.headers
              ? { headers: sealHeaders(context.secretBox, given.headers, tool.headers) }
              : {}),
            ...(!given.headers && isOtherHost(tool.url, given.url ?? tool.url)
              ? { headers: tool.headers.map(forgotten) }
              : {}),
            updated_at: now(context),
          },
          $inc: { rev: 1 },
        },
        { returnDocument: 'after' },
      )
      .lean<ToolDocument>();
    if (saved) return saved;
  }
  throw fault('database_unavailable');
}

/** Deletes a tool. Throws `not_found`, or `tool_attached` while a draft refers to it. */
export async function deleteTool(context: Context, teamId: string, toolId: string): Promise<void> {
  await findTool(context, teamId, toolId);
  await removeFromQuota(context, { kind: 'tools', owner: teamId, id: toolId }, () =>
    deleteReferred(context, { kind: 'tools', teamId, id: toolId }, async () => {
      const agents = await dependentsOf(context, teamId, toolId);
      if (agents.length > 0) throw fault('tool_attached', { count: agents.length });
    }),
  );
}

/** Agents whose draft uses a tool. */
export async function dependentsOf(
  context: Context,
  teamId: string,
  toolId: string,
): Promise<{ agent_id: string; name: string }[]> {
  const agents = await context.models.agents
    .find({ team_id: teamId, 'config.tools.tool_ids': toolId }, { name: 1 })
    .sort({ created_at: -1, _id: -1 })
    .lean();
  return agents.map((agent) => ({ agent_id: agent._id, name: agent.name }));
}

/** Number of drafts that use each tool. */
export async function countUses(
  context: Context,
  teamId: string,
  toolIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const agents =
    toolIds.length === 0
      ? []
      : await context.models.agents
          .find(
            { team_id: teamId, 'config.tools.tool_ids': { $in: toolIds } },
            { 'config.tools.tool_ids': 1 },
          )
          .lean<Pick<AgentDocument, 'config'>[]>();
  const counts = new Map<string, number>();
  for (const id of agents.flatMap((agent) => agent.config.tools.tool_ids))
    counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/** Client tool names must be unique on each agent. */
async function refuseDuplicateName(context: Context, tool: ToolDocument, name: string): Promise<void> {
  const agents = await context.models.agents
    .find({ team_id: tool.team_id, 'config.tools.tool_ids': tool._id }, { 'config.tools.tool_ids': 1 })
    .lean<Pick<AgentDocument, 'config'>[]>();
  const others = [...new Set(agents.flatMap((agent) => agent.config.tools.tool_ids))].filter(
    (id) => id !== tool._id,
  );
  if (await context.models.tools.exists({ _id: { $in: others }, tool_type: 'client', name }))
    throw fault('duplicate_client_tool', { name });
}

/** A credential header with its value cleared; not sent until a new value is given. */
export function forgotten(header: ToolDefinition['headers'][number]): ToolDefinition['headers'][number] {
  return header.kind === 'custom' ? header : { ...header, value: '' };
}

/** Seals credential headers; one that is equal to the stored one keeps its sealed form. */
export function sealHeaders(
  box: SecretBox,
  headers: ToolDefinition['headers'],
  stored: ToolDefinition['headers'],
): ToolDefinition['headers'] {
  const sealed = new Map(
    stored.filter(({ kind }) => kind !== 'custom').map(({ name, value }) => [name, value]),
  );
  return headers.map((header) =>
    header.kind === 'custom'
      ? header
      : { ...header, value: reseal(box, sealed.get(header.name) || null, header.value) },
  );
}
