/**
 * Sends a webhook once more: the same bytes, signed afresh, in its place behind whatever is on its way to
 * that endpoint.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import { promoteNext } from '../outbox/relay.ts';

/**
 * Queues a finished delivery again, with its three attempts. Throws `not_found`, and `conflict` while it is
 * still on its way.
 */
export async function resendDelivery(
  context: Context,
  { sessionId, deliveryId }: { readonly sessionId: string; readonly deliveryId: string },
): Promise<DeliveryDocument> {
  const { deliveries } = context.models;
  const key = { _id: deliveryId, session_id: sessionId };
  const again = { state: 'queued' as const, attempts: 0, finished_at: null, lease: null };
  const queued = await deliveries
    .findOneAndUpdate({ ...key, state: { $in: ['delivered', 'dropped'] } }, { $set: again })
    .lean<DeliveryDocument>();
  if (!queued) {
    if (await deliveries.exists(key))
      throw fault('conflict', {
        detail: 'This webhook is still on its way; wait until it is delivered or dropped',
      });
    throw fault('not_found');
  }
  await promoteNext(context, sessionId, queued.url);
  const due = await deliveries.findById(deliveryId).lean<DeliveryDocument>();
  context.workSignals.notify('deliveries');
  return due ?? queued;
}
