import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';

/** What a delivery is of, and whether it is due at once. */
type NewDelivery = Pick<
  DeliveryDocument,
  '_id' | 'session_id' | 'team_id' | 'event' | 'url' | 'secret' | 'rank' | 'state' | 'payload'
>;

/** A delivery before its first attempt. */
export function newDelivery(of: NewDelivery, at: Date): DeliveryDocument {
  return {
    ...of,
    next_at: at,
    lease: null,
    attempts: 0,
    last_attempt_at: null,
    last_result: '',
    created_at: at,
    finished_at: null,
  };
}
