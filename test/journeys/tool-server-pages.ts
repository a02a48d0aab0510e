/**
 * Journey: a person adds a tool server at the console, tests the connection, chooses its tools, attaches it
 * to an agent, and sees what has changed at the server since the agent was published.
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type FakeMcpServer, type FakeTool, startMcpServer } from '#test/fakes/mcp-server.ts';
import { has, itNeeds } from '#test/needs.ts';
import { ConsolePage } from './console-page.ts';
import type { Product } from './product.ts';
import { launchBrowser } from './talk-page.ts';

const PHONE = { width: 390, height: 844 };
const SLOTS: FakeTool = {
  name: 'find_slot',
  description: 'Free times of a day',
  inputSchema: { type: 'object', properties: { day: { type: 'string' } } },
  run: () => 'nine',
};
const BOOK: FakeTool = { name: 'book_slot', description: 'Books a time', run: () => 'booked' };

/** Describes it on a shared product. */
export function describeToolServerPages(stage: { readonly product: Product }): void {
  describe('the pages of tool servers', () => {
    let server: FakeMcpServer;
    let browser: Browser;

    beforeAll(async () => {
      server = await startMcpServer('stateless', [SLOTS, BOOK]);
      if (has(['chromium'])) browser = await launchBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    /** A part of the current page. */
    const region = ({ page }: ConsolePage, name: string) => page.getByRole('region', { name, exact: true });
    /** The page fits a phone and has no serious finding of axe. */
    const expectSound = async (person: ConsolePage) =>
      expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);

    itNeeds(['chromium'])(
      'add a server, test it, attach it, and show what has changed since the publication',
      { timeout: 240_000 },
      async () => {
        const { product } = stage;
        const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport: PHONE });
        await addServer(person);
        const address = new URL(person.page.url()).pathname.replace('/console', '');
        await chooseTools(person);
        await expectSound(person);
        const agentId = await attach(person);
        server.tools = [{ ...SLOTS, description: 'Times of any day' }];
        await person.go(address);
        await person.press('Test and read the tools');
        await person.see('2 tools differ from those read before.');
        await person.go(`/agents/${agentId}/tools`);
        const changes = person.page.getByRole('group', { name: 'Changes at Diary' });
        await changes.getByText('Free times of a day').waitFor();
        await changes.getByText('Times of any day').waitFor();
        await expectSound(person);
        await person.close();
      },
    );

    itNeeds(['chromium'])(
      'say why a server cannot be read, and ask for the secret of client credentials',
      { timeout: 240_000 },
      async () => {
        const { product } = stage;
        const { tool_server_id } = await product.ask('POST', '/v1/agent/tool-servers', {
          name: 'Locked',
          url: `${server.url}?locked`,
        });
        const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport: PHONE });
        await person.go(`/tool-servers/${tool_server_id}`);
        server.refusal = 403;
        await person.press('Test and read the tools');
        await person.page.getByRole('alert').getByText('the server answered with HTTP 403').waitFor();
        server.refusal = null;
        await person.page.getByLabel('OAuth with client credentials').click();
        await person.see('To save, enter issuer, client id and client secret.');
        expect(await person.page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
        await expectSound(person);
        await person.close();
      },
    );

    async function addServer(person: ConsolePage): Promise<void> {
      await person.go('/tool-servers');
      await person.press('Add a server');
      const dialog = person.page.getByRole('dialog', { name: 'Add a tool server' });
      await dialog.getByLabel('Name').fill('Diary');
      await dialog.getByLabel('Address').fill(server.url);
      await person.press('Create', dialog);
      await person.page.getByRole('heading', { level: 1, name: 'Diary' }).waitFor();
    }

    async function chooseTools(person: ConsolePage): Promise<void> {
      await person.press('Test and read the tools');
      await person.see('Connected: 2 tools, protocol 2026-07-28');
      const tools = region(person, 'Tools');
      await tools.getByText('Free times of a day').waitFor();
      await tools.getByText('Arguments and hash').first().click();
      await tools.getByText('"day"').waitFor();
      await tools.getByLabel('Agents may use all of them').click();
      await tools.getByLabel('book_slot in the background').click();
      await person.press('Save');
      await person.see('Saved. Agents use it once they are published again.');
    }

    /** Attaches the server to a new agent and publishes it; returns the agent's id. */
    async function attach(person: ConsolePage): Promise<string> {
      const { product } = stage;
      const { agent_id } = await product.ask('POST', '/v1/agent/agents', { name: 'Front desk' });
      await person.go(`/agents/${agent_id}/tools`);
      await region(person, 'Tool servers').getByLabel('Diary').click();
      await person.press('Save draft');
      await person.see('Draft saved');
      await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
      const { tool_servers } = await product.ask('GET', `/v1/agent/agents/${agent_id}/tool-servers`);
      expect(tool_servers[0].pinned_tools.map(({ name }: { name: string }) => name)).toEqual([
        'find_slot',
        'book_slot',
      ]);
      return agent_id;
    }
  });
}
