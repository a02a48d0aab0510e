import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runParley } from '../command-line.ts';
import { SharedAgent } from '../control-plane/operations/shares/shared-agent.ts';
import { openTestCalls, type TestCalls } from '../control-plane/test-calls.ts';

let api: TestCalls;
let url: string;
let agent: SharedAgent;

beforeAll(async () => {
  api = await openTestCalls();
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  agent = await SharedAgent.open(api);
});
afterAll(() => api.close());

const share = (...options: string[]) =>
  runParley(['share', agent.id, ...options], {
    folder: tmpdir(),
    environment: { PARLEY_URL: url, PARLEY_API_KEY: agent.user.key },
  });

it('sets a share, raises it with its figures, shows it, and publishes its version', async () => {
  expect((await share('--percent', '10')).out).toContain('10 % of callers get version 2 (running)');
  const { share_id } = await agent.stored();
  await agent.write('You are of another mind by now.');
  const raised = (await share('--percent', '29')).out;
  expect(raised).toContain('29 % of callers get version 2 (running)');
  expect(raised).toContain('No difference between versions 2 and 1 is certain yet.');
  expect(raised).toMatch(/^dead_air .* -100\.0 to 100\.0 +not yet$/m);
  expect((await agent.stored()).share_id).toBe(share_id);
  expect((await share('--promote')).out).toContain('Published version 3');
  expect((await share()).out).toContain('(ended: promoted)');
});

it('stops a share by hand, and refuses options that contradict each other', async () => {
  expect((await share('--percent', '50', '--candidate', '1')).out).toContain('get version 1 (running)');
  expect((await share('--percent', '50', '--draft')).out).toContain('get version 4 (running)');
  expect((await share('--stop')).out).toContain('(ended: by_hand)');
  const both = await share('--percent', '5', '--stop');
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('Choose one of')]);
});
