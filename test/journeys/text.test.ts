import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { type Product, type ProductPart, startProduct } from './product.ts';

/** The answer takes long enough for a kill in its middle. */
const PIECE_MS = 400;

describe('a text session while parts of the product are killed', () => {
  let model: OpenaiServer;
  let product: Product;
  let agentId: string;
  beforeAll(async () => {
    model = await startOpenaiServer({ chat: [say('We open at eight in the morning.')], pieceMs: PIECE_MS });
    product = await startProduct({
      environment: { OPENAI_BASE_URL: model.url, LLM_DEFAULT: 'openai/test-model' },
    });
    agentId = (await product.api('POST', '/v1/agent/agents', { name: 'Bakery' })).body.agent_id;
    await product.api('POST', `/v1/agent/agents/${agentId}/publish`);
  });
  afterAll(async () => {
    await product?.close();
    await model?.close();
  });

  it.each<ProductPart>(['worker', 'control-plane'])(
    'kill -9 of the %s: a client that repeats its key gets one answer, and pays for one',
    async (part) => {
      const created = await product.api('POST', '/v1/agent/text-sessions', { agent_id: agentId });
      const id: string = created.body.text_session_id;
      const asked = model.requests.length;
      const first = send(id).catch(() => null);
      await product.until('the model is asked', async () => model.requests.length > asked);
      product.kill(part);
      await first;
      await product.until('it is answered', async () => (await send(id).catch(() => null))?.status === 200);
      const again = await send(id);
      expect(again.reply).toBe('We open at eight in the morning.');
      const { body } = await product.api('GET', `/v1/agent/text-sessions/${id}`);
      expect(body.items).toHaveLength(2);
      expect(body.message_count).toBe(1);
      const ledger = await product.api('GET', '/wallet/self/ledger?page_size=100');
      const charged = ledger.body.entries.filter(
        ({ reference }: { reference: string }) => reference === `t:${again.messageId}:hold`,
      );
      expect(charged).toMatchObject([{ amount: '-0.01' }]);
    },
  );

  async function send(id: string) {
    const response = await fetch(`${product.url}/v1/agent/text-sessions/${id}/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${product.rootKey}`,
        'content-type': 'application/json',
        'idempotency-key': 'when',
      },
      body: JSON.stringify({ content: 'When do you open?' }),
    });
    const body = (await response.json()) as { readonly reply: string; readonly message_id: string };
    return { status: response.status, reply: body.reply, messageId: body.message_id };
  }
});
