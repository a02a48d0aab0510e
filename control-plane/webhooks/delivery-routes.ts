/** The delivery log: what became of each webhook of a session at each endpoint. Payloads and signing secrets are never shown. */
import { z } from 'zod';
import { callerOf } from '../auth.ts';
import type { Context } from '../context.ts';
import { listOf, listQuery } from '../lists.ts';
import type { ApiServer } from '../server.ts';
import { findSession } from '../sessions/find-session.ts';
import { findPage } from '../store/find-page.ts';
import type { DeliveryDocument } from '../store/models/delivery-model.ts';

const timestamp = z.iso.datetime();

const deliveryRecord = z.object({
  delivery_id: z.string(),
  event: z.string(),
  url: z.string(),
  /** `queued` waits for the endpoint's earlier event of the session. */
  state: z.enum(['queued', 'pending', 'delivered', 'dropped']),
  attempts: z.number().int(),
  /** HTTP status of the last answer; null when there was none. */
  last_status: z.number().int().nullable(),
  /** Why the last attempt had no answer; null when it had one. */
  last_error: z.string().nullable(),
  created_at: timestamp,
  last_attempt_at: timestamp.nullable(),
  /** When the next attempt is due; while one is under way, when it is given up. Null unless pending. */
  next_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
});

/** Registers the delivery log. */
export function registerDeliveryRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/sessions/:session_id/deliveries',
    {
      schema: {
        tags: ['sessions'],
        summary: 'What became of each webhook of a session',
        params: z.object({ session_id: z.string() }),
        querystring: z.strictObject(listQuery),
        response: { 200: listOf('deliveries', deliveryRecord) },
      },
    },
    async (request) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      const { rows, ...page } = await findPage(context.models.deliveries, {
        filter: { session_id: session._id },
        query: request.query,
        without: ['payload', 'secret'],
      });
      return { deliveries: rows.map(toDeliveryRecord), ...page };
    },
  );
}

function toDeliveryRecord(delivery: DeliveryDocument): z.output<typeof deliveryRecord> {
  const { last_result: result } = delivery;
  const isStatus = /^\d{3}$/.test(result);
  return {
    delivery_id: delivery._id,
    event: delivery.event,
    url: delivery.url,
    state: delivery.state,
    attempts: delivery.attempts,
    last_status: isStatus ? Number(result) : null,
    last_error: isStatus || result === '' ? null : result,
    created_at: delivery.created_at.toISOString(),
    last_attempt_at: delivery.last_attempt_at?.toISOString() ?? null,
    next_at: delivery.state === 'pending' ? delivery.next_at.toISOString() : null,
    finished_at: delivery.finished_at?.toISOString() ?? null,
  };
}
