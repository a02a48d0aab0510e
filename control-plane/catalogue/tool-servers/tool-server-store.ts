/**
 * Tool servers in the store: created, changed by compare-and-set on `rev`, deleted when no draft refers to
 * them. Credential values are encrypted before storage, and kept only for the host they were given for.
 */
import { EgressRefused } from '#base/egress.ts';
import { isOtherHost } from '#config/credential-host.ts';
import { fault } from '#config/errors.ts';
import { placeholderProblem } from '#protocol/placeholders.ts';
import type { ListedTools } from '#protocol/server-tools.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import { type Context, now } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import { reseal } from '../../platform/secrets/secret-box.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type {
  ToolServerDefinition,
  ToolServerDocument,
} from '../../platform/store/models/tool-server-model.ts';
import { deleteReferred } from '../agents/references.ts';
import { forgotten, sealHeaders } from '../tools/tool-store.ts';
import type { ToolServerInput, ToolServerPatch } from './tool-server-record.ts';

const CHANGE_ATTEMPTS = 10;
const USES = 'config.tool_servers.tool_server_ids';

/** Finds a server of a team. Throws `not_found`. */
export async function findToolServer(
  context: Pick<Context, 'models'>,
  teamId: string,
  id: string,
): Promise<ToolServerDocument> {
  const server = await context.models.toolServers
    .findOne({ _id: id, team_id: teamId })
    .lean<ToolServerDocument>();
  if (!server) throw fault('not_found');
  return server;
}

/** Creates a server with this id, without reading its tools. Throws `InvalidRequest`, `quota_reached`. */
export async function createToolServer(
  context: Context,
  owner: { teamId: string; workspaceId: string },
  input: ToolServerInput,
  id: string,
): Promise<ToolServerDocument> {
  checkHeaders(input.headers);
  await checkUrls(context, input);
  const at = now(context);
  const server: ToolServerDocument = {
    _id: id,
    team_id: owner.teamId,
    workspace_id: owner.workspaceId,
    ...input,
    headers: sealHeaders(context.secretBox, input.headers, []),
    oauth: sealedOauth(context, input.oauth, null),
    tools: [],
    refused_tools: [],
    listed_at: null,
    rev: 0,
    created_at: at,
    updated_at: at,
  };
  await withinQuota(context, { kind: 'toolServers', owner: owner.teamId, id: server._id }, () =>
    context.models.toolServers.create(server),
  );
  return server;
}

/**
 * Changes a server. A new host is another server: credentials, also the secret for tokens, and the tools that
 * were read are cleared. Throws `not_found`, `InvalidRequest`.
 */
export async function patchToolServer(
  context: Context,
  teamId: string,
  id: string,
  patch: ToolServerPatch,
): Promise<ToolServerDocument> {
  const given = Object.fromEntries(
    Object.entries(patch).filter(([, value]) => value !== undefined),
  ) as Partial<ToolServerDefinition>;
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS; attempt++) {
    const server = await findToolServer(context, teamId, id);
    if (given.headers) checkHeaders(given.headers);
    await checkUrls(context, { ...server, ...given });
    const saved = await context.models.toolServers
      .findOneAndUpdate(
        { _id: id, rev: server.rev },
        { $set: { ...changesOf(context, server, given), updated_at: now(context) }, $inc: { rev: 1 } },
        { returnDocument: 'after' },
      )
      .lean<ToolServerDocument>();
    if (saved) return saved;
  }
  throw fault('database_unavailable');
}

