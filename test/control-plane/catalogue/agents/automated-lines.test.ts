/** `automated_lines`, an optional section of an agent's configuration. */
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
const DEFAULTS = {
  enabled: true,
  introduction: '',
  hold_max_seconds: 900,
  menu_max_repeats: 3,
  voicemail_recording_url: '',
};

describe('the section for automated lines', () => {
  it('is absent until set, and changes the hash only then', async () => {
    const url = await newAgent();
    const { body: before } = await api.request('GET', url, { key: user.key });
    expect(before).not.toHaveProperty('automated_lines');
    const { body: set } = await patch(url, { automated_lines: {} });
    expect(set.automated_lines).toEqual(DEFAULTS);
    expect(set.config_hash).not.toBe(before.config_hash);
    for (const without of [null, { enabled: false }]) {
      await patch(url, { automated_lines: {} });
      const { body: removed } = await patch(url, { automated_lines: without });
      expect(removed).not.toHaveProperty('automated_lines');
      expect(removed.config_hash).toBe(before.config_hash);
    }
  });

  it('keeps its other fields in a patch of one, and all in a patch of something else', async () => {
    const url = await newAgent();
    await patch(url, { automated_lines: { introduction: 'Ann of the bakery.' } });
    await patch(url, { automated_lines: { hold_max_seconds: 60 } });
    const { body } = await patch(url, { conversation: { response_wait_ms: 400 } });
    expect(body.automated_lines).toEqual({
      ...DEFAULTS,
      introduction: 'Ann of the bakery.',
      hold_max_seconds: 60,
    });
  });

  it('does not reach a call that is not one to a phone', async () => {
    const agent_id = await api.publishAgent(user, { automated_lines: {} });
    await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
    const plan = api.dispatch.plans.at(-1)?.plan;
    expect(plan).not.toHaveProperty('automated_lines');
    expect(plan?.config).not.toHaveProperty('automated_lines');
  });

  it.each([
    { automated_lines: true },
    { automated_lines: { hold_max_seconds: 5 } },
    { automated_lines: { menu_max_repeats: 0 } },
    { automated_lines: { introduction: 'a'.repeat(501) } },
    { automated_lines: { music: true } },
    { automated_lines: { voicemail_recording_url: 'http://10.0.0.1/message.wav' } },
    { automated_lines: { voicemail_recording_url: 'message.wav' } },
  ])('is refused in another form: %j', async (body) => {
    expect((await patch(await newAgent(), body)).status).toBe(422);
  });
});
