/** Journey: the next steps that the talk page offers after the first answer work as they are written. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FORMS, type Form, nextSteps } from '../../web/console/src/talk/next-steps.ts';
import { type Product, startProduct } from './product.ts';

const run = promisify(execFile);
const TITLES = ['Change what it says', 'Give it a tool (instead of those it has)', 'Give it a number'];
let product: Product;
let folder: string;

beforeAll(async () => {
  product = await startProduct();
  folder = mkdtempSync(join(tmpdir(), 'parley-next-steps-'));
  // `npx parley` without npm, which would look for the package of the test's folder.
  const npx = join(folder, 'npx');
  writeFileSync(npx, `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${resolve('parley.mjs')}" "$@"\n`);
  chmodSync(npx, 0o755);
}, 240_000);
afterAll(async () => {
  await product.close();
  rmSync(folder, { recursive: true, force: true });
});

async function play(form: Form, text: string): Promise<void> {
  const path = [folder, dirname(process.execPath), process.env['PATH']].join(delimiter);
  const options = { cwd: folder, env: { PATH: path, PARLEY_API_KEY: product.rootKey } };
  if (form === 'JavaScript') {
    writeFileSync(join(folder, 'step.mjs'), text);
    await run(process.execPath, ['step.mjs'], options);
  } else await run('bash', ['-euo', 'pipefail', '-c', text], options);
}

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
