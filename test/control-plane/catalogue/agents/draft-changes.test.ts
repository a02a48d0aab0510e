import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;

beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
});
afterAll(() => api.close());

const ask = (method: 'GET' | 'POST' | 'PATCH', url: string, body?: unknown, { key } = user) =>
  api.request(method, url, { key, ...(body === undefined ? {} : { body }) });

async function newAgent(config: object = {}): Promise<string> {
  const { body } = await ask('POST', '/v1/agent/agents', { name: 'Ada', config });
  return `/v1/agent/agents/${body.agent_id}`;
}

describe('the changes of a draft', () => {
  it('are the settings that differ from the published version, with both values', async () => {
    const agent = await newAgent({ prompt: { system_prompt: 'You bake.' } });
    await ask('POST', `${agent}/publish`);
    expect((await ask('GET', `${agent}/draft-changes`)).body).toEqual({ version_number: 1, changes: [] });
    await ask('PATCH', `${agent}/config`, {
      prompt: { system_prompt: 'You bake bread.' },
      conversation: { response_wait_ms: 450, interruption_ignore_phrases: ['go on'] },
    });
    const { changes } = (await ask('GET', `${agent}/draft-changes`)).body;
    expect(changes).toEqual([
      { path: 'prompt.system_prompt', published: 'You bake.', draft: 'You bake bread.' },
      { path: 'conversation.response_wait_ms', published: expect.any(String), draft: '450' },
      { path: 'conversation.interruption_ignore_phrases', published: '[]', draft: '["go on"]' },
    ]);
  });

  it('are all settings before the first publication', async () => {
    const { body } = await ask('GET', `${await newAgent()}/draft-changes`);
    expect(body.version_number).toBeNull();
    expect(body.changes.length).toBeGreaterThan(20);
    for (const { published } of body.changes) expect(published).toBeNull();
  });

  it('are shown to no other team', async () => {
    const stranger = await api.createUser();
    const { status } = await ask('GET', `${await newAgent()}/draft-changes`, undefined, stranger);
    expect(status).toBe(404);
  });
});
