/** The client address of a request behind proxies, and routes that only this machine may use. */
import { afterEach, describe, expect, it } from 'vitest';
import type { TestUser } from './test-api.ts';
import { openTestCalls, type TestCalls } from './test-calls.ts';

const ORIGIN = 'https://shop.example.com';
let api: TestCalls;
afterEach(() => api.close());

async function openAgent(trustProxy: string): Promise<string> {
  api = await openTestCalls({ TRUST_PROXY: trustProxy, PUBLIC_RATE_PER_IP: '1' });
  const user: TestUser = await api.createUser();
  return api.publishAgent(user, {}, { public_enabled: true, allowed_origins: [ORIGIN] });
}

/** A visitor's request, as it reaches Parley from the proxy at `remoteAddress`. */
async function visit(agent_id: string, forwarded: string, remoteAddress = '10.0.0.1'): Promise<number> {
  const headers = { origin: ORIGIN, 'x-forwarded-for': forwarded };
  return (
    await api.app.inject({
      method: 'POST',
      url: '/v1/agent/sessions',
      headers,
      remoteAddress,
      payload: { agent_id },
    })
  ).statusCode;
}

describe('a visitor behind a proxy that appends to X-Forwarded-For', () => {
  it.each(['1', '10.0.0.0/8'])(
    'security 19: gets no limit of its own by a forged first entry, with TRUST_PROXY=%s',
    async (trustProxy) => {
      const agentId = await openAgent(trustProxy);
      expect(await visit(agentId, '203.0.113.5')).toBe(201);
      expect(await visit(agentId, '198.51.100.1, 203.0.113.5')).toBe(429);
      expect(await visit(agentId, '203.0.113.6')).toBe(201);
    },
  );

  it('security 19: is identified by its own address where the peer is no trusted proxy', async () => {
    const agentId = await openAgent('10.0.0.0/8');
    expect(await visit(agentId, '203.0.113.5', '192.0.2.1')).toBe(201);
    expect(await visit(agentId, '203.0.113.6', '192.0.2.1')).toBe(429);
  });
});

describe('/metrics', () => {
  const metrics = async (headers: Record<string, string>, remoteAddress: string) =>
    (await api.app.inject({ method: 'GET', url: '/metrics', headers, remoteAddress })).statusCode;

  it('security 21: answers requests from this machine only, and no proxied request, without a token', async () => {
    api = await openTestCalls();
    expect(await metrics({}, '127.0.0.1')).toBe(200);
    expect(await metrics({}, '::ffff:127.0.0.1')).toBe(200);
    expect(await metrics({}, '203.0.113.5')).toBe(401);
    for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip'])
      expect(await metrics({ [header]: '127.0.0.1' }, '127.0.0.1')).toBe(401);
  });

  it('security 21: answers every client that sends the token', async () => {
    api = await openTestCalls({ METRICS_TOKEN: 'scraper-secret' });
    expect(await metrics({ authorization: 'Bearer scraper-secret' }, '203.0.113.5')).toBe(200);
    expect(await metrics({ authorization: 'Bearer scraper-secreT' }, '203.0.113.5')).toBe(401);
    expect(await metrics({}, '127.0.0.1')).toBe(401);
  });
});
