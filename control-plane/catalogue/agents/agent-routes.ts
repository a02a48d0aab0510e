/** Agents: create, list, read, update and delete profiles. */
import { z } from 'zod';
import { agentConfigPatch } from '#config/agent-config-patch.ts';
import { fault } from '#config/errors.ts';
import { removeFromQuota } from '../../accounts/limits/quotas.ts';
import { type Context, now } from '../../platform/context.ts';
import { type Caller, callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery, queryFlag, searchPattern } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import { forgetRegret } from '../../platform/store/forget-regret.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import { scorecardIdsOf } from '../../platform/store/models/scorecard-model.ts';
import { checkExtension, explainTaken } from '../phones/extensions.ts';
import { agentExtension, agentRecord, profileFields, toAgentRecord } from './agent-record.ts';
import { draftHashes, findAgent } from './agent-store.ts';
import { createAgent } from './create-agent.ts';

const agentPath = z.object({ agent_id: z.string() });

const createBody = z.strictObject({
  name: profileFields.name,
  description: profileFields.description.default(''),
  config: agentConfigPatch.optional(),
});

const profilePatch = z.strictObject({ ...profileFields, extension: agentExtension }).partial();

const agentsQuery = z.strictObject({
  ...listQuery,
  search: z.string().max(200).optional(),
  include_archived: queryFlag,
  publication_state: z.enum(['all', 'live', 'draft']).default('all'),
});

/** Registers the agent profile routes. */
export function registerAgentRoutes(app: ApiServer, context: Context): void {
  const record = async (agent: AgentDocument, reader: Caller) =>
    toAgentRecord(agent, (await draftHashes(context, [agent]))[0] ?? '', context.platform, reader);

  app.post(
    '/v1/agent/agents',
    {
      config: { access: 'beta' },
      schema: {
        tags: ['agents'],
        headers: keyedHeaders,
        body: createBody,
        response: { 201: agentRecord },
      },
    },
    async (request, reply) => {
      const { name, description, config = {} } = request.body;
      const owner = callerOf(request);
      const agent = await makeOnce(context, request, {
        make: (id) => createAgent(context, { owner, name, description, config, id }),
        find: (id) => findAgent(context, owner.teamId, id),
      });
      return reply.code(201).send(await record(agent, owner));
    },
  );

  app.get(
    '/v1/agent/agents',
    {
      schema: {
        tags: ['agents'],
        querystring: agentsQuery,
        response: { 200: listOf('agents', agentRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const { rows, ...page } = await findPage(context.models.agents, {
        filter: agentsFilter(callerOf(request).teamId, query),
        query,
      });
      const hashes = await draftHashes(context, rows);
      const agents = rows.map((agent, index) =>
        toAgentRecord(agent, hashes[index] ?? '', context.platform, callerOf(request)),
      );
      return { agents, ...page };
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id',
    { schema: { tags: ['agents'], params: agentPath, response: { 200: agentRecord } } },
    async (request) => {
      const caller = callerOf(request);
      return record(await findAgent(context, caller.teamId, request.params.agent_id), caller);
    },
  );

  app.patch(
    '/v1/agent/agents/:agent_id',
    { schema: { tags: ['agents'], params: agentPath, body: profilePatch, response: { 200: agentRecord } } },
    async (request) => {
      const agent = await patchProfile(context, callerOf(request).teamId, request);
      return record(agent, callerOf(request));
    },
  );

  app.delete(
    '/v1/agent/agents/:agent_id',
    { schema: { tags: ['agents'], params: agentPath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await deleteAgent(context, callerOf(request).teamId, request.params.agent_id);
      return reply.code(204).send();
    },
  );
}

/** Throws `not_found`, `InvalidRequest` if the extension is taken. */
async function patchProfile(
  context: Context,
  teamId: string,
  { params: { agent_id: id }, body }: { params: { agent_id: string }; body: z.output<typeof profilePatch> },
): Promise<AgentDocument> {
  const { extension, ...profile } = body;
  if (typeof extension === 'string') await checkExtension(context, teamId, { extension, id });
  const agent = await context.models.agents
    .findOneAndUpdate(
      { _id: id, team_id: teamId },
      {
        $set: { ...profile, ...(extension ? { extension } : {}), updated_at: now(context) },
        ...(extension === null ? { $unset: { extension: 1 } } : {}),
      },
      { returnDocument: 'after' },
    )
    .lean<AgentDocument>()
    .catch(explainTaken('agent'));
  if (!agent) throw fault('not_found');
  return agent;
}

function agentsFilter(teamId: string, query: z.output<typeof agentsQuery>): Record<string, unknown> {
  const filter: Record<string, unknown> = { team_id: teamId };
  if (!query.include_archived) filter['status'] = 'active';
  if (query.publication_state !== 'all')
    filter['published'] = query.publication_state === 'live' ? { $gt: 0 } : 0;
  if (query.search)
    filter['$or'] = [{ name: searchPattern(query.search) }, { description: searchPattern(query.search) }];
  return filter;
}

/** The agent is deleted last, so that an interrupted deletion can be repeated. Sessions are kept. */
async function deleteAgent(context: Context, teamId: string, agentId: string): Promise<void> {
  await findAgent(context, teamId, agentId);
  await context.models.numbers.updateMany(
    { agent_id: agentId },
    { $set: { agent_id: null, updated_at: now(context) } },
  );
  await context.models.numbers.updateMany(
    { team_id: teamId, 'sms.agent_id': agentId },
    { $unset: { sms: 1 }, $set: { updated_at: now(context) } },
  );
  await context.models.agentTests.updateMany(
    { team_id: teamId, agent_ids: agentId },
    { $pull: { agent_ids: agentId }, $inc: { rev: 1 } },
  );
  await deleteRehearsals(context, agentId);
  await context.models.learnings.deleteOne({ _id: agentId });
  await forgetRegret(context, agentId);
  await context.models.shares.deleteOne({ _id: agentId });
  await context.models.versions.deleteMany({ agent_id: agentId });
  await removeScorecard(context, agentId);
  await removeFromQuota(context, { kind: 'agents', owner: teamId, id: agentId }, () =>
    context.models.agents.deleteOne({ _id: agentId, team_id: teamId }),
  );
  // What began meanwhile; what comes later finds no agent, and removes itself.
  await deleteRehearsals(context, agentId);
  await forgetRegret(context, agentId);
}

async function deleteRehearsals({ models }: Pick<Context, 'models'>, agentId: string): Promise<void> {
  await models.rehearsals.deleteMany({ agent_id: agentId });
  await models.judgedTurns.deleteMany({ agent_id: agentId });
}

/** The sums, the calls behind them and the alerts: they are read by the agent only. */
async function removeScorecard({ models }: Context, agentId: string): Promise<void> {
  await models.scoreWatches.deleteOne({ _id: agentId });
  await models.scoredCalls.deleteMany({ agent_id: agentId });
  await models.scorecards.deleteMany({ _id: scorecardIdsOf(agentId) });
}
