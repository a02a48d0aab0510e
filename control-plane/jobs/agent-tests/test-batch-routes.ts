/**
 * Routes of agent test runs: start a batch, watch it, read the results of its runs, and list the tools a test
 * may use.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { serverToolId, testToolType } from '#protocol/agent-test.ts';
import { HANG_UP_CALL } from '#protocol/hang-up-call.ts';
import { findAgent, snapshotOf } from '../../catalogue/agents/agent-store.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce, PARTS_LEASE_MS } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { TestBatchDocument, TestRunDocument } from '../../platform/store/models/agent-test-model.ts';
import {
  runRecord,
  runStatus,
  runSummary,
  testBatchRecord,
  toRunRecord,
  toTestBatchRecord,
} from './run-record.ts';
import { countResults, findTestBatch, leftByTestBatch, startTestBatch } from './test-batch-store.ts';

const agentPath = z.object({ agent_id: z.string() });

const runBody = z
  .strictObject({
    test_ids: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(LIMITS.testRunsPerBatch)
      .refine((ids) => new Set(ids).size === ids.length, 'a test is listed twice')
      .optional(),
    repeat_count: z.number().int().min(1).max(20).optional(),
  })
  .optional();

const id = z.string().max(64).optional();
const runsQuery = z.strictObject({
  ...listQuery,
  agent_id: id,
  test_id: id,
  batch_id: id,
  status: runStatus.optional(),
});

const testTools = z.object({
  tools: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      type: testToolType,
      description: z.string(),
    }),
  ),
});

/** Registers the routes of batches and runs. */
export function registerTestRunRoutes(app: ApiServer, context: Context): void {
  registerBatches(app, context);

  app.get(
    '/v1/agent/agents/:agent_id/test-tools',
    { schema: { tags: ['tests'], params: agentPath, response: { 200: testTools } } },
    async (request) => ({
      tools: await toolsOf(
        context,
        await findAgent(context, callerOf(request).teamId, request.params.agent_id),
      ),
    }),
  );

  app.get(
    '/v1/agent/test-runs',
    {
      schema: { tags: ['tests'], querystring: runsQuery, response: { 200: listOf('test_runs', runSummary) } },
    },
    async (request) => {
      const {
        cursor: _cursor,
        page: _page,
        page_size: _size,
        include_total: _total,
        ...wanted
      } = request.query;
      const filter = {
        team_id: callerOf(request).teamId,
        ...Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)),
      };
      const { rows, ...page } = await findPage(context.models.testRuns, { filter, query: request.query });
      return { test_runs: rows.map(toRunRecord), ...page };
    },
  );

  app.get(
    '/v1/agent/test-runs/:run_id',
    { schema: { tags: ['tests'], params: z.object({ run_id: z.string() }), response: { 200: runRecord } } },
    async (request) => {
      const owned = { _id: request.params.run_id, team_id: callerOf(request).teamId };
      const run = await context.models.testRuns.findOne(owned).lean<TestRunDocument>();
      if (!run) throw fault('not_found');
      return toRunRecord(run);
    },
  );
}

function registerBatches(app: ApiServer, context: Context): void {
  const record = async (batch: TestBatchDocument) =>
    toTestBatchRecord(batch, await countResults(context, batch));

  app.post(
    '/v1/agent/agents/:agent_id/tests/run',
    {
      config: { access: 'beta', bodyOptional: true },
      schema: {
        tags: ['tests'],
        headers: keyedHeaders,
        params: agentPath,
        body: runBody,
        response: { 201: testBatchRecord },
      },
    },
    async (request, reply) => {
      const { agent_id: agentId } = request.params;
      const batch = await makeOnce(context, request, {
        make: (id) => startTestBatch(context, callerOf(request), { agentId, id }, request.body ?? {}),
        find: (id) => findTestBatch(context, agentId, id),
        // Parts of a batch are stored before it, under ids of their own.
        leftBy: (id) => leftByTestBatch(context, id),
        leaseMs: PARTS_LEASE_MS,
      });
      return reply.code(201).send(await record(batch));
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/test-batches',
    {
      schema: {
        tags: ['tests'],
        params: agentPath,
        querystring: z.strictObject(listQuery),
        response: { 200: listOf('test_batches', testBatchRecord) },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const { rows, ...page } = await findPage(context.models.testBatches, {
        filter: { agent_id: agent._id },
        query: request.query,
      });
      return { test_batches: await Promise.all(rows.map(record)), ...page };
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/test-batches/:batch_id',
    {
      schema: {
        tags: ['tests'],
        params: agentPath.extend({ batch_id: z.string() }),
        response: { 200: testBatchRecord },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const batch = await findTestBatch(context, agent._id, request.params.batch_id);
      return record(batch);
    },
  );
}

/** The draft's tools, those of its servers, and hanging up if the agent may. */
async function toolsOf(context: Context, agent: AgentDocument): Promise<z.output<typeof testTools>['tools']> {
  const { enabled, system_tools } = agent.config.tools;
  if (!enabled) return [];
  const { tools, toolServers } = await snapshotOf(context, agent);
  const own = tools.map(({ tool_id, name, tool_type, description }) => ({
    id: tool_id,
    name,
    type: tool_type,
    description,
  }));
  const served = toolServers.flatMap((server) =>
    server.tools.map(({ name, description }) => ({
      id: serverToolId(server.tool_server_id, name),
      name,
      type: 'mcp' as const,
      description: description.slice(0, LIMITS.toolDescriptionChars),
    })),
  );
  const attached = [...own, ...served];
  if (!system_tools.hang_up_call) return attached;
  return [
    ...attached,
    { id: HANG_UP_CALL, name: HANG_UP_CALL, type: 'integration' as const, description: 'Ends the call.' },
  ];
}
