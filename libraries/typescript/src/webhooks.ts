/** The signature of webhooks. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookError } from './errors.ts';
import type { WebhookEvent } from './generated/types.ts';

/** The header with the signature, in lower case as Node has it. */
export const SIGNATURE_HEADER = 'x-service-webhook-signature';
const TOLERANCE_SECONDS = 300;
const MAX_HEADER_CHARS = 1024;

/** How a webhook is verified. */
export interface VerifyOptions {
  /** How far the time of sending may be from now; 300 unless set. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** A webhook as it arrived. */
export interface ReceivedWebhook {
  /** The body's bytes, before any parser. */
  readonly body: string | Uint8Array;
  /** The value of the header `X-Service-Webhook-Signature`. */
  readonly signature: string | readonly string[] | null | undefined;
}

/**
 * The event of a request that Parley has sent. Of several secrets any may have signed it: calls in progress
 * keep an old one. Throws `WebhookError` for any other request, `TypeError` without a secret.
 */
export function verifyWebhook(
  { body, signature }: ReceivedWebhook,
  secret: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now }: VerifyOptions = {},
): WebhookEvent {
  const secrets = [secret].flat();
  if (secrets.length === 0 || secrets.includes('')) throw new TypeError('the secret is empty');
  const header = [signature ?? ''].flat().join(',');
  if (header === '' || header.length > MAX_HEADER_CHARS) throw new WebhookError('the signature is missing');
  const parts = header.split(',').map((part) => part.trim().split('='));
  const [, time = ''] = parts.find(([name]) => name === 't') ?? [];
  const given = parts.flatMap(([name, value = '']) => (name === 'v1' ? [Buffer.from(value, 'hex')] : []));
  const isSigned = secrets.some((key) => {
    const expected = createHmac('sha256', key).update(`${time}.`).update(body).digest();
    return given.some((one) => isEqual(one, expected));
  });
  if (!isSigned) throw new WebhookError('the signature is wrong');
  const isRecent = /^\d{1,12}$/.test(time) && Math.abs(now() / 1000 - Number(time)) <= toleranceSeconds;
  if (!isRecent) throw new WebhookError('the time of sending is too far from now');
  return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'));
}

function isEqual(given: Uint8Array, expected: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
