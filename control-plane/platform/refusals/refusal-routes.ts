/** `GET /v1/agent/refusals`: calls refused to a team's agents and numbers, newest first, with the reason. */
import { z } from 'zod';
import type { Context } from '../context.ts';
import { callerOf } from '../http/auth.ts';
import { listOf, listQuery, numberFilter } from '../http/lists.ts';
import type { ApiServer } from '../http/server.ts';
import { findPage } from '../store/find-page.ts';
import { REFUSAL_KINDS, type RefusalDocument } from '../store/models/refusal-model.ts';

const text = z.string().nullable();

const refusalRecord = z.object({
  refusal_id: z.string(),
  kind: z.enum(REFUSAL_KINDS),
  /** A code from docs/errors.md. */
  reason: z.string(),
  message: z.string(),
  /** HTTP status of the answer; for an inbound call, the SIP status. */
  status: z.number().int(),
  agent_id: text,
  caller_number: text,
  dialed_number: text,
  sip_call_id: text,
  created_at: z.iso.datetime(),
});

const refusalsQuery = z.strictObject({
  ...listQuery,
  reason: z.string().max(64).optional(),
  agent_id: z.string().max(64).optional(),
  /** The caller's or the dialled number. */
  number: z.string().max(64).optional(),
});

/** Registers the route that lists refusals. */
export function registerRefusalRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/refusals',
    {
      schema: {
        tags: ['refusals'],
        querystring: refusalsQuery,
        response: { 200: listOf('refusals', refusalRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const filter: Record<string, unknown> = { team_id: callerOf(request).teamId };
      if (query.reason !== undefined) filter['reason'] = query.reason;
      if (query.agent_id !== undefined) filter['agent_id'] = query.agent_id;
      if (query.number !== undefined) filter['numbers'] = numberFilter(query.number);
      const { rows, ...page } = await findPage(context.models.refusals, { filter, query });
      return { refusals: rows.map(toRefusalRecord), ...page };
    },
  );
}

function toRefusalRecord(refusal: RefusalDocument): z.output<typeof refusalRecord> {
  const { _id, team_id: _team, numbers: _numbers, created_at, ...rest } = refusal;
  return { refusal_id: _id, ...rest, created_at: created_at.toISOString() };
}
