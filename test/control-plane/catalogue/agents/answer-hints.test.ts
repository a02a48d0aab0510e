/** `answer_hints`, an optional section of an agent's configuration. */
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

describe('the hints of expected answers', () => {
  it('are absent until set, and change the hash only then', async () => {
    const url = await newAgent();
    const { body: before } = await api.request('GET', url, { key: user.key });
    expect(before).not.toHaveProperty('answer_hints');
    const { body: without } = await patch(url, { answer_hints: { enabled: false } });
    expect(without).not.toHaveProperty('answer_hints');
    expect(without.config_hash).toBe(before.config_hash);
    const { body: set } = await patch(url, { answer_hints: { enabled: true } });
    expect(set.answer_hints).toEqual({ enabled: true });
    expect(set.config_hash).not.toBe(before.config_hash);
    const { body: removed } = await patch(url, { answer_hints: null });
    expect(removed).not.toHaveProperty('answer_hints');
    expect(removed.config_hash).toBe(before.config_hash);
  });

  it('stay as they are in a patch of something else', async () => {
    const url = await newAgent();
    await patch(url, { answer_hints: { enabled: true } });
    const { body } = await patch(url, { conversation: { response_wait_ms: 400 } });
    expect(body.answer_hints).toEqual({ enabled: true });
  });

  it('reach a worker beside the configuration, of which an earlier worker knows every section', async () => {
    const agent_id = await api.publishAgent(user, { answer_hints: { enabled: true } });
    await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
    const plan = api.dispatch.plans.at(-1)?.plan;
    expect(plan?.answer_hints).toBe(true);
    expect(plan?.config).not.toHaveProperty('answer_hints');
  });

  it.each([{ answer_hints: true }, { answer_hints: { enabled: 'yes' } }, { answer_hints: { on: true } }])(
    'are refused in another form: %j',
    async (body) => {
      expect((await patch(await newAgent(), body)).status).toBe(422);
    },
  );
});
