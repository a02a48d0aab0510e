/** Knowledge sources: upload, list, read, update, delete, and list the agents that use one. */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { dependentsList, listOf, listQuery, searchPattern } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import {
  knowledgeCreate,
  knowledgePatch,
  knowledgeRecord,
  knowledgeSummary,
  toKnowledgeSummary,
} from './knowledge-record.ts';
import {
  createSource,
  deleteSource,
  dependentsOf,
  findSource,
  type KnowledgeWithContent,
  patchSource,
  withContent,
} from './knowledge-store.ts';
import { acceptFormsOnly } from './upload-form.ts';

const URL = '/v1/agent/knowledge-sources';
const sourcePath = z.object({ source_id: z.string() });
const sourcesQuery = z.strictObject({ ...listQuery, search: z.string().max(200).optional() });

/** Registers the knowledge source routes. */
export async function registerKnowledgeRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((plain, _options, done) => {
    registerUploads(plain as unknown as ApiServer, context);
    done();
  });

  app.get(
    URL,
    {
      schema: {
        tags: ['knowledge'],
        querystring: sourcesQuery,
        response: { 200: listOf('knowledge_sources', knowledgeSummary) },
      },
    },
    async (request) => {
      const { query } = request;
      const filter: Record<string, unknown> = { team_id: callerOf(request).teamId };
      if (query.search)
        filter['$or'] = [{ name: searchPattern(query.search) }, { file_name: searchPattern(query.search) }];
      const { rows, ...page } = await findPage(context.models.knowledge, { filter, query });
      return { knowledge_sources: rows.map(toKnowledgeSummary), ...page };
    },
  );

  app.get(
    `${URL}/:source_id`,
    { schema: { tags: ['knowledge'], params: sourcePath, response: { 200: knowledgeRecord } } },
    async (request) =>
      record(
        await withContent(
          context,
          await findSource(context, callerOf(request).teamId, request.params.source_id),
        ),
      ),
  );

  app.delete(
    `${URL}/:source_id`,
    { schema: { tags: ['knowledge'], params: sourcePath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await deleteSource(context, callerOf(request).teamId, request.params.source_id);
      return reply.code(204).send();
    },
  );

  app.get(
    `${URL}/:source_id/agents`,
    { schema: { tags: ['knowledge'], params: sourcePath, response: { 200: dependentsList } } },
    async (request) => {
      const source = await findSource(context, callerOf(request).teamId, request.params.source_id);
      const agents = await dependentsOf(context, source._id);
      return { agents, total: agents.length };
    },
  );
}

/**
 * Routes that accept a form, in their own scope because it accepts no other body. `bodyOptional` because the
 * scope checks the body itself.
 */
function registerUploads(scope: ApiServer, context: Context): void {
  acceptFormsOnly(scope);
  const form = { tags: ['knowledge'], consumes: ['multipart/form-data'] };

  scope.post(
    URL,
    {
      config: { access: 'beta', bodyOptional: true },
      schema: {
        ...form,
        headers: keyedHeaders,
        body: knowledgeCreate,
        response: { 201: knowledgeRecord },
      },
    },
    async (request, reply) => {
      const owner = callerOf(request);
      const source = await makeOnce(context, request, {
        make: (id) => createSource(context, owner, request.body, id),
        find: async (id) => withContent(context, await findSource(context, owner.teamId, id)),
      });
      return reply.code(201).send(record(source));
    },
  );

  scope.patch(
    `${URL}/:source_id`,
    {
      config: { bodyOptional: true },
      schema: { ...form, params: sourcePath, body: knowledgePatch, response: { 200: knowledgeRecord } },
    },
    async (request) =>
      record(await patchSource(context, callerOf(request), request.params.source_id, request.body)),
  );
}

function record({ source, content }: KnowledgeWithContent): z.output<typeof knowledgeRecord> {
  return { ...toKnowledgeSummary(source), content };
}
