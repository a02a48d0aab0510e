import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from './test-api.ts';

let api: TestApi;
let user: TestUser;
let routes: { method: 'POST' | 'PATCH' | 'PUT'; url: string; fields: string[] }[];
/** Appears in every generated body; no refusal may repeat it. */
const MARK = 'sk-planted-5f3a';

/** The field names of every object in a JSON schema. */
function fieldNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own =
    'properties' in schema && typeof schema.properties === 'object'
      ? Object.keys(schema.properties ?? {})
      : [];
  return [...own, ...Object.values(schema).flatMap(fieldNames)];
}

beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser({ phone_number_limit: 100_000, credit: '100000.00' });
  const agent = (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'a' } })).body
    .agent_id;
  const tool = (
    await api.request('POST', '/v1/agent/tools', {
      key: user.key,
      body: { name: 't', url: 'https://private.example.com' },
    })
  ).body.tool_id;
  const number = (
    await api.request('POST', '/v1/agent/phone-numbers', {
      key: user.key,
      body: { provider: 'sip', phone_number: '+15550109999', inbound_allowed_addresses: ['203.0.113.1'] },
    })
  ).body.phone_number_id;
  const simulation = { scenario: 's', success_conditions: [{ name: 'c', description: 'd' }] };
  const test = (
    await api.request('POST', '/v1/agent/tests', {
      key: user.key,
      body: { name: 't', test_type: 'simulation', agent_ids: [agent], simulation },
    })
  ).body.test_id;
  const { paths } = (await api.request('GET', '/openapi.json')).body;
  routes = Object.entries(paths as Record<string, Record<string, { requestBody?: unknown }>>)
    .filter(([path]) => /^\/(v1\/agent\/(agents|tools|tests|phone-numbers)|v1\/keys)/.test(path))
    .flatMap(([path, methods]) =>
      (['POST', 'PATCH', 'PUT'] as const).flatMap((method) => {
        const operation = methods[method.toLowerCase()];
        const url = path
          .replace('{agent_id}', agent)
          .replace('{tool_id}', tool)
          .replace('{phone_number_id}', number)
          .replace('{test_id}', test);
        return operation?.requestBody
          ? [{ method, url, fields: [...new Set(fieldNames(operation.requestBody))] }]
          : [];
      }),
    )
    .filter((route) => !route.url.includes('preview-sessions'));
});
afterAll(() => api.close());

describe('every JSON route', () => {
  it('answers any body with a status below 500 and never repeats its content', async () => {
    expect(routes.length).toBeGreaterThanOrEqual(9);
    const leaf = fc.oneof(
      fc.constantFrom(
        null,
        true,
        0,
        -1,
        1e308,
        '',
        MARK,
        '{{system.x}}',
        'https://a.example.com',
        '+14155550123',
        '\u0000',
        '\ud800',
        '$where',
        '__proto__',
        'Bearer x',
      ),
      fc.string(),
      fc.double({ noNaN: true }),
    );
    const bodyOf = (fields: string[]) =>
      fc.letrec((tie) => ({
        value: fc.oneof(
          { depthSize: 'small', withCrossShrink: true },
          leaf,
          fc.array(tie('value'), { maxLength: 3 }),
          tie('object'),
        ),
        object: fc.dictionary(
          fc.oneof(
            { weight: 8, arbitrary: fc.constantFrom(...fields) },
            { weight: 1, arbitrary: fc.constantFrom('$set', 'a.b', 'x y') },
          ),
          tie('value'),
          { maxKeys: 6 },
        ),
      })).object;
    for (const { method, url, fields } of routes) {
      await fc.assert(
        fc.asyncProperty(bodyOf(fields), async (body) => {
          const { status, text } = await api.request(method, url, { key: user.key, body });
          // 502 is the answer when the test catalogue does not have the requested number.
          expect(status === 502 || status < 500, `${method} ${url} ${status} ${JSON.stringify(body)}`).toBe(
            true,
          );
          if (status >= 400)
            expect(text.includes(MARK), `${method} ${url} repeats ${JSON.stringify(body)}`).toBe(false);
        }),
        { numRuns: 30, seed: 20_261_121 },
      );
    }
  });
});
