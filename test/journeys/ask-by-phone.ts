/** An agent that waits for its caller to speak, and one phone call with a question to it. */
import { expect } from 'vitest';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import type { Product } from './product.ts';

const QUESTION = 'When do you open?';

/** Publishes the agent. */
export async function listeningAgent(product: Product): Promise<string> {
  const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
    name: 'Front desk',
    config: { prompt: { system_prompt: 'You answer.', first_message_mode: 'off' } },
  });
  await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
  return agent_id;
}

/** Gives the agent the number, calls it, asks and listens; resolves when the call has ended. */
export async function askByPhone(
  product: Product,
  {
    agentId,
    number,
    ports,
  }: {
    readonly agentId: string;
    readonly number: string;
    readonly ports: { readonly first: number; readonly last: number };
  },
): Promise<void> {
  await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: number,
    agent_id: agentId,
  });
  const scene = prepareScene({
    name: 'opening hours',
    steps: [{ do: 'say', text: QUESTION }, { do: 'listen' }],
  });
  const { outcome } = await new PhoneCaller({ ports }).call({ target: product.sipAddress(number), scene });
  expect(outcome).toEqual({ type: 'answered', endedBy: 'caller' });
  await product.until('the call has ended', async () => {
    const { sessions } = await product.ask('GET', `/v1/agent/sessions?agent_id=${agentId}`);
    return sessions[0]?.status === 'completed';
  });
}
