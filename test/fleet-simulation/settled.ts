/** Whether nothing in the database waits any more. */
import type { Fields } from './store-engine.ts';
import type { StoreServer } from './store-server.ts';

/** True if every session is over and paid, and every webhook is sent or given up. */
export function isSettled(store: StoreServer): boolean {
  const open = {
    $or: [
      { status: { $in: ['creating', 'pending', 'active', 'unknown'] } },
      { 'billing.state': 'settle_due' },
      { 'outbox.0': { $exists: true } },
    ],
  };
  const unsent = { state: { $in: ['queued', 'pending'] } };
  const count = (collection: string, query: Fields) => Number(store.peek({ count: collection, query })['n']);
  return count('sessions', open) === 0 && count('webhook_deliveries', unsent) === 0;
}
