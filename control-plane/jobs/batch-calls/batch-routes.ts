/** Routes of batch calls: create, watch, pause, resume, cancel, delete (docs/batch-calls.md). */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce, PARTS_LEASE_MS } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { BatchCallDocument } from '../../platform/store/models/batch-call-model.ts';
import { acceptForms } from './batch-form.ts';
import {
  batchCreate,
  batchRecord,
  batchStatus,
  rowRecord,
  rowState,
  toBatchRecord,
  toRowRecords,
} from './batch-record.ts';
import { changeBatch, countsOf, createBatch, deleteBatch, findBatch, leftByBatch } from './batch-store.ts';
import type { RecipientList } from './recipient-list.ts';

const URL = '/v1/agent/batch-calls';
const tags = ['batch calls'];
const batchPath = z.object({ batch_call_id: z.string() });
const batchesQuery = z.strictObject({
  ...listQuery,
  agent_id: z.string().max(64).optional(),
  status: batchStatus.optional(),
});
const rowsQuery = z.strictObject({ ...listQuery, state: rowState.optional() });

/** A request without a list never reaches its handler. */
const NO_RECIPIENTS: RecipientList = { rows: [], faulty: [] };

type ToRecord = (batch: BatchCallDocument) => Promise<z.output<typeof batchRecord>>;

/** Registers the routes. */
export async function registerBatchCallRoutes(app: ApiServer, context: Context): Promise<void> {
  const record = async (batch: BatchCallDocument) =>
    toBatchRecord(batch, await countsOf(context, batch), context.clock.wallTime());

  await app.register((scope, _options, done) => {
    registerCreation(scope as unknown as ApiServer, context, record);
    done();
  });
  registerReading(app, context, record);
  registerChanges(app, context, record);
}

function registerReading(app: ApiServer, context: Context, record: ToRecord): void {
  app.get(
    URL,
    {
      schema: {
        tags,
        querystring: batchesQuery,
        response: { 200: listOf('batch_calls', batchRecord) },
      },
    },
    async (request) => {
      const { agent_id, status } = request.query;
      const filter = {
        ...(agent_id === undefined ? {} : { agent_id }),
        status: status ?? { $ne: 'creating' },
      };
      const { rows, ...page } = await findPage(context.models.batchCalls, {
        filter: { team_id: callerOf(request).teamId, ...filter },
        query: request.query,
      });
      return { batch_calls: await Promise.all(rows.map(record)), ...page };
    },
  );

  app.get(
    `${URL}/:batch_call_id`,
    {
      schema: {
        tags,
        params: batchPath,
        response: { 200: batchRecord },
      },
    },
    async (request) =>
      record(await findBatch(context, callerOf(request).teamId, request.params.batch_call_id)),
  );

  app.get(
    `${URL}/:batch_call_id/rows`,
    {
      schema: {
        tags,
        params: batchPath,
        querystring: rowsQuery,
        response: { 200: listOf('rows', rowRecord) },
      },
    },
    async (request) => {
      const batch = await findBatch(context, callerOf(request).teamId, request.params.batch_call_id);
      const { state } = request.query;
      const filter = { batch_id: batch._id, ...(state === undefined ? {} : { state }) };
      const { rows, ...page } = await findPage(context.models.batchRows, { filter, query: request.query });
      return { rows: toRowRecords(rows, batch, context.clock.wallTime()), ...page };
    },
  );
}

function registerChanges(app: ApiServer, context: Context, record: ToRecord): void {
  for (const change of ['pause', 'resume', 'cancel'] as const)
    app.post(
      `${URL}/:batch_call_id/${change}`,
      { schema: { tags, params: batchPath, response: { 200: batchRecord } } },
      async (request) =>
        record(await changeBatch(context, callerOf(request).teamId, request.params.batch_call_id, change)),
    );

  app.delete(
    `${URL}/:batch_call_id`,
    {
      schema: {
        tags,
        params: batchPath,
        response: { 204: z.undefined() },
      },
    },
    async (request, reply) => {
      await deleteBatch(context, callerOf(request).teamId, request.params.batch_call_id);
      return reply.code(204).send();
    },
  );
}

/** Accepts a form as well as JSON; its file is the list. */
function registerCreation(scope: ApiServer, context: Context, record: ToRecord): void {
  acceptForms(scope, context);
  scope.post(
    URL,
    {
      config: { access: 'beta', bodyOptional: true },
      schema: {
        tags,
        consumes: ['application/json', 'multipart/form-data'],
        headers: keyedHeaders,
        body: batchCreate,
        response: { 201: batchRecord },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const list = request.recipientList ?? NO_RECIPIENTS;
      const work = {
        make: (id: string) => createBatch(context, caller, request.body, { list, id }),
        find: (id: string) => findBatch(context, caller.teamId, id),
        leftBy: (id: string) => leftByBatch(context, id),
        leaseMs: PARTS_LEASE_MS,
      };
      return reply.code(201).send(await record(await makeOnce(context, request, work, list.rows)));
    },
  );
}
