import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runParley } from '../command-line.ts';
import { type LocalLlmServer, startOllama } from '../fakes/local-llm-servers.ts';
import { itNeeds } from '../needs.ts';
import { ConsolePage } from './console-page.ts';
import { type Product, startProduct } from './product.ts';
import { launchBrowser } from './talk-page.ts';

const PROMPT = 'You answer the phone of a bakery.';

let ollama: LocalLlmServer;
let product: Product;
let agentId: string;

beforeAll(async () => {
  ollama = await startOllama();
  product = await startProduct({ environment: { LOCAL_LLM_URL: ollama.address } });
  const config = { prompt: { system_prompt: PROMPT } };
  agentId = (await product.ask('POST', '/v1/agent/agents', { name: 'Front desk', config })).agent_id;
}, 180_000);
afterAll(async () => {
  await product?.close();
  await ollama?.close();
});

/** The command line with the operator's key. */
const parley = (...args: string[]) =>
  runParley(args, {
    folder: product.dataDir,
    environment: { PARLEY_URL: product.url, PARLEY_API_KEY: product.rootKey },
  });

describe('a product beside Ollama', () => {
  it('names the model it has found in its start message', () => {
    expect(product.log).toContain('Engines      Language model: none.');
    expect(product.log).toContain('LLM_DEFAULT=local/llama3.2 gives new agents the first.');
  });

  it('warns on the command line while an agent’s prompt is not read', { timeout: 60_000 }, async () => {
    const published = await parley('agents', 'publish', 'Front desk');
    expect(published).toMatchObject({ code: 0, out: 'Published version 1\n' });
    expect(published.err).toMatch(/^Warning: .* does not read its prompt\. .*local\/llama3\.2/);
  });

  itNeeds(['chromium'])(
    'gives the agent the model with one click in the console, which then shows what was found out about it',
    { timeout: 180_000 },
    async () => {
      const browser = await launchBrowser();
      const person = await ConsolePage.open(browser, product, { key: product.rootKey });
      await person.go(`/agents/${agentId}`);
      await person.see('The prompt is not read');
      expect(await person.seriousFindings()).toEqual([]);
      await person.press('Use local/llama3.2');
      await person.page.getByText('The prompt is not read').waitFor({ state: 'detached' });
      const figures = async () =>
        (await product.ask('GET', '/v1/agent/models')).llm.some(
          (model: { context_tokens?: number }) => model.context_tokens === 4_096,
        );
      await product.until('the model is tried', figures);
      await person.go(`/agents/${agentId}`);
      // The page shows the model's name until its figures have arrived.
      const label = () => person.page.getByRole('combobox', { name: 'Model' }).inputValue();
      await expect.poll(label).toMatch(/^local\/llama3\.2 \([\d.]+ tokens a second, context 4096 tokens\)$/);
      await browser.close();
    },
  );

  it('shows the agent’s prompt to the model, from the worker', { timeout: 60_000 }, async () => {
    const path = `/v1/agent/agents/${agentId}`;
    await product.ask('PATCH', `${path}/config`, { llm: { model: 'local/llama3.2' } });
    const test = {
      name: 'polite',
      test_type: 'next_reply',
      agent_ids: [agentId],
      conversation: [{ role: 'user', text: 'Hello' }],
      expectation: 'Is polite',
    };
    const { test_id } = await product.ask('POST', '/v1/agent/tests', test);
    await product.ask('POST', `${path}/tests/run`, { test_ids: [test_id] });
    const isShown = () => ollama.requests.some(({ body }) => body.includes(PROMPT));
    await product.until('the model is shown the prompt', async () => isShown());
    expect((await parley('agents', 'publish', 'Front desk')).err).toBe('');
  });
});
