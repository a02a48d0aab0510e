import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
let otherUser: TestUser;

beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
  otherUser = await api.createUser();
});
afterAll(() => api.close());

describe('authentication', () => {
  it.each([
    ['no Authorization', {}],
    ['another scheme', { authorization: 'Basic abc' }],
    ['no token', { authorization: 'Bearer ' }],
    ['a token with spaces inside', { authorization: 'Bearer a b' }],
  ])('%s is a bare 401 with WWW-Authenticate', async (_name, headers) => {
    const { status, headers: answered, text } = await api.request('GET', '/v1/agent/agents', { headers });
    expect(status).toBe(401);
    expect(answered['www-authenticate']).toBe('Bearer');
    expect(text).toBe('');
  });

  it('an unknown key is a JSON 401', async () => {
    const { status, body } = await api.request('GET', '/v1/agent/agents', { key: 'pk_unknown' });
    expect(status).toBe(401);
    expect(body).toEqual({ status: 401, message: 'Invalid token', reason: null });
  });

  it('an expired key is reported as expired', async () => {
    const expires_at = new Date(api.clock.wallTime() + 1_000).toISOString();
    const { body } = await api.request('POST', '/v1/keys', {
      key: user.key,
      body: { name: 'short', expires_at },
    });
    expect((await api.request('GET', '/v1/keys', { key: body.api_key })).status).toBe(200);
    await api.clock.advance(1_000);
    const expired = await api.request('GET', '/v1/keys', { key: body.api_key });
    expect(expired.status).toBe(401);
    expect(expired.body.message).toBe('Token expired');
  });
});

describe('"Order of checks"', () => {
  it('the key is checked before beta access, and beta access before the body', async () => {
    const outsider = await api.createUser({ beta_access: false });
    expect((await api.request('POST', '/v1/agent/agents', { key: 'pk_bad', raw: '{' })).status).toBe(401);
    const refused = await api.request('POST', '/v1/agent/agents', { key: outsider.key, raw: '{' });
    expect(refused.status).toBe(403);
    expect(refused.body.message).toBe(
      'Agent platform is in private beta. Apply for access at http://127.0.0.1:8080/beta',
    );
    expect((await api.request('GET', '/v1/agent/agents', { key: outsider.key })).status).toBe(200);
  });

  it.each([
    ['no body', {}],
    ['another content type', { raw: 'x', headers: { 'content-type': 'text/plain' } }],
    ['a JSON content type without a body', { raw: '' }],
    ['raw bytes', { raw: 'x', headers: { 'content-type': 'application/octet-stream' } }],
  ])('%s is a bare 415', async (_name, request) => {
    const { status, text } = await api.request('POST', '/v1/agent/agents', { key: user.key, ...request });
    expect(status).toBe(415);
    expect(text).toBe('');
  });

  it.each(['{', '{"name":', 'nonsense'])('%s is 400 Malformed JSON', async (raw) => {
    const { status, body } = await api.request('POST', '/v1/agent/agents', { key: user.key, raw });
    expect(status).toBe(400);
    expect(body).toEqual({ status: 400, message: 'Malformed JSON', reason: null });
  });

  it('a field error takes precedence over a missing resource', async () => {
    const { status } = await api.request('PATCH', '/v1/agent/agents/missing/config', {
      key: user.key,
      body: { bogus: 1 },
    });
    expect(status).toBe(422);
    expect(
      (await api.request('PATCH', '/v1/agent/agents/missing/config', { key: user.key, body: {} })).status,
    ).toBe(404);
  });

  it('a DELETE with a JSON content type and no body is accepted', async () => {
    const { body } = await api.request('POST', '/v1/agent/agents', {
      key: user.key,
      body: { name: 'short-lived' },
    });
    const deleted = await api.request('DELETE', `/v1/agent/agents/${body.agent_id}`, {
      key: user.key,
      headers: { 'content-type': 'application/json' },
    });
    expect(deleted.status).toBe(204);
    expect(deleted.text).toBe('');
  });
});

