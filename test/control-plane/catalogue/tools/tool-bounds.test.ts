import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
const URL = 'https://shop.example.com/';

beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
});
afterAll(() => api.close());

const argument = (name: string, description = '') => [{ name, description }];
const mock = (over: object) => [{ body: '', ...over }];

describe('the bounds of a tool on creation and change', () => {
  it.each<[field: string, taken: unknown[], refused: unknown[]]>([
    ['name', ['x', 'x'.repeat(120)], ['', 'x'.repeat(121), null]],
    ['description', ['', 'x'.repeat(2_000)], ['x'.repeat(2_001), null]],
    [
      'arguments',
      [[], argument('a'), argument('x'.repeat(64), 'x'.repeat(500))],
      [argument(''), argument('x'.repeat(65)), argument('a', 'x'.repeat(501))],
    ],
    ['method', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], ['HEAD', 'get', '']],
    [
      'url',
      [URL + 'x'.repeat(4_000 - URL.length)],
      [URL + 'x'.repeat(4_001 - URL.length), 'https:/', 'https://u:p@shop.example.com/'],
    ],
    [
      'url',
      ['http://shop.example.com/'],
      [
        'http://localhost/',
        'http://10.1.2.3/',
        'http://[fd00::1]/',
        'http://169.254.169.254/',
        'http://a.localhost/',
      ],
    ],
    ['content_type', ['text/plain', 'x'.repeat(128)], ['x'.repeat(129)]],
    ['body_template', ['', 'x'.repeat(100_000)], ['x'.repeat(100_001)]],
    [
      'headers',
      [[{ name: 'X-A', value: 'x'.repeat(4_000) }]],
      [[{ name: 'X-A', value: 'x'.repeat(4_001) }], [{ name: '', value: 'a' }], [{ value: 'a' }]],
    ],
    [
      'headers',
      [[{ name: 'A', kind: 'authorization_bearer', value: 'Bearer x' }]],
      [[{ name: 'A', kind: 'bearer', value: 'x' }]],
    ],
    ['timeout_seconds', [1, 120], [0, 121, 1.5, '30']],
    ['error_handling', ['passthrough', 'hide'], ['raise']],
    [
      'mock_responses',
      [[], mock({ status_code: 100 }), mock({ status_code: 599, body: 'x'.repeat(100_000) })],
      [mock({ status_code: 99 })],
    ],
    [
      'mock_responses',
      [mock({ name: 'x'.repeat(120) })],
      [mock({ status_code: 600 }), mock({ body: 'x'.repeat(100_001) }), mock({ name: 'x'.repeat(121) })],
    ],
    ['expects_response', [true, false], ['true', null]],
    ['execution_mode', ['blocking', 'fire_and_forget', 'background'], ['later']],
  ])('%s', async (field, taken, refused) => {
    const base = { name: 'Look up', url: URL };
    const { body: tool } = await api.request('POST', '/v1/agent/tools', { key: user.key, body: base });
    const change = (value: unknown) =>
      api.request('PATCH', `/v1/agent/tools/${tool.tool_id}`, { key: user.key, body: { [field]: value } });
    const create = (value: unknown) =>
      api.request('POST', '/v1/agent/tools', { key: user.key, body: { ...base, [field]: value } });
    for (const value of taken) {
      const shown = JSON.stringify(value).slice(0, 80);
      expect([shown, (await create(value)).status, (await change(value)).status]).toEqual([shown, 201, 200]);
    }
    for (const value of refused) {
      const shown = JSON.stringify(value).slice(0, 80);
      const answers = [await create(value), await change(value)];
      expect([shown, ...answers.map(({ status }) => status)]).toEqual([shown, 422, 422]);
      for (const { body } of answers) expect(body[0].loc.slice(0, 2)).toEqual(['body', field]);
    }
  });

  it('a mock response gets its defaults, and a header is custom by default', async () => {
    const { body } = await api.request('POST', '/v1/agent/tools', {
      key: user.key,
      body: { name: 'a', url: URL, mock_responses: [{}], headers: [{ name: 'X-A', value: 'b' }] },
    });
    expect(body.mock_responses).toEqual([
      { name: '', status_code: 200, content_type: 'application/json', body: '' },
    ]);
    expect(body.headers).toEqual([{ name: 'X-A', kind: 'custom', value: 'b', has_secret: false }]);
  });

  it('timeouts up to 300 s are allowed for background tools only', async () => {
    const create = async (body: object) =>
      (
        await api.request('POST', '/v1/agent/tools', {
          key: user.key,
          body: { name: 'a', url: URL, ...body },
        })
      ).status;
    expect(await create({ execution_mode: 'background', timeout_seconds: 300 })).toBe(201);
    expect(await create({ execution_mode: 'background', timeout_seconds: 301 })).toBe(422);
    for (const execution_mode of ['blocking', 'fire_and_forget'])
      expect(await create({ execution_mode, timeout_seconds: 121 })).toBe(422);
  });
});
