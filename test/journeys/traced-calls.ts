/**
 * Phone calls to a restaurant's agent whose spans arrive at a collector, as the journey about traces and the
 * pictures of docs/traces.md have them.
 */
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { type ChatBody, type ChatScript, callTool, say } from '#test/fakes/openai-server.ts';
import type { ReceivedSpan } from '#test/fakes/otlp-receiver.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { HEARD, type VendorStage } from './vendor-stage.ts';

/** Ports of the caller. */
const PORTS = { first: 30_240, last: 30_259 };
const NUMBER = '+15550100654';
const WAIT_MS = 30_000;
/** The root span of a call of the agent. */
const ROOT = 'invoke_agent Bistro';

/** Calls a tool first, and then says its answer. */
function bookTable({ messages }: ChatBody): ChatScript {
  return messages.some(({ role }) => role === 'tool')
    ? say('Your table is booked.')
    : callTool('book_table', { guests: 'two' });
}

/** A restaurant whose agent books tables by a tool. */
export class TracedCalls {
  readonly #stage: VendorStage;
  readonly #restaurant: WebhookReceiver;

  private constructor(stage: VendorStage, restaurant: WebhookReceiver) {
    this.#stage = stage;
    this.#restaurant = restaurant;
  }

  /** Prepares the agent and its number. */
  static async open(stage: VendorStage): Promise<TracedCalls> {
    const restaurant = await openWebhookReceiver();
    restaurant.answer = () => ({ status: 200, body: 'booked for two' });
    await prepareAgent(stage, restaurant);
    return new TracedCalls(stage, restaurant);
  }

  /** The caller books a table, hears that it is booked, and hangs up. Returns the spans of the call. */
  book(): Promise<readonly ReceivedSpan[]> {
    this.#stage.answer = bookTable;
    return this.#call();
  }

  /** As `book`, but the vendor of the model is out of order: the caller hears an apology. */
  async bookInVain(): Promise<readonly ReceivedSpan[]> {
    const { vendor } = this.#stage;
    vendor.fault = { path: '/chat/completions', status: 503 };
    try {
      return await this.#call();
    } finally {
      vendor.fault = null;
    }
  }

  close(): Promise<void> {
    return this.#restaurant.close();
  }

  async #call(): Promise<readonly ReceivedSpan[]> {
    const { collector, product } = this.#stage;
    const before = new Set(collector.spans.map(({ traceId }) => traceId));
    const scene = prepareScene({
      name: 'booking',
      steps: [{ do: 'listen' }, { do: 'say', text: HEARD }, { do: 'listen' }],
    });
    await new PhoneCaller({ ports: PORTS }).call({ target: product.sipAddress(NUMBER), scene });
    const root = () => collector.spans.find(({ name, traceId }) => name === ROOT && !before.has(traceId));
    await product.until('the call has its root', () => root() !== undefined, WAIT_MS);
    const ofCall = () => collector.spans.filter(({ traceId }) => traceId === root()?.traceId);
    await product.until(
      'the worker has sent its turn',
      () => ofCall().some(({ name }) => name === 'turn'),
      WAIT_MS,
    );
    return ofCall();
  }
}

async function prepareAgent({ product }: VendorStage, restaurant: WebhookReceiver): Promise<void> {
  const { tool_id } = await product.ask('POST', '/v1/agent/tools', {
    name: 'book_table',
    description: 'Books a table.',
    url: `${restaurant.url}/book`,
    body_template: '{"guests":"{{guests}}"}',
    arguments: [{ name: 'guests' }],
  });
  const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
    name: 'Bistro',
    config: {
      prompt: { system_prompt: 'You take bookings.', first_message_mode: 'fixed', first_message: 'Hello.' },
      tools: { tool_ids: [tool_id] },
      llm: { model: 'openai/test-model' },
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
  await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: NUMBER,
    agent_id,
  });
}
