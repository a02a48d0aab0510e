/** `press_keys`, an optional section of an agent's configuration, and `extension` of calls and transfers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber } from '../../test-numbers.ts';

let api: TestCalls;
let user: TestUser;

beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUNK_URI: 'trunk.example.com' });
  user = await api.createUser();
});
afterAll(() => api.close());

async function newAgent(): Promise<string> {
  const { body } = await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'Ada' } });
  return `/v1/agent/agents/${body.agent_id}/config`;
}

const patch = (url: string, body: unknown) => api.request('PATCH', url, { key: user.key, body });
const DESK = { label: 'Desk', phone_number: '+14155550123', extension: ',204#' };

/** The plan of an outbound call of an agent with this configuration. */
async function planOf(config: Record<string, unknown>, request: Record<string, unknown> = {}) {
  const agent_id = await api.publishAgent(user, config);
  const body = {
    agent_id,
    phone_number_id: await insertNumber(api, user),
    to_number: '+14155550199',
    ...request,
  };
  const { status } = await api.request('POST', '/v1/agent/phone-calls', { key: user.key, body });
  expect(status).toBe(201);
  return api.dispatch.plans.at(-1)?.plan;
}

describe('the section of pressed keys', () => {
  it('is absent until set, and changes the hash only then', async () => {
    const url = await newAgent();
    const { body: before } = await api.request('GET', url, { key: user.key });
    expect(before).not.toHaveProperty('press_keys');
    const { body: without } = await patch(url, { press_keys: { enabled: false } });
    expect(without).not.toHaveProperty('press_keys');
    expect(without.config_hash).toBe(before.config_hash);
    const { body: set } = await patch(url, { press_keys: { enabled: true } });
    expect(set.press_keys).toEqual({ enabled: true, hide_keys: false });
    expect(set.config_hash).not.toBe(before.config_hash);
    const { body: removed } = await patch(url, { press_keys: null });
    expect(removed).not.toHaveProperty('press_keys');
    expect(removed.config_hash).toBe(before.config_hash);
  });

  it('is changed field by field, and stays as it is in a patch of something else', async () => {
    const url = await newAgent();
    await patch(url, { press_keys: { enabled: true } });
    await patch(url, { press_keys: { hide_keys: true } });
    const { body } = await patch(url, { conversation: { response_wait_ms: 400 } });
    expect(body.press_keys).toEqual({ enabled: true, hide_keys: true });
  });

  it('reaches a worker beside the configuration, of which an earlier worker knows every section', async () => {
    const plan = await planOf({ press_keys: { enabled: true, hide_keys: true } });
    expect(plan?.press_keys).toEqual({ hide_keys: true });
    expect(plan?.config).not.toHaveProperty('press_keys');
    expect(await planOf({})).not.toHaveProperty('press_keys');
  });

  it.each([{ press_keys: true }, { press_keys: { enabled: 'yes' } }, { press_keys: { on: true } }])(
    'is refused in another form: %j',
    async (body) => {
      expect((await patch(await newAgent(), body)).status).toBe(422);
    },
  );
});

describe('the extension of a call', () => {
  it('is part of the plan’s transport, and absent without one', async () => {
    expect((await planOf({}, { extension: ',,1w2#' }))?.transport).toMatchObject({ extension: ',,1w2#' });
    expect((await planOf({}))?.transport).not.toHaveProperty('extension');
  });

  it.each(['', 'w', '12x', '1 2', '1'.repeat(65)])('is refused as %j', async (extension) => {
    const agent_id = await api.publishAgent(user);
    const body = {
      agent_id,
      phone_number_id: await insertNumber(api, user),
      to_number: '+14155550199',
      extension,
    };
    const { status } = await api.request('POST', '/v1/agent/phone-calls', { key: user.key, body });
    expect(status).toBe(422);
  });
});

describe('the extension of a transfer destination', () => {
  it('is kept, and absent without one', async () => {
    const url = await newAgent();
    const { extension: _, ...plain } = DESK;
    const { body } = await patch(url, {
      conversation: { transfer_destinations: [DESK, { ...plain, label: 'B' }] },
    });
    const [desk, other] = body.conversation.transfer_destinations;
    expect(desk.extension).toBe(',204#');
    expect(other).not.toHaveProperty('extension');
  });

  it('reaches a worker with the route, which the carrier is not asked to take', async () => {
    const plan = await planOf({ conversation: { transfer_destinations: [DESK] } });
    expect(plan?.transfer?.routes).toMatchObject([{ extension: ',204#', is_referable: false }]);
    expect(plan?.config.conversation.transfer_destinations[0]).not.toHaveProperty('extension');
  });
});
