import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestResponse, type TestUser } from '../../test-api.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let api: TestApi;
let user: TestUser;
let base: string;
let seen: Seen[];
let answer: (response: ServerResponse) => void;

/** The tenant's server; each test sets its answer. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    });
    answer(response);
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  api = await openTestApi({ EGRESS_ALLOW: `127.0.0.1:${port}` });
  user = await api.createUser();
});
beforeEach(() => {
  seen = [];
  answer = (response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'x-trace': '7' }).end('{"ok":true}');
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await api.close();
});

async function createTool(body: object): Promise<string> {
  const {
    status,
    text,
    body: tool,
  } = await api.request('POST', '/v1/agent/tools', { key: user.key, body: { name: 'Look up', ...body } });
  if (status !== 201) throw new Error(text);
  return `/v1/agent/tools/${tool.tool_id}/test`;
}
const run = (route: string, args?: object, key = user.key): Promise<TestResponse> =>
  api.request('POST', route, { key, body: args === undefined ? {} : { arguments: args } });

describe('a tool test', () => {
  it('sends one real request with arguments as headers and body, stored credentials and the saved URL', async () => {
    const route = await createTool({
      url: `${base}/orders/{{order}}?day={{system.today}}`,
      arguments: [{ name: 'order' }],
      body_template:
        '{"order":"{{order}}","count":{{count}},"caller":"{{system.caller_number}}","none":"{{missing}}"}',
      headers: [
        { name: 'X-Order', value: 'no. {{order}}' },
        { name: 'Authorization', value: 'Bearer sealed-secret', kind: 'authorization_bearer' },
      ],
    });
    const { status, body } = await run(route, {
      order: 'a "b"\n',
      count: 3,
      system: { caller_number: '+14155550123' },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      status_code: 200,
      latency_ms: expect.any(Number),
      headers: expect.objectContaining({ 'content-type': 'application/json', 'x-trace': '7' }),
      body: '{"ok":true}',
      response_truncated: false,
      error: null,
    });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/orders/%7B%7Border%7D%7D?day={{system.today}}' });
    expect(seen[0]?.headers).toMatchObject({
      'x-order': 'no. a "b"',
      authorization: 'Bearer sealed-secret',
      'content-type': 'application/json',
    });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      order: 'a "b"\n',
      count: 3,
      caller: '+14155550123',
      none: '',
    });
  });

  it('ignores a stored mock response', async () => {
    const route = await createTool({
      url: `${base}/real`,
      mock_responses: [{ status_code: 418, body: 'mocked' }],
    });
    expect((await run(route)).body).toMatchObject({ status_code: 200, body: '{"ok":true}' });
    expect(seen.map(({ url }) => url)).toEqual(['/real']);
  });

  it('leaves system variables empty unless they are supplied as a nested object', async () => {
    const route = await createTool({
      url: base,
      content_type: 'text/plain',
      body_template: '[{{system.today}}] [{{plan}}]',
    });
    await run(route);
    await run(route, { 'system.today': 'x', system: 'y', plan: '{{system.today}}' });
    expect(seen.map((request) => request.body)).toEqual(['[] []', '[] [{{system.today}}]']);
  });

  it('security 10: rejects arguments that make the body exceed 1,048,576 characters, with advice', async () => {
    const route = await createTool({
      url: base,
      content_type: 'text/plain',
      body_template: '{{a}}'.repeat(20_000),
    });
    const answer = await run(route, { a: 'x'.repeat(20_000) });
    expect([answer.status, answer.text]).toEqual([
      422,
      expect.stringContaining(
        'longer than 1048576 characters with its placeholders filled in: use shorter values, or fewer ' +
          'placeholders',
      ),
    ]);
    expect(seen).toEqual([]);
  });

  it('security 10: rejects arguments nested 100,000 levels deep with a 422 that names the limit', async () => {
    const route = await createTool({ url: base });
    const payload = `{"arguments":{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    const headers = { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' };
    const response = await api.app.inject({ method: 'POST', url: route, headers, payload });
    expect([response.statusCode, response.body]).toEqual([
      422,
      expect.stringContaining('must be at most 100 levels deep'),
    ]);
    expect(seen).toEqual([]);
  });

  it('keeps the first 64 KB of the answer and says if there was more', async () => {
    const route = await createTool({ url: base });
    answer = (response) => response.end('x'.repeat(65_536));
    expect((await run(route)).body).toMatchObject({ body: 'x'.repeat(65_536), response_truncated: false });
    answer = (response) => response.end('x'.repeat(65_537));
    expect((await run(route)).body).toMatchObject({ body: 'x'.repeat(65_536), response_truncated: true });
  });

  it('returns an answer of any status, and does not follow redirects', async () => {
    const route = await createTool({ url: base, method: 'GET' });
    answer = (response) => response.writeHead(500).end('stack trace');
    expect((await run(route)).body).toMatchObject({ status_code: 500, body: 'stack trace', error: null });
    answer = (response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
    expect((await run(route)).body).toMatchObject({
      status_code: 302,
      headers: expect.objectContaining({ location: 'http://10.0.0.1/' }),
    });
    expect(seen.map((request) => request.method)).toEqual(['GET', 'GET']);
  });

  it('measures the response time, and stops at the tool’s timeout', async () => {
    const route = await createTool({ url: base, timeout_seconds: 7 });
    let waiting: ServerResponse | undefined;
    answer = (response) => {
      waiting = response;
    };
    const slow = run(route);
    await expect.poll(() => seen.length).toBe(1);
    await api.clock.advance(1_500);
    waiting?.end('late');
    expect((await slow).body).toMatchObject({ status_code: 200, body: 'late', latency_ms: 1_500 });
    const never = run(route);
    await expect.poll(() => seen.length).toBe(2);
    await api.clock.advance(7_001);
    expect((await never).body).toEqual({
      status_code: null,
      latency_ms: 7_000,
      headers: {},
      body: '',
      response_truncated: false,
      error: 'No complete answer within 7000 ms',
    });
  });

  it.each([
    [
      'an address that is not public',
      { url: 'https://private.example.com/x' },
      'The host is not a public address',
    ],
    ['a URL that is all placeholder', { url: '{{url}}' }, 'The URL is malformed'],
  ])('reports %s as an error', async (_name, tool, error) => {
    const { status, body } = await run(await createTool(tool), { url: base });
    expect([status, body.status_code, body.error]).toEqual([200, null, error]);
  });

  it('reports a broken connection without the data sent', async () => {
    answer = (response) => response.destroy();
    const headers = [
      { name: 'Authorization', value: 'Bearer {{a}} sealed-secret', kind: 'authorization_bearer' },
    ];
    const route = await createTool({ url: base, headers });
    expect((await run(route)).body.error).toMatch(/^The request failed \(\w+\)$/);
    // Characters that are not allowed in a header.
    for (const a of ['\u0000', '\ud83d\ude00']) {
      const { status, text } = await run(route, { a });
      expect(status).toBe(200);
      expect(text).not.toContain('sealed-secret');
    }
  });

  it('rejects client tools, unknown fields and a missing body, and treats other teams’ tools as missing', async () => {
    const client = await createTool({ name: 'openPage', tool_type: 'client' });
    expect((await run(client, {})).status).toBe(422);
    const route = await createTool({ url: base });
    expect((await api.request('POST', route, { key: user.key, body: { arguments: [] } })).status).toBe(422);
    expect((await api.request('POST', route, { key: user.key, body: { args: {} } })).status).toBe(422);
    expect((await api.request('POST', route, { key: user.key })).status).toBe(415);
    const otherUser = await api.createUser();
    expect((await run(route, {}, otherUser.key)).status).toBe(404);
    expect((await run('/v1/agent/tools/missing/test')).status).toBe(404);
    expect(seen).toHaveLength(0);
  });
});

describe('the share of one account in tool tests', () => {
  it('security 16: limits the tests in progress and the tests started per minute', async () => {
    const other = await openTestApi({
      EGRESS_ALLOW: new URL(base).host,
      LIMIT_TOOL_TESTS: '2',
      LIMIT_TOOL_TESTS_PER_MINUTE: '5',
    });
    try {
      const { key } = await other.createUser();
      const tool = await other.request('POST', '/v1/agent/tools', {
        key,
        body: { name: 'Slow', url: `${base}/` },
      });
      const test = () =>
        other.request('POST', `/v1/agent/tools/${tool.body.tool_id}/test`, { key, body: {} });
      const held: ServerResponse[] = [];
      answer = (response) => void held.push(response);
      const running = [test(), test()];
      await expect.poll(() => held.length).toBe(2);
      const refused = await test();
      expect([refused.status, refused.body.reason, refused.headers['retry-after']]).toEqual([
        429,
        'too_many_at_once',
        '1',
      ]);
      for (const response of held) response.end();
      expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
      answer = (response) => response.end();
      for (const expected of [200, 200]) expect((await test()).status).toBe(expected);
      expect((await test()).body.reason).toBe('too_many_a_minute');
    } finally {
      await other.close();
    }
  });
});
