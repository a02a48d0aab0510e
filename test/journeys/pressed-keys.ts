/**
 * Journey: the agent calls a real phone, dials an extension behind its number, presses the keys that its
 * model asks for after its words, and hangs up in the same reply. The phone reports the keys that it has
 * received. When the worker dies while keys are sent, none is sent again.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import { answerPhone, type Phone } from '#test/fakes/baresip.ts';
import { callTool, type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import type { Product } from './product.ts';
import { settled } from './web-conversation.ts';

const NEEDED = ['baresip'];
const WORDS = 'One moment, please.';
const CALLED = '+4915112345699';
const HANG_UP = { name: '_hang_up_call', arguments: '{}' };

/** Describes it on a shared product. */
export function describePressedKeys(stage: { readonly product: Product }): void {
  describeNeeds(NEEDED)('an agent that presses keys', () => {
    const { agent, enter } = onPhone(stage);

    itNeeds(NEEDED)('reaches a person behind a switchboard', { timeout: 240_000 }, async () => {
      const { product } = stage;
      const { phone } = agent();
      const sessionId = await agent().call(',204#');
      await product.until('the extension is dialled', () => phone.keys() === '204#');
      await product.until('the agent greets', async () => (await agent().said(sessionId)).includes('Hello.'));
      await enter('1');
      await product.until('it presses after its words', () => phone.keys() === '204#345');
      expect(await agent().said(sessionId)).toContain(WORDS);
      await enter('2');
      const session = await settled(product, sessionId);
      expect(phone.keys()).toBe('204#3459#');
      expect(session).toMatchObject({ status: 'completed', end_reason: 'agent_hangup' });
      expect(presses(session)).toEqual(['{"keys":",204#"}', '{"keys":"34w5"}', '{"keys":"9#"}']);
    });
  });
}

/** Describes it on a product whose workers may be killed. */
export function describeKeysOfLostWorker(stage: { readonly product: Product }): void {
  describeNeeds(NEEDED)('an agent whose worker is killed while it presses keys', () => {
    const { agent } = onPhone(stage);

    itNeeds(NEEDED)('presses none twice, and not those that were to come', { timeout: 240_000 }, async () => {
      const { product } = stage;
      const { phone } = agent();
      const sessionId = await agent().call('2,,,,04#');
      await product.until('the first key is pressed', () => phone.keys() === '2');
      expect(product.kill('worker')).toBeGreaterThan(0);
      const isBack = async () =>
        (await agent().said(sessionId)).some((text) => text.startsWith('Sorry, I lost'));
      await product.until('the agent is back', isBack);
      expect(phone.keys()).toBe('2');
      await phone.hangUp();
      expect(await settled(product, sessionId)).toMatchObject({ end_reason: 'user_hangup' });
      expect(JSON.stringify(agent().model.requests.at(-1)?.json)).toContain(
        'some of them may have been sent',
      );
    });
  });
}

/** A phone, and an agent that calls it, for the tests of a suite. */
function onPhone(stage: { readonly product: Product }) {
  let agent: PressingAgent;
  beforeAll(async () => {
    agent = await PressingAgent.open(stage.product);
  });
  afterAll(() => agent?.close());
  return {
    agent: () => agent,
    async enter(key: string): Promise<void> {
      await agent.phone.press(key);
      await agent.phone.press('#');
    },
  };
}

class PressingAgent {
  readonly phone: Phone;
  readonly model: OpenaiServer;
  readonly #product: Product;

  constructor(product: Product, phone: Phone, model: OpenaiServer) {
    this.#product = product;
    this.phone = phone;
    this.model = model;
  }

  static async open(product: Product): Promise<PressingAgent> {
    const model = await startOpenaiServer({
      chat: ({ messages }) => {
        const said = String(messages.at(-1)?.content);
        const farewell = callTool('_press_keys', { keys: '9#' });
        if (said.includes('Keypad entry: 2'))
          return { ...farewell, toolCalls: [...farewell.toolCalls, HANG_UP] };
        return said.includes('Keypad entry: 1')
          ? callTool('_press_keys', { keys: '34w5' }, WORDS)
          : say('Yes.');
      },
    });
    const phone = await answerPhone(new Int16Array(0), { user: CALLED });
    await phone.noteKeys();
    return new PressingAgent(product, phone, model);
  }

  /** Calls the phone, and dials an extension; returns the session. */
  async call(extension: string): Promise<string> {
    const { agent_id } = await this.#product.ask('POST', '/v1/agent/agents', {
      name: 'Caller',
      config: {
        prompt: {
          system_prompt: 'You choose from menus.',
          first_message_mode: 'fixed',
          first_message: 'Hello.',
        },
        conversation: { keypad_input: { enabled: true }, outbound: { amd_enabled: false } },
        tools: { system_tools: { hang_up_call: true, hang_up_call_farewell_mode: 'off' } },
        press_keys: { enabled: true },
        llm: { custom: { base_url: this.model.url, model: 'stand-in', api_key: 'none' } },
      },
    });
    await this.#product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
    const { phone_number_id } = await this.#product.ask('POST', '/v1/agent/phone-numbers', {
      provider: 'sip',
      phone_number: '+4930999104',
      agent_id,
      inbound_allowed_addresses: ['127.0.0.1'],
      termination_uri: this.phone.address,
    });
    const body = { agent_id, phone_number_id, to_number: CALLED, extension };
    return (await this.#product.ask('POST', '/v1/agent/phone-calls', body)).session_id;
  }

  /** The words of a session. */
  async said(sessionId: string): Promise<string[]> {
    const { items } = await this.#product.ask('GET', `/v1/agent/sessions/${sessionId}`);
    return items.flatMap(({ content }: { content?: string }) => content ?? []);
  }

  async close(): Promise<void> {
    await this.phone.close();
    await this.model.close();
  }
}

function presses({ items }: { readonly items: readonly Record<string, string>[] }): unknown[] {
  return items.flatMap(({ type, tool_name, input }) =>
    type === 'tool_call' && tool_name === '_press_keys' ? [input] : [],
  );
}
