/** Resends a webhook: same payload, new signature, queued behind pending deliveries to the same endpoint. */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import { promoteNext } from '../outbox/relay.ts';

/**
 * Queues a finished delivery again with three new attempts. Throws `not_found`, or `conflict` while it is
 * queued or pending.
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
