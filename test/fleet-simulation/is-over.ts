/** Whether a fleet has nothing left to do. */
import type { Caller } from './caller.ts';
import type { Fields } from './store-engine.ts';
import type { StoreServer } from './store-server.ts';

/** True if every caller has left, every session is paid, and every webhook is sent or given up. */
export function isOver(store: StoreServer, callers: readonly Caller[]): boolean {
  if (callers.some(({ isThere }) => isThere)) return false;
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
