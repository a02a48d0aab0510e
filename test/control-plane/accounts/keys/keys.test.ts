import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;

beforeAll(async () => {
  api = await openTestApi({ STARTING_CREDIT: '2.50' });
});
beforeEach(async () => {
  user = await api.createUser();
});
afterAll(() => api.close());

const root = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: object) =>
  api.request(method, url, { key: api.rootKey, ...(body ? { body } : {}) });
const wallet = async () => (await api.request('GET', '/wallet/self/api-credit', { key: user.key })).body;

describe('an account’s own keys', () => {
  it('are shown once, listed without their secret, and invalid once deleted', async () => {
    const created = await api.request('POST', '/v1/keys', { key: user.key, body: { name: 'laptop' } });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      key_id: expect.any(String),
      api_key: expect.stringMatching(/^pk_[0-9a-f]{48}$/),
    });
    const { api_key, key_id } = created.body;
    const listed = await api.request('GET', '/v1/keys', { key: api_key });
    expect(listed.body.keys.map((key: { name: string }) => key.name).sort()).toEqual(['first key', 'laptop']);
    expect(listed.text).not.toContain(api_key);
    expect((await api.request('DELETE', `/v1/keys/${key_id}`, { key: api_key })).status).toBe(204);
    expect((await api.request('GET', '/v1/keys', { key: api_key })).status).toBe(401);
    expect((await api.request('DELETE', `/v1/keys/${key_id}`, { key: user.key })).status).toBe(404);
  });

  it('are stored as a hash only, and cannot be deleted by another user', async () => {
    const other = await api.createUser();
    const [key] = (await api.request('GET', '/v1/keys', { key: other.key })).body.keys;
    expect((await api.request('DELETE', `/v1/keys/${key.key_id}`, { key: user.key })).status).toBe(404);
    expect((await api.request('GET', '/v1/keys', { key: other.key })).status).toBe(200);
    expect(JSON.stringify(await api.context.models.keys.find().lean())).not.toContain(other.key);
  });

  it.each([{}, { name: '' }, { name: 'x', expires_at: 'tomorrow' }, { name: 'x', scope: 'all' }])(
    'cannot be created from %j, which is a 422',
    async (body) => {
      expect((await api.request('POST', '/v1/keys', { key: user.key, body })).status).toBe(422);
    },
  );
});

describe("the operator's routes", () => {
  it('are closed to every other key', async () => {
    for (const [method, url] of [
      ['POST', '/admin/users'],
      ['POST', '/admin/keys'],
      ['GET', '/admin/keys?user_id=x'],
      ['DELETE', '/admin/keys/x'],
      ['PATCH', '/admin/users/x'],
      ['POST', '/admin/wallet/x/top-up'],
    ] as const) {
      const { status, body } = await api.request(method, url, { key: user.key });
      expect([url, status, body.status]).toEqual([url, 403, 403]);
    }
    expect((await api.request('POST', '/admin/users', { body: { name: 'x' } })).status).toBe(401);
  });

  it('create a user with its own team, workspace, wallet and key', async () => {
    const { status, body } = await root('POST', '/admin/users', { name: 'Ada', credit: '7.25' });
    expect(status).toBe(201);
    expect(Object.keys(body).sort()).toEqual(['api_key', 'team_id', 'user_id', 'workspace_id']);
    expect(
      (await api.request('GET', `/wallet/${body.user_id}/api-credit`, { key: body.api_key })).body,
    ).toMatchObject({
      user_id: body.user_id,
      credit: '7.25',
      cumulative_top_up: '7.25',
      has_free_credit: true,
      has_phone_sha256: false,
    });
    expect((await wallet()).credit).toBe('2.50');
  });

  it('create, list and delete keys of a user', async () => {
    const { body } = await root('POST', '/admin/keys', {
      user_id: user.userId,
      name: 'second',
      expires_at: null,
    });
    expect((await api.request('GET', '/v1/keys', { key: body.api_key })).status).toBe(200);
    expect((await root('GET', `/admin/keys?user_id=${user.userId}`)).body.keys).toHaveLength(2);
    expect((await root('DELETE', `/admin/keys/${body.key_id}`)).status).toBe(204);
    expect((await api.request('GET', '/v1/keys', { key: body.api_key })).status).toBe(401);
    expect((await root('POST', '/admin/keys', { user_id: 'missing', name: 'x' })).status).toBe(404);
  });

  it('change an account’s permissions immediately', async () => {
    const { status, body } = await root('PATCH', `/admin/users/${user.userId}`, {
      beta_access: false,
      phone_number_limit: 9,
      outbound_enabled: false,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      user_id: user.userId,
      beta_access: false,
      phone_number_limit: 9,
      outbound_enabled: false,
    });
    expect(
      (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'x' } })).status,
    ).toBe(403);
    await root('PATCH', `/admin/users/${user.userId}`, { beta_access: true });
    expect(
      (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'x' } })).status,
    ).toBe(201);
    expect((await root('PATCH', '/admin/users/missing', { beta_access: true })).status).toBe(404);
  });

  it('top up once per idempotency key; the same key with another amount is 409', async () => {
    const topUp = (amount: string, idempotency_key: string) =>
      root('POST', `/admin/wallet/${user.userId}/top-up`, { amount, idempotency_key });
    const { status, body } = await topUp('5.00', 'a');
    expect([status, body.credit, body.cumulative_top_up]).toEqual([200, '7.50', '7.50']);
    expect((await topUp('5.00', 'a')).body.credit).toBe('7.50');
    const reused = await topUp('6.00', 'a');
    expect([reused.status, reused.body.status]).toEqual([409, 409]);
    expect((await topUp('0.000001', 'b')).body.credit).toBe('7.500001');
    for (const wrong of ['-1', '0', '1.0000001', '1e3', 'five'])
      expect((await topUp(wrong, 'c')).status, wrong).toBe(422);
    expect(
      (await root('POST', '/admin/wallet/missing/top-up', { amount: '1.00', idempotency_key: 'a' })).status,
    ).toBe(404);
  });
});

describe('the wallet', () => {
  it('can be read as self or by id, by its owner and the operator only', async () => {
    const own = await wallet();
    expect(own).toEqual({
      _id: expect.any(String),
      user_id: user.userId,
      credit: '2.50',
      cumulative_top_up: '2.50',
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      has_phone_sha256: false,
      has_free_credit: true,
    });
    expect(
      (
        await api.request('GET', `/wallet/${user.userId}/api-credit?check_free_credit=true&team_id=x`, {
          key: user.key,
        })
      ).body,
    ).toEqual(own);
    expect((await root('GET', `/wallet/${user.userId}/api-credit`)).body).toEqual(own);
    expect((await root('GET', '/wallet/missing/api-credit')).status).toBe(404);
    expect((await api.request('GET', '/wallet/self/api-credit')).status).toBe(401);
  });

  it('has a package, which is empty', async () => {
    expect((await api.request('GET', '/wallet/self/package', { key: user.key })).body).toMatchObject({
      user_id: user.userId,
      type: 'none',
      total: 0,
      balance: 0,
      finished_at: null,
      subscription_id: null,
      cancel_at_period_end: null,
      scheduled_change: null,
      extra_balance: 0,
      has_used_trial: false,
    });
  });
});
