/**
 * Journey: a user creates agents from templates, on the command line and in the console, without a language
 * model, and runs the tests that come with them.
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_TEMPLATES } from '#protocol/agent-templates.ts';
import { runParley } from '#test/command-line.ts';
import { itNeeds } from '#test/needs.ts';
import { ConsolePage } from './console-page.ts';
import { type Product, startProduct } from './product.ts';
import { launchBrowser } from './talk-page.ts';

let product: Product;

beforeAll(async () => {
  product = await startProduct();
});
afterAll(async () => {
  await product?.close();
});

const parley = (...args: string[]) =>
  runParley(args, {
    folder: product.dataDir,
    environment: { PARLEY_URL: product.url, PARLEY_API_KEY: product.rootKey },
  });

describe('an agent created from a template', { concurrent: true }, () => {
  it.each(AGENT_TEMPLATES)(
    'passes its tests with the demo model: $id',
    { timeout: 120_000 },
    async (template) => {
      const created = await parley('agents', 'create', template.title, '--template', template.id, '--json');
      expect(created).toMatchObject({ code: 0 });
      const { agent_id: agentId } = JSON.parse(created.out);
      const config = await product.ask('GET', `/v1/agent/agents/${agentId}/config`);
      expect(config).toMatchObject({ ...template.config, llm: { model: 'local/demo' } });
      expect(await parley('test', agentId)).toMatchObject({
        code: 0,
        out: expect.stringContaining(`${template.tests.length} passed, 0 failed, 0 errors`),
      });
      await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
    },
  );

  it('fails its test of the end of a call if it may not hang up', { timeout: 120_000 }, async () => {
    const created = await parley('agents', 'create', 'Endless', '--template', 'survey', '--json');
    const { agent_id: agentId } = JSON.parse(created.out);
    await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
      tools: { system_tools: { hang_up_call: false } },
    });
    const { code, out } = await parley('test', agentId);
    expect([code, out]).toEqual([1, expect.stringContaining('✗ Accepts a refusal: failed')]);
  });

  itNeeds(['chromium'])(
    'can be created in the console with the keyboard only',
    { timeout: 180_000 },
    async () => {
      const browser: Browser = await launchBrowser();
      const person = await ConsolePage.open(browser, product, {
        key: product.rootKey,
        viewport: { width: 400, height: 800 },
      });
      try {
        await person.go('/agents');
        const { keyboard } = person.page;
        await person.page.getByRole('button', { name: 'New agent' }).press('Enter');
        const dialog = person.page.getByRole('dialog', { name: 'New agent' });
        await dialog.getByRole('radio', { name: 'Empty' }).waitFor();
        // The name has the focus; after it come the description and the choice of a template.
        await keyboard.press('Tab');
        await keyboard.press('Tab');
        await keyboard.press('ArrowDown');
        await keyboard.press('ArrowDown');
        await keyboard.press('Space');
        expect(await dialog.getByLabel('Name').inputValue()).toBe('Booking');
        expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
        await dialog.getByRole('button', { name: 'Create' }).press('Enter');
        await person.page.getByRole('heading', { level: 1, name: 'Booking' }).waitFor();
        await person.see('The prompt is not read');
        const agentId = new URL(person.page.url()).pathname.split('/')[3] ?? '';
        await person.go(`/agent-tests?agent_id=${agentId}`);
        await person.see('Does not call _hang_up_call');
        await person.press('Run all');
        await person.see('2 passed');
      } finally {
        await browser.close();
      }
    },
  );
});
