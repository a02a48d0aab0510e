/** Destination of a planned transfer, as the control plane sends it to a worker. */
import type { CallPlan, TransferRoute } from '#protocol/call-plan.ts';
import { testPlan } from '../test-plan.ts';

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

/** A call that can be transferred to one destination, by this route. */
export function transferPlan(
  destination: { readonly phone_number: string },
  way: Partial<TransferRoute>,
): CallPlan {
  const headers = { 'X-Service-Session-Id': 's1' };
  const route = transferRoute({ number: destination.phone_number, headers, ...way });
  return testPlan(
    { voice: { speed: 2 }, conversation: { transfer_destinations: [destination] } },
    { transfer: { from_number: '+15550100001', is_counted: false, routes: [route] } },
  );
}
