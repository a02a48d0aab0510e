/**
 * Journey: the first steps of a user without a language model. The next steps that the talk page offers after
 * the first answer work as they are written. Agents are created from templates, on the command line and in
 * the console, and their tests run.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_TEMPLATES } from '#protocol/agent-templates.ts';
import { runParley } from '#test/command-line.ts';
import { itNeeds } from '#test/needs.ts';
import { FORMS, type Form, nextSteps } from '../../web/console/src/talk/next-steps.ts';
import { ConsolePage } from './console-page.ts';
import type { Product } from './product.ts';
import type { Stage } from './web-conversation.ts';

const run = promisify(execFile);
const TITLES = ['Change what it says', 'Give it a tool (instead of those it has)', 'Give it a number'];
let product: Product;
let folder: string;

/** Describes them on a shared product. */
export function describeFirstSteps(stage: Stage): void {
  beforeAll(() => {
    product = stage.product;
    folder = mkdtempSync(join(tmpdir(), 'parley-next-steps-'));
    // `npx parley` without npm, which would look for the package of the test's folder.
    const npx = join(folder, 'npx');
    writeFileSync(npx, `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${resolve('parley.mjs')}" "$@"\n`);
    chmodSync(npx, 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
        const person = await ConsolePage.open(stage.browser, product, {
          key: product.rootKey,
          viewport: { width: 400, height: 800 },
        });
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
        await person.close();
      },
    );
  });

  it.each(FORMS)('each next step works with %s', { timeout: 240_000 }, async (form) => {
    const demo = await (await fetch(`${product.url}/demo.json`)).json();
    const { agent_id: agentId } = demo as { agent_id: string };
    const read = async () => {
      const [config, { versions }, { phone_numbers: numbers }] = await Promise.all([
        product.ask('GET', `/v1/agent/agents/${agentId}/config`),
        product.ask('GET', `/v1/agent/agents/${agentId}/versions`),
        product.ask('GET', '/v1/agent/phone-numbers'),
      ]);
      return { config, versions: versions.length, numbers };
    };
    const steps = nextSteps({ origin: product.url, agentId });
    expect(steps.map(({ title }) => title)).toEqual(TITLES);
    // Each form must change the greeting by itself.
    await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
      prompt: { first_message: 'Before the steps.' },
    });
    const before = await read();
    for (const { forms } of steps) await play(form, forms[form]);
    const after = await read();

    const bought = after.numbers.find(({ phone_number }: { phone_number: string }) =>
      /0007$/.test(phone_number),
    );
    expect(bought).toMatchObject({ agent_id: agentId, status: 'active' });
    await product.ask('DELETE', `/v1/agent/phone-numbers/${bought.phone_number_id}`);
    // On the command line the file is edited by hand; unedited it changes nothing.
    if (form === 'Command line') return expect(after.config).toEqual(before.config);
    expect(after.config.prompt.first_message).toBe('Hello, this is my own agent.');
    const [toolId, ...others] = after.config.tools.tool_ids;
    expect([typeof toolId, others]).toEqual(['string', []]);
    expect(after.versions).toBeGreaterThan(before.versions);
    // An agent file identifies tools by name, so the next form must not find this one.
    await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, { tools: { tool_ids: [] } });
    await product.ask('DELETE', `/v1/agent/tools/${toolId}`);
  });
}

const parley = (...args: string[]) =>
  runParley(args, {
    folder: product.dataDir,
    environment: { PARLEY_URL: product.url, PARLEY_API_KEY: product.rootKey },
  });

async function play(form: Form, text: string): Promise<void> {
  const path = [folder, dirname(process.execPath), process.env['PATH']].join(delimiter);
  const options = { cwd: folder, env: { PATH: path, PARLEY_API_KEY: product.rootKey } };
  if (form === 'JavaScript') {
    writeFileSync(join(folder, 'step.mjs'), text);
    await run(process.execPath, ['step.mjs'], options);
  } else await run('bash', ['-euo', 'pipefail', '-c', text], options);
}