describe('422 lists', () => {
  it('name every wrong field with type, loc, msg and ctx, and never repeat a value', async () => {
    const secret = 'sk-very-secret-value';
    const { status, body, text } = await api.request('POST', '/v1/agent/agents', {
      key: user.key,
      body: {
        name: '',
        description: 7,
        [secret.replaceAll('-', ' ')]: secret,
        config: { llm: { custom: { api_key: 12, token: secret } }, conversation: { eagerness: secret } },
      },
    });
    expect(status).toBe(422);
    expect(text).not.toContain('very');
    const byLoc = new Map(body.map((entry: { loc: string[] }) => [entry.loc.join('.'), entry]));
    expect([...byLoc.keys()].sort()).toEqual([
      'body.?',
      'body.config.conversation.eagerness',
      'body.config.llm.custom.api_key',
      'body.config.llm.custom.token',
      'body.description',
      'body.name',
    ]);
    for (const entry of body)
      expect(entry).toEqual({
        type: expect.any(String),
        loc: expect.any(Array),
        msg: expect.any(String),
        ctx: expect.any(Object),
        in: 'body',
      });
  });

  it('name the query fields there are when one is unknown', async () => {
    const { status, body } = await api.request('GET', '/v1/agent/tools?limit=2', { key: user.key });
    expect(status).toBe(422);
    expect(body).toEqual([
      {
        type: 'extra_forbidden',
        loc: ['query', 'limit'],
        msg: expect.stringMatching(/^Extra inputs are not permitted; known are .*page_size/),
        ctx: {},
        in: 'query',
      },
    ]);
  });

  it('report a missing field as missing, and a query field as part of the query', async () => {
    const missing = await api.request('POST', '/v1/agent/agents', { key: user.key, body: {} });
    expect(missing.body).toEqual([
      { type: 'missing', loc: ['body', 'name'], msg: 'Field required', ctx: {}, in: 'body' },
    ]);
    const query = await api.request('GET', '/v1/agent/agents?page_size=101', { key: user.key });
    expect(query.status).toBe(422);
    expect(query.body[0]).toMatchObject({ loc: ['query', 'page_size'], in: 'query' });
  });
});

describe('the isolation of teams', () => {
  it('makes other teams’ agents, tools, numbers and wallets look exactly like missing ones', async () => {
    const agent = (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'mine' } }))
      .body;
    const tool = (
      await api.request('POST', '/v1/agent/tools', {
        key: user.key,
        body: { name: 't', url: 'https://t.example.com' },
      })
    ).body;
    const number = (
      await api.request('POST', '/v1/agent/phone-numbers', {
        key: user.key,
        body: { provider: 'managed', phone_number: '+15550100777' },
      })
    ).body;
    const pairs = [
      [`/v1/agent/agents/${agent.agent_id}`, '/v1/agent/agents/missing'],
      [`/v1/agent/tools/${tool.tool_id}`, '/v1/agent/tools/missing'],
      [`/v1/agent/phone-numbers/${number.phone_number_id}`, '/v1/agent/phone-numbers/missing'],
      [`/wallet/${user.userId}/api-credit`, '/wallet/missing/api-credit'],
    ];
    for (const [foreign, missing] of pairs) {
      const seen = await api.request('GET', foreign ?? '', { key: otherUser.key });
      const unseen = await api.request('GET', missing ?? '', { key: otherUser.key });
      expect(seen.status).toBe(404);
      expect(seen.text).toBe(unseen.text);
    }
  });
});

describe('every answer', () => {
  it('carries a request id, even a refusal', async () => {
    for (const path of ['/healthz', '/v1/agent/agents', '/nowhere']) {
      expect((await api.request('GET', path)).headers['x-request-id']).toMatch(/^[0-9a-f]{16}$/);
    }
  });

  it('is the 404 body for an unknown path, and only public routes answer CORS', async () => {
    const { status, body, headers } = await api.request('GET', '/nowhere', {
      headers: { origin: 'https://a.example.com' },
    });
    expect(status).toBe(404);
    expect(body).toEqual({ status: 404, message: 'Not found', reason: null });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });

  it('is the error body for an undecodable address too', async () => {
    const { status, body } = await api.request('GET', '/v1/agent/agents/%zz', { key: user.key });
    expect([status, body.status, body.reason]).toEqual([400, 400, null]);
  });

  it('is a 413 for a body beyond the limit', async () => {
    const { status, body } = await api.request('POST', '/v1/agent/agents', {
      key: user.key,
      raw: `{"name":"${'x'.repeat(5 * 1024 * 1024)}"}`,
    });
    expect(status).toBe(413);
    expect(body.status).toBe(413);
  });
});

describe('the description of the API', () => {
  it('is OpenAPI 3.1, version 1, generated from the validating schemas', async () => {
    const { body } = await api.request('GET', '/openapi.json');
    expect(body.openapi).toMatch(/^3\.1\./);
    expect(body.info.version).toBe('1');
    const operations = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(operations).toEqual(
      expect.arrayContaining([
        'post /v1/agent/agents',
        'patch /v1/agent/agents/{agent_id}/config',
        'post /v1/agent/phone-numbers',
        'get /wallet/{user_id}/api-credit',
      ]),
    );
    const create = body.paths['/v1/agent/agents'].post.requestBody.content['application/json'].schema;
    expect(create.properties.name.maxLength).toBe(120);
    expect(create.additionalProperties).toBe(false);
    expect(Object.keys(body.paths['/v1/agent/agents'].post.responses).sort()).toEqual([
      '201',
      '401',
      '415',
      '422',
      'default',
    ]);
    expect(body.paths['/v1/agent/agents/{agent_id}/widget'].get.security).toEqual([]);
  });

  it('has a human-readable page at /docs', async () => {
    const { status, text } = await api.request('GET', '/docs/');
    expect(status).toBe(200);
    expect(text).toContain('swagger-ui');
  });
});
