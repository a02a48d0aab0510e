/**
 * Journey: the agent calls a real phone, dials an extension behind its number, presses the keys that its
 * model asks for after its words, and hangs up in the same reply. The phone reports the keys that it has
 * received.
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

/** Describes it on a shared product. */
export function describePressedKeys(stage: { readonly product: Product }): void {
  describeNeeds(NEEDED)('an agent that presses keys', () => {
    let product: Product;
    let model: OpenaiServer;
    let phone: Phone;

    beforeAll(async () => {
      product = stage.product;
      model = await startOpenaiServer({
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
      phone = await answerPhone(new Int16Array(0), { user: CALLED });
      await phone.noteKeys();
    });
    afterAll(async () => {
      await phone?.close();
      await model?.close();
    });

    itNeeds(NEEDED)('reaches a person behind a switchboard', { timeout: 240_000 }, async () => {
      const sessionId = await call();
      await product.until('the extension is dialled', () => phone.keys() === '204#');
      await product.until('the agent greets', async () => (await said(sessionId)).includes('Hello.'));
      await enter('1');
      await product.until('it presses after its words', () => phone.keys() === '204#345');
      expect(await said(sessionId)).toContain(WORDS);
      await enter('2');
      const session = await settled(product, sessionId);
      expect(phone.keys()).toBe('204#3459#');
      expect(session).toMatchObject({ status: 'completed', end_reason: 'agent_hangup' });
      expect(presses(session)).toEqual(['{"keys":",204#"}', '{"keys":"34w5"}', '{"keys":"9#"}']);
    });

    async function enter(key: string): Promise<void> {
      await phone.press(key);
      await phone.press('#');
    }

    async function call(): Promise<string> {
      const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
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
          llm: { custom: { base_url: model.url, model: 'stand-in', api_key: 'none' } },
        },
      });
      await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
      const { phone_number_id } = await product.ask('POST', '/v1/agent/phone-numbers', {
        provider: 'sip',
        phone_number: '+4930999104',
        agent_id,
        inbound_allowed_addresses: ['127.0.0.1'],
        termination_uri: phone.address,
      });
      const body = { agent_id, phone_number_id, to_number: CALLED, extension: ',204#' };
      return (await product.ask('POST', '/v1/agent/phone-calls', body)).session_id;
    }

    async function said(sessionId: string): Promise<string[]> {
      const { items } = await product.ask('GET', `/v1/agent/sessions/${sessionId}`);
      return items.map(({ content }: { content?: string }) => content);
    }
  });
}

const HANG_UP = { name: '_hang_up_call', arguments: '{}' };

function presses({ items }: { readonly items: readonly Record<string, string>[] }): unknown[] {
  return items.flatMap(({ type, tool_name, input }) =>
    type === 'tool_call' && tool_name === '_press_keys' ? [input] : [],
  );
}
