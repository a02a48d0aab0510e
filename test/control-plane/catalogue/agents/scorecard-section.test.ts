/** `scorecard`, an optional section of an agent's configuration. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
});
afterAll(() => api.close());

async function newAgent(): Promise<string> {
  const { body } = await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'Ada' } });
  return `/v1/agent/agents/${body.agent_id}/config`;
}

const patch = (url: string, body: unknown) => api.request('PATCH', url, { key: user.key, body });

describe('the rules of a scorecard', () => {
  it('are absent until set, and change the hash only then', async () => {
    const url = await newAgent();
    const { body: before } = await api.request('GET', url, { key: user.key });
    expect(before).not.toHaveProperty('scorecard');
    const { body: empty } = await patch(url, { scorecard: {} });
    expect(empty).not.toHaveProperty('scorecard');
    expect(empty.config_hash).toBe(before.config_hash);
    const { body: set } = await patch(url, { scorecard: { dead_air_ms: 2_000 } });
    expect(set.scorecard).toEqual({ dead_air_ms: 2_000 });
    expect(set.config_hash).not.toBe(before.config_hash);
    const { body: removed } = await patch(url, { scorecard: null });
    expect(removed).not.toHaveProperty('scorecard');
    expect(removed.config_hash).toBe(before.config_hash);
  });

  it('stay as they are in a patch of something else, and are replaced as a whole', async () => {
    const url = await newAgent();
    await patch(url, { scorecard: { dead_air_ms: 2_000, anger_words: ['supervisor'] } });
    const { body } = await patch(url, { conversation: { response_wait_ms: 400 } });
    expect(body.scorecard).toEqual({ dead_air_ms: 2_000, anger_words: ['supervisor'] });
    const { body: replaced } = await patch(url, { scorecard: { slow_tool_ms: 500 } });
    expect(replaced.scorecard).toEqual({ slow_tool_ms: 500 });
  });

  it('may have limits that are learned', async () => {
    const scorecard = { alerts: [{ rate: 'loop', above: 'learned', below: 'learned' }] };
    expect((await patch(await newAgent(), { scorecard })).body.scorecard).toEqual(scorecard);
  });

  it('do not reach a worker, of which an earlier one knows every section', async () => {
    const agent_id = await api.publishAgent(user, { scorecard: { dead_air_ms: 2_000 } });
    await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
    expect(api.dispatch.plans.at(-1)?.plan.config).not.toHaveProperty('scorecard');
  });

  it.each([
    { alerts: [{ rate: 'bored', above: 0.1 }] },
    { alerts: [{ rate: 'criterion:Not A Name', above: 0.1 }] },
    { alerts: [{ rate: 'loop' }] },
    { alerts: [{ rate: 'loop', above: 0.1, below: 0.2 }] },
    { alerts: [{ rate: 'loop', above: 1 }] },
    { alerts: [{ rate: 'loop', above: 'guessed' }] },
    {
      alerts: [
        { rate: 'loop', above: 0.1 },
        { rate: 'loop', below: 0.1 },
      ],
    },
    { dead_air_ms: 10 },
    { anger_words: [''] },
    { tags: [] },
  ])('are refused if they make no sense: %j', async (scorecard) => {
    expect((await patch(await newAgent(), { scorecard })).status).toBe(422);
  });
});
