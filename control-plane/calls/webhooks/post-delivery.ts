/** One attempt to post a webhook, measured. */
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import { postSigned } from './signed-post.ts';

/** Only the status of the answer matters. */
const ANSWER_BYTES = 16 * 1024;

/** Result of an attempt. */
export interface PostOutcome {
  readonly isDelivered: boolean;
  /** The endpoint has answered, whatever its status. */
  readonly isAnswered: boolean;
  /** For people. */
  readonly result: string;
}

/** Posts a delivery once, signed anew. */
export async function postDelivery(
  context: Context,
  request: { delivery: DeliveryDocument; payload: Buffer },
  signal: AbortSignal,
): Promise<PostOutcome> {
  const startMs = context.clock.now();
  const outcome = await post(context, request, signal);
  const answer = outcome.isAnswered ? 'refused' : 'unreachable';
  context.metrics.webhookAttempts.observe(
    { outcome: outcome.isDelivered ? 'accepted' : answer },
    (context.clock.now() - startMs) / 1000,
  );
  return outcome;
}

async function post(
  context: Context,
  { delivery, payload }: { delivery: DeliveryDocument; payload: Buffer },
  signal: AbortSignal,
): Promise<PostOutcome> {
  const secret = delivery.secret === null ? null : context.secretBox.open(delivery.secret);
  try {
    const response = await postSigned(context, {
      url: delivery.url,
      secret,
      payload,
      timeoutMs: LIMITS.webhookAttemptMs,
      maxBytes: ANSWER_BYTES,
      signal,
    });
    const { status } = response;
    return { isDelivered: status >= 200 && status < 300, isAnswered: true, result: String(status) };
  } catch (error) {
    const result = error instanceof Error ? error.message.slice(0, 200) : 'failed';
    return { isDelivered: false, isAnswered: false, result };
  }
}
