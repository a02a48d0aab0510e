/** Where a planned transfer goes, as the control plane tells a worker. */
import type { TransferRoute } from '#protocol/call-plan.ts';

/** A route nobody has restricted, with these changes. */
export function transferRoute(changes: Partial<TransferRoute>): TransferRoute {
  const plain = {
    number: null,
    dial_uri: '',
    guard: null,
    is_referable: true,
    headers: {},
    username: null,
    password: null,
    error: null,
  };
  return { ...plain, ...changes };
}
