/** One webhook request: JSON, signed with the endpoint's secret, through the egress guard. */
import type { GuardedRequest, GuardedResponse } from '#base/egress.ts';
import { SIGNATURE_HEADER } from '#protocol/webhook-events.ts';
import type { Context } from '../../platform/context.ts';
import { signPayload } from './signature.ts';

/** A request; without a secret it has no signature. */
interface WebhookPost extends Pick<GuardedRequest, 'timeoutMs' | 'maxBytes' | 'signal'> {
  readonly url: string;
  readonly secret: string | null;
  readonly payload: Buffer;
}

/** Posts it, signed at this moment. Throws as `EgressGuard.request` does. */
export function postSigned(
  { egress, clock }: Pick<Context, 'egress' | 'clock'>,
  { url, secret, payload, ...bounds }: WebhookPost,
): Promise<GuardedResponse> {
  return egress.request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Parley-Webhooks/1',
      ...(secret === null ? {} : { [SIGNATURE_HEADER]: signPayload(secret, payload, clock.wallTime()) }),
    },
    body: payload,
    ...bounds,
  });
}
