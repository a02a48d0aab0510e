import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { labelsOf } from '#control-plane/operations/scorecard/score-call.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { ScoredAgent } from './scored-agent.ts';

const STORED = 400;
const RARE_EVERY = 20;
const PAGE = 5;

let api: TestCalls;
let agent: ScoredAgent;

beforeAll(async () => {
  api = await openTestCalls();
  agent = await ScoredAgent.open(api);
  const calls = Array.from({ length: STORED }, (_, index) => {
    const score = { tags: [index % RARE_EVERY === 0 ? 'loop' : 'dead_air'] as const, criteria: [] };
    return {
      _id: `call-${index}`,
      team_id: agent.user.teamId,
      agent_id: agent.id,
      version_number: 1 + (index % 3),
      created_at: new Date(api.clock.wallTime() - index * 1_000),
      duration_seconds: 60,
      end_reason: 'user_hangup',
      tags: [...score.tags],
      criteria: [],
      labels: labelsOf(score, 1 + (index % 3)),
    };
  });
  await api.context.models.scoredCalls.collection.insertMany(calls as never[]);
});
afterAll(() => api.close());

it.each([
  ['a tag', 'tag=loop', STORED / RARE_EVERY],
  ['a tag of a version', 'tag=loop&version=1', 7],
])('finds the calls with %s page by page without examining the others', async (_, query, count) => {
  const find = vi.spyOn(api.context.models.scoredCalls, 'find');
  let found = 0;
  for (let cursor = ''; ; ) {
    const page = await agent.calls(`${query}&page_size=${PAGE}${cursor}`);
    found += page.calls.length;
    if (page.next_cursor === null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  expect(found).toBe(count);
  for (const [filter] of find.mock.calls) {
    const { executionStats: stats } = await api.context.models.scoredCalls.collection
      .find(filter as never, { sort: { created_at: -1, _id: -1 } })
      .explain();
    expect(stats.totalDocsExamined - stats.nReturned).toBeLessThanOrEqual(1);
  }
  find.mockRestore();
});
