/** Starting credit, written before a fleet starts. */
import type { StoreServer } from './store-server.ts';

/** Gives each account its first entry: an amount in micro-dollars. */
export function seedWallets(store: StoreServer, credits: ReadonlyMap<string, number>, at: Date): void {
  const documents = [...credits].map(([account, amount]) => ({
    _id: `${account}:1`,
    user_id: account,
    seq: 1,
    key: 'top-up',
    kind: 'top_up',
    amount,
    balance: amount,
    cumulative_top_up: amount,
    at,
  }));
  store.seed({ insert: 'wallet_ledger', documents });
}
