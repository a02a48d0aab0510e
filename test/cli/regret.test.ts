import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { storedSums } from '#control-plane/jobs/regret/regret-store.ts';
import type { MeasuredCall } from '#protocol/regret.ts';
import { addLeftOut, addMeasured, NO_REGRET } from '#protocol/regret-tally.ts';
import { runParley } from '../command-line.ts';
import type { TestUser } from '../control-plane/test-api.ts';
import { openTestCalls, type TestCalls } from '../control-plane/test-calls.ts';

let api: TestCalls;
let url: string;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});
afterAll(() => api.close());

const parley = (...command: string[]) =>
  runParley(command, {
    folder: tmpdir(),
    environment: { PARLEY_URL: url, PARLEY_API_KEY: user.key },
  });

it('says that nothing is measured yet, and afterwards what was, by version and day', async () => {
  expect((await parley('regret', agentId)).out).toContain('No call of these days is measured yet');
  const own = { turns: 20, cut_offs: 1, unknown: 4, wait_ms: 10_000, known_wait_ms: 8_000 };
  const call: MeasuredCall = {
    ...{ outcome: 'measured', session_id: '', pauses: 30, judged: 24 },
    own,
    candidates: [],
  };
  const sums = [1, 2, 3, 4, 5].reduce((all) => addMeasured(all, call), addLeftOut(NO_REGRET));
  const at = new Date();
  const day = at.toISOString().slice(0, 10);
  await api.context.models.regretDays.create({
    ...{ _id: `${agentId}:${day}:v1`, team_id: user.teamId, agent_id: agentId, day, at },
    ...{ version_id: 'v1', version_number: 1, rev: 1, session_id: 'last', ...storedSums(sums) },
  });
  const { out } = await parley('regret', agentId);
  expect(out).toContain('5 calls measured');
  expect(out).toContain('1 left out');
  expect(out).toMatch(/^1 +100 +500 \(500 to 500\) ms +5\.0 \(\d\.\d to \d+\.\d\) +25\.0 +20 %$/m);
  expect(out).toContain(day);
});

it('lets an agent learn within bounds, shows what it does, and ends it', async () => {
  const begun = (await parley('tune', agentId, '--learn', '--cut-offs', '4', '--wait-max', '1500')).out;
  expect(begun).toContain('It learns, within 300 to 1500 ms and 4 callers cut off in 100 turns');
  expect((await parley('regret', agentId)).out).toContain('began  Learns from version 1 on.');
  expect((await parley('tune', agentId, '--stop-learning')).out).toContain('Learning has ended.');
  const both = await parley('tune', agentId, '--learn', '--stop-learning');
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('Choose one of')]);
});