/** The fields to set; credentials sealed, or cleared for another host. */
function changesOf(
  { secretBox }: Pick<Context, 'secretBox'>,
  server: ToolServerDocument,
  given: Partial<ToolServerDefinition>,
): Partial<ToolServerDocument> {
  const isOther = isOtherHost(server.url, given.url ?? server.url);
  const kept = isOther ? server.headers.map(forgotten) : server.headers;
  return {
    ...given,
    ...(isOther ? { tools: [], refused_tools: [], listed_at: null } : {}),
    headers: given.headers ? sealHeaders(secretBox, given.headers, isOther ? [] : server.headers) : kept,
    oauth:
      given.oauth === undefined
        ? // Its tokens would go to the new host.
          server.oauth && { ...server.oauth, ...(isOther ? { client_secret: '' } : {}) }
        : sealedOauth({ secretBox }, given.oauth, server.oauth?.client_secret || null),
  };
}

/** Stores the tools that were just read from a server as it was then. Throws `conflict` if it has changed. */
export async function storeListedTools(
  context: Context,
  server: ToolServerDocument,
  { tools, refused }: ListedTools,
): Promise<ToolServerDocument> {
  const saved = await context.models.toolServers
    .findOneAndUpdate(
      { _id: server._id, rev: server.rev },
      { $set: { tools, refused_tools: refused, listed_at: now(context) }, $inc: { rev: 1 } },
      { returnDocument: 'after' },
    )
    .lean<ToolServerDocument>();
  if (!saved) throw fault('conflict', { detail: 'The tool server was changed meanwhile; try again' });
  return saved;
}

/** Deletes a server. Throws `not_found`, or `tool_server_attached` while a draft refers to it. */
export async function deleteToolServer(context: Context, teamId: string, id: string): Promise<void> {
  await findToolServer(context, teamId, id);
  await removeFromQuota(context, { kind: 'toolServers', owner: teamId, id }, () =>
    deleteReferred(context, { kind: 'toolServers', teamId, id }, async () => {
      const count = (await countServerUses(context, teamId, [id])).get(id) ?? 0;
      if (count > 0) throw fault('tool_server_attached', { count });
    }),
  );
}

/** Number of drafts that use each server. */
export async function countServerUses(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const agents =
    ids.length === 0
      ? []
      : await models.agents
          .find({ team_id: teamId, [USES]: { $in: ids } }, { [USES]: 1 })
          .lean<Pick<AgentDocument, 'config'>[]>();
  const counts = new Map<string, number>();
  for (const id of agents.flatMap((agent) => agent.config.tool_servers?.tool_server_ids ?? []))
    counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/** Throws `InvalidRequest` with the first problem of headers as they were sent. */
function checkHeaders(headers: ToolServerDefinition['headers']): void {
  for (const [index, { kind, value }] of headers.entries()) {
    const isMissing = kind !== 'custom' && value === '';
    const problem = isMissing ? 'a credential needs its value' : placeholderProblem(value);
    if (problem !== null) throw invalidField(['headers', index, 'value'], problem);
  }
}

/** Throws `InvalidRequest` with the first problem. */
async function checkUrls(
  { egress }: Pick<Context, 'egress'>,
  { url, oauth }: Pick<ToolServerDefinition, 'url' | 'oauth'>,
): Promise<void> {
  await checkUrl(egress, url, ['url']);
  if (oauth) await checkUrl(egress, oauth.issuer, ['oauth', 'issuer']);
}

/** A URL has no placeholders, so that its host is known: credentials are kept for it. */
async function checkUrl(egress: Context['egress'], url: string, loc: string[]): Promise<void> {
  if (url.includes('{{')) throw invalidField(loc, 'must have no placeholders; headers may');
  try {
    egress.checkText(url);
  } catch (error) {
    if (error instanceof EgressRefused) throw invalidField(loc, error.message);
    throw error;
  }
  if (!url.startsWith('https:') && !(await egress.allowsPlainHttp(url)))
    throw invalidField(loc, 'must be https');
}

function sealedOauth(
  { secretBox }: Pick<Context, 'secretBox'>,
  given: ToolServerDefinition['oauth'],
  stored: string | null,
): ToolServerDefinition['oauth'] {
  return given && { ...given, client_secret: reseal(secretBox, stored, given.client_secret) };
}
