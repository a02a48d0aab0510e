import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser({ credit: '1000.00' });
  agentId = await api.publishAgent(
    user,
    {},
    { overrides_allowed: ['first_message', 'system_prompt', 'voice_id', 'language'] },
  );
});
afterAll(() => api.close());

const create = (extra: object) =>
  api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId, ...extra } });
const entries = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`v${index}`, value]));
/** An object whose JSON is exactly this many bytes. */
const jsonOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });

describe('the bounds of a session request', () => {
  it.each<[field: string, taken: unknown[], refused: unknown[]]>([
    ['name', [null, '', 'x'.repeat(128)], ['x'.repeat(129), 7]],
    [
      'overrides',
      [null, {}, { first_message: 'x'.repeat(10_000) }],
      [{ first_message: 'x'.repeat(10_001) }, { surplus: 1 }, []],
    ],
    [
      'overrides',
      [{ first_message_prompt: 'x'.repeat(10_000) }],
      [{ first_message_prompt: 'x'.repeat(10_001) }, { language: 'xx' }],
    ],
    [
      'overrides',
      [{ voice_id: 'x'.repeat(256), language: 'tl' }],
      [{ voice_id: 'x'.repeat(257) }, { first_message: 'a', first_message_prompt: 'b' }],
    ],
    ['overrides', [{ system_prompt: ' hello'.repeat(4_000) }], [{ system_prompt: ' hello'.repeat(4_001) }]],
    [
      'dynamic_variables',
      [null, {}, { a: 'x'.repeat(100_000), B_2: 1.5, c: true }],
      [{ a: 'x'.repeat(100_001) }, { a: null }, { a: {} }, { a: [] }],
    ],
    [
      'dynamic_variables',
      [entries(500, 1)],
      [entries(501, 1), { '1a': 'x' }, { 'a b': 'x' }, { _a: 'x' }, { 'system.today': 'x' }, { ä: 'x' }],
    ],
    ['dynamic_variables', [entries(10, 'x'.repeat(100_000))], [entries(11, 'x'.repeat(99_000))]],
    ['end_user_id', [null, 'x'.repeat(256)], ['x'.repeat(257)]],
    ['metadata', [null, jsonOf(16 * 1024)], [jsonOf(16 * 1024 + 1), [], 'text']],
    ['llm_extra_body', [null, jsonOf(16 * 1024)], [jsonOf(16 * 1024 + 1)]],
    ['tool_events', [true, false], [null, 'true']],
    ['record_audio', [null, true, false], ['false']],
    ['timezone', [null, 'Europe/Rome'], ['Rome', '', 'x'.repeat(65)]],
    ['client_timezone', [null, 'Europe/Rome', 'nonsense'], ['x'.repeat(65)]],
    ['world_context', [true, false], [null]],
  ])('accept only values within them: %s', async (field, taken, refused) => {
    for (const value of taken) {
      const { status, text } = await create({ [field]: value });
      expect([JSON.stringify(value).slice(0, 80), status, status === 201 ? '' : text]).toEqual([
        JSON.stringify(value).slice(0, 80),
        201,
        '',
      ]);
    }
    for (const value of refused) {
      const { status, body } = await create({ [field]: value });
      expect([JSON.stringify(value).slice(0, 80), status, body[0]?.loc.slice(0, 2)]).toEqual([
        JSON.stringify(value).slice(0, 80),
        422,
        ['body', field],
      ]);
    }
  });
});
