import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runParley } from '../command-line.ts';
import { ScoredAgent } from '../control-plane/operations/scorecard/scored-agent.ts';
import { openTestCalls, type TestCalls } from '../control-plane/test-calls.ts';

let api: TestCalls;
let url: string;
let agent: ScoredAgent;

beforeAll(async () => {
  api = await openTestCalls({ STARTING_CREDIT: '1000.00' });
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  agent = await ScoredAgent.open(api, { scorecard: { alerts: [{ rate: 'dead_air', above: 0.1 }] } });
});
afterAll(() => api.close());

/** The command counts its days by the clock of the machine, the product by that of the test. */
const scorecard = (...options: string[]) =>
  runParley(['scorecard', agent.id, '--days', '93', ...options], {
    folder: tmpdir(),
    environment: { PARLEY_URL: url, PARLEY_API_KEY: agent.user.key },
  });

it('shows rates by version, alerts, and the calls behind a rate', async () => {
  api.clock.stall(Date.now() - api.clock.wallTime());
  const silent = await agent.call({ silentMs: 5_000, booked: 'failure' });
  await agent.copy(silent, 39);
  await agent.publish({ prompt: { system_prompt: 'You are brief.' } });
  await agent.call({ booked: 'success' });
  await agent.count();
  api.clock.stall(1);
  const { out } = await scorecard();
  expect(out).toMatch(/^Alert since .*: dead_air is above 10\.0 % \(30 of 30 calls\)$/m);
  expect(out).toMatch(/^RATE +ALL +VERSION 2 +VERSION 1$/m);
  expect(out).toMatch(/^calls +41 +1 +40$/m);
  expect(out).toMatch(/^dead_air +97\.6 % .* 0\.0 % .* 100\.0 % /m);
  expect(out).toMatch(/^booked failed +50\.0 % .* 0\.0 % .* 100\.0 % /m);
  const listed = (await scorecard('--criterion', 'booked')).out;
  expect(listed).toMatch(new RegExp(`^${silent} .* 1 +60 +dead_air$`, 'm'));
  expect((await scorecard('--tag', 'dead_air', '--of', '2')).out).toBe('None\n');
});

it('refuses a tag and a criterion at once', async () => {
  const both = await scorecard('--tag', 'loop', '--criterion', 'booked');
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('Choose one of')]);
});
