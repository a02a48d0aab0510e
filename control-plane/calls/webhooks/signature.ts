/** Webhook signature: HMAC-SHA256 over the send time and the raw body, keyed with the endpoint's secret. */
import { createHmac } from 'node:crypto';

/** Signature header value for a body sent at `wallTimeMs`. */
export function signPayload(secret: string, body: Uint8Array, wallTimeMs: number): string {
  const seconds = Math.floor(wallTimeMs / 1000);
  const hex = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex');
  return `t=${seconds},v1=${hex}`;
}
