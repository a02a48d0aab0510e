import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../../test-api.ts';

let api: TestApi;
let agent: string;
let key: string;

beforeAll(async () => {
  api = await openTestApi();
  key = (await api.createUser()).key;
  const made = await api.request('POST', '/v1/agent/agents', { key, body: { name: 'Shop' } });
  agent = `/v1/agent/agents/${made.body.agent_id}`;
});
afterAll(() => api.close());

const widget = (origin?: string) =>
  api.request('GET', `${agent}/widget`, origin === undefined ? {} : { headers: { origin } });

describe('the widget of an agent', () => {
  it('is refused for each missing condition in order, and any page may read the reason', async () => {
    const refusals: [() => Promise<unknown>, string | undefined, number, string][] = [
      [async () => {}, 'https://shop.example.com', 403, 'Agent is not public'],
      [
        () => api.request('PATCH', agent, { key, body: { public_enabled: true } }),
        undefined,
        403,
        'Origin header is required for public agents',
      ],
      [async () => {}, 'https://shop.example.com', 403, 'Origin not allowed'],
    ];
    for (const [prepare, origin, status, message] of refusals) {
      await prepare();
      const answer = await widget(origin);
      expect([answer.status, answer.body.message]).toEqual([status, message]);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    }
    const missing = await api.request('GET', '/v1/agent/agents/missing/widget', {
      headers: { origin: 'https://shop.example.com' },
    });
    expect(missing.status).toBe(404);
    expect(missing.headers['access-control-allow-origin']).toBe('*');
  });

  it.each([
    ['https://shop.example.com', 200],
    ['https://SHOP.example.com', 200],
    ['https://shop.example.com:443', 200],
    ['https://shop.example.com:8443', 403],
    ['http://shop.example.com', 403],
    ['https://www.shop.example.com', 403],
    ['http://localhost:3000', 200],
    ['http://127.0.0.1:3000', 403],
    ['null', 403],
  ])('answers a page of origin %s with %i', async (origin, status) => {
    await api.request('PATCH', agent, {
      key,
      body: { public_enabled: true, allowed_origins: ['https://Shop.example.com/', 'http://localhost:3000'] },
    });
    const answer = await widget(origin);
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.body).toEqual({ agent_name: 'Shop' });
  });

  it('answers a preflight without a key', async () => {
    const { status, headers } = await api.request('OPTIONS', `${agent}/widget`, {
      headers: { origin: 'https://x.example.com', 'access-control-request-method': 'GET' },
    });
    expect(status).toBe(204);
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['access-control-allow-methods']).toContain('GET');
  });
});
