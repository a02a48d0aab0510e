/**
 * The tenant of a journey: a webhook endpoint that checks every signature, and a demo agent configured to
 * post to it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  openWebhookReceiver,
  type ReceivedWebhook,
  type WebhookReceiver,
} from '#test/fakes/webhook-receiver.ts';
import type { Installation } from './installation.ts';

const SECRET = 'a secret of the tenant';
const TOLERANCE_SECONDS = 300;

/** Webhook events after a call, in the order they may arrive. */
export type CallEvent = 'phone_call.dial_finished' | 'call.ended' | 'call.analyzed';

/** A tenant with an open endpoint. */
export class Tenant {
  readonly #receiver: WebhookReceiver;

  private constructor(receiver: WebhookReceiver) {
    this.#receiver = receiver;
  }

  static async open(): Promise<Tenant> {
    return new Tenant(await openWebhookReceiver());
  }

  /** Reports an agent's calls to this tenant, from its next call on. */
  async subscribe(product: Installation, agentId: string): Promise<void> {
    await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
      webhooks: { post_call: [{ url: `${this.#receiver.url}/calls`, secret: SECRET }] },
    });
    await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
  }

  /** Webhooks received for a session, in order. Throws if one is not signed with this tenant's secret. */
  eventsOf(sessionId: string): (Pick<ReceivedWebhook, 'body' | 'raw'> & { readonly event: CallEvent })[] {
    const about = this.#receiver.received.filter(({ body }) => body.session?.id === sessionId);
    for (const webhook of about)
      if (!isSigned(webhook))
        throw new Error(`a webhook came with a wrong signature: ${webhook.raw.toString('utf8')}`);
    return about.map(({ body, raw }) => ({ event: body.event, body, raw }));
  }

  close(): Promise<void> {
    return this.#receiver.close();
  }
}

/** Id of the agent that answers the number printed by the product. */
export async function demoAgentId(product: Installation): Promise<string> {
  const list = await product.ask('GET', '/v1/agent/phone-numbers');
  const number = list.phone_numbers.find(
    (item: { phone_number: string }) => item.phone_number === product.number,
  );
  return number.agent_id;
}

/** Gives the demo agent another greeting, from its next call on. */
export async function greetWith(product: Installation, greeting: string): Promise<void> {
  const agent = `/v1/agent/agents/${await demoAgentId(product)}`;
  await product.ask('PATCH', `${agent}/config`, { prompt: { first_message: greeting } });
  await product.ask('POST', `${agent}/publish`);
}

/** Creates an agent that answers a number; returns its id. */
export async function agentAt(product: Installation, number: string, config: object): Promise<string> {
  const { agent_id: id } = await product.ask('POST', '/v1/agent/agents', { name: 'Switchboard', config });
  await product.ask('POST', `/v1/agent/agents/${id}/publish`);
  await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: number,
    agent_id: id,
  });
  return id;
}

/** Checks a webhook as documented for receivers. */
function isSigned({ headers, raw }: ReceivedWebhook): boolean {
  const parts = new Map(
    String(headers['x-service-webhook-signature'])
      .split(',')
      .map((part) => part.split('=') as [string, string]),
  );
  const seconds = Number(parts.get('t'));
  if (!(Math.abs(Date.now() / 1_000 - seconds) <= TOLERANCE_SECONDS)) return false;
  const expected = createHmac('sha256', SECRET).update(`${seconds}.`).update(raw).digest();
  const given = Buffer.from(parts.get('v1') ?? '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
