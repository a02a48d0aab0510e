/**
 * The delivery log: the outcome of each webhook of a session or of the whole team, and resending. Payloads
 * and signing secrets are never returned.
 */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import { findSession } from '../sessions/find-session.ts';
import { resendDelivery } from './resend.ts';

const timestamp = z.iso.datetime();
/** Fields left out of a record. */
const NOT_SHOWN = ['payload', 'secret'] as const;

const state = z.enum(['queued', 'pending', 'delivered', 'dropped']);
const sessionPath = z.object({ session_id: z.string() });

const deliveryRecord = z.object({
  delivery_id: z.string(),
  session_id: z.string(),
  event: z.string(),
  url: z.string(),
  /** `queued`: waits for an earlier event of the session to the same endpoint. */
  state,
  attempts: z.number().int(),
  /** HTTP status of the last answer; null if there was none. */
  last_status: z.number().int().nullable(),
  /** Why the last attempt got no answer; null if it got one. */
  last_error: z.string().nullable(),
  created_at: timestamp,
  last_attempt_at: timestamp.nullable(),
  /** When the next attempt is due or, during an attempt, when its lease expires. Null unless pending. */
  next_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
});

/** Registers the delivery log routes. */
export function registerDeliveryRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/sessions/:session_id/deliveries',
    {
      schema: {
        tags: ['sessions'],
        params: sessionPath,
        querystring: z.strictObject(listQuery),
        response: { 200: listOf('deliveries', deliveryRecord) },
      },
    },
    async (request) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      const { rows, ...page } = await findPage(context.models.deliveries, {
        filter: { session_id: session._id },
        query: request.query,
        without: NOT_SHOWN,
      });
      return { deliveries: rows.map(toDeliveryRecord), ...page };
    },
  );

  app.get(
    '/v1/agent/deliveries',
    {
      schema: {
        tags: ['sessions'],
        querystring: z.strictObject({ ...listQuery, state: state.optional() }),
        response: { 200: listOf('deliveries', deliveryRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const { rows, ...page } = await findPage(context.models.deliveries, {
        filter: {
          team_id: callerOf(request).teamId,
          ...(query.state === undefined ? {} : { state: query.state }),
        },
        query,
        without: NOT_SHOWN,
      });
      return { deliveries: rows.map(toDeliveryRecord), ...page };
    },
  );

  app.post(
    '/v1/agent/sessions/:session_id/deliveries/:delivery_id/resend',
    {
      config: { bodyOptional: true },
      schema: {
        tags: ['sessions'],
        params: sessionPath.extend({ delivery_id: z.string().max(256) }),
        response: { 202: deliveryRecord },
      },
    },
    async (request, reply) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      const delivery = await resendDelivery(context, {
        sessionId: session._id,
        deliveryId: request.params.delivery_id,
      });
      return reply.code(202).send(toDeliveryRecord(delivery));
    },
  );
}

function toDeliveryRecord(delivery: DeliveryDocument): z.output<typeof deliveryRecord> {
  const { last_result: result } = delivery;
  const isStatus = /^\d{3}$/.test(result);
  return {
    delivery_id: delivery._id,
    session_id: delivery.session_id,
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
