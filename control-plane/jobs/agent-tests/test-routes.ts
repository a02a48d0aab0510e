/** Routes of agent tests: create, list, read, change, delete, and attach to agents. */
import { z } from 'zod';
import { testType } from '#protocol/agent-test.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery, searchPattern } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import { testCreate, testPatch, testRecord, toTestRecord } from './test-record.ts';
import { attachTest, createTest, deleteTest, detachTest, findTest, patchTest } from './test-store.ts';

const testPath = z.object({ test_id: z.string() });
const attachmentPath = z.object({ agent_id: z.string(), test_id: z.string() });
const testsQuery = z.strictObject({
  ...listQuery,
  search: z.string().max(200).optional(),
  agent_id: z.string().max(64).optional(),
  test_type: testType.optional(),
});

/** Registers the routes of agent tests. */
export function registerTestRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/tests',
    {
      config: { access: 'beta' },
      schema: { tags: ['tests'], headers: keyedHeaders, body: testCreate, response: { 201: testRecord } },
    },
    async (request, reply) => {
      const owner = callerOf(request);
      const test = await makeOnce(context, request, {
        make: (id) => createTest(context, owner, request.body, id),
        find: (id) => findTest(context, owner.teamId, id),
      });
      return reply.code(201).send(toTestRecord(test));
    },
  );

  app.get(
    '/v1/agent/tests',
    { schema: { tags: ['tests'], querystring: testsQuery, response: { 200: listOf('tests', testRecord) } } },
    async (request) => {
      const { query } = request;
      const filter: Record<string, unknown> = { team_id: callerOf(request).teamId };
      if (query.search) filter['name'] = searchPattern(query.search);
      if (query.agent_id !== undefined) filter['agent_ids'] = query.agent_id;
      if (query.test_type !== undefined) filter['test_type'] = query.test_type;
      const { rows, ...page } = await findPage(context.models.agentTests, { filter, query });
      return { tests: rows.map(toTestRecord), ...page };
    },
  );

  app.get(
    '/v1/agent/tests/:test_id',
    { schema: { tags: ['tests'], params: testPath, response: { 200: testRecord } } },
    async (request) =>
      toTestRecord(await findTest(context, callerOf(request).teamId, request.params.test_id)),
  );

  app.patch(
    '/v1/agent/tests/:test_id',
    { schema: { tags: ['tests'], params: testPath, body: testPatch, response: { 200: testRecord } } },
    async (request) =>
      toTestRecord(await patchTest(context, callerOf(request).teamId, request.params.test_id, request.body)),
  );

  app.delete(
    '/v1/agent/tests/:test_id',
    { schema: { tags: ['tests'], params: testPath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await deleteTest(context, callerOf(request).teamId, request.params.test_id);
      return reply.code(204).send();
    },
  );

  app.put(
    '/v1/agent/agents/:agent_id/tests/:test_id',
    { schema: { tags: ['tests'], params: attachmentPath, response: { 200: testRecord } } },
    async (request) => {
      const { agent_id: agentId, test_id: testId } = request.params;
      return toTestRecord(await attachTest(context, callerOf(request).teamId, { agentId, testId }));
    },
  );

  app.delete(
    '/v1/agent/agents/:agent_id/tests/:test_id',
    { schema: { tags: ['tests'], params: attachmentPath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      const { agent_id: agentId, test_id: testId } = request.params;
      await detachTest(context, callerOf(request).teamId, { agentId, testId });
      return reply.code(204).send();
    },
  );
}
