/** Routes of batch calls: create, watch, pause, resume, cancel, delete (docs/batch-calls.md). */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
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
import {
  type BatchChange,
  changeBatch,
  countsOf,
  createBatch,
  deleteBatch,
  findBatch,
} from './batch-store.ts';
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
        summary: 'Lists batches, newest first',
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
        summary: 'Returns a batch and the number of its rows in each state',
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
        summary: 'Lists the rows of a batch, in the order of the uploaded list',
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
  const change = (change: BatchChange, summary: string) =>
    app.post(
      `${URL}/:batch_call_id/${change}`,
      { schema: { tags, summary, params: batchPath, response: { 200: batchRecord } } },
      async (request) =>
        record(await changeBatch(context, callerOf(request).teamId, request.params.batch_call_id, change)),
    );
  change('pause', 'Pauses a batch; calls in progress continue');
  change('resume', 'Resumes a paused batch');
  change('cancel', 'Cancels a batch; calls in progress continue');

  app.delete(
    `${URL}/:batch_call_id`,
    {
      schema: {
        tags,
        summary: 'Deletes a finished batch and its rows',
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
        summary: 'Starts a batch: calls every number of a list',
        description:
          'In a form, `recipients` is a CSV file whose first line names the columns (`to_number`, ' +
          '`end_user_id`, `metadata`; any other column is a dynamic variable), and `schedule`, `pacing`, ' +
          '`retry` and `opt_out` are JSON. A 422 lists every row that cannot be called, by its line number.',
        consumes: ['application/json', 'multipart/form-data'],
        body: batchCreate,
        response: { 201: batchRecord },
      },
    },
    async (request, reply) =>
      reply
        .code(201)
        .send(
          await record(
            await createBatch(
              context,
              callerOf(request),
              request.body,
              request.recipientList ?? NO_RECIPIENTS,
            ),
          ),
        ),
  );
}
