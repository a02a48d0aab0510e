/** Destination of a planned transfer, as the control plane sends it to a worker. */
import type { TransferRoute } from '#protocol/call-plan.ts';

/** An unrestricted route with these changes. */
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
