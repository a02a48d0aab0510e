import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
let config: string;

beforeAll(async () => {
  api = await openTestApi({ OPENAI_API_KEY: 'sk-test' });
  user = await api.createUser();
  const { body } = await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'a' } });
  config = `/v1/agent/agents/${body.agent_id}/config`;
});
afterAll(() => api.close());

/** A patch that sets the field at this path. */
function patchOf(path: string, value: unknown): object {
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
}

/** A list of `count` distinct names. */
const named = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `n${index}` }));
const texts = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);
const keys = (count: number) =>
  [...'0123456789*#1'].slice(0, count).map((key) => ({ key, label: 'l', value: 'v' }));
const destination = (over: object) => [{ phone_number: '+14155550101', ...over }];
const endpoint = (chars: number) =>
  `https://a.example.com/${'x'.repeat(chars - 'https://a.example.com/'.length)}`;

it('a new agent’s configuration has every default of the table', async () => {
  const { body } = await api.request('GET', config, { key: user.key });
  expect(body).toEqual({
    agent_id: expect.any(String),
    config_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    updated_at: expect.stringMatching(/Z$/),
    prompt: {
      system_prompt: '',
      first_message_mode: 'prompt',
      first_message: 'Hi! Thanks for calling — how can I help you today?',
      first_message_prompt: 'Greet the caller and ask what you can help with.',
    },
    voice: {
      voice_id: 'default',
      speaking_language: 'en',
      expressive: false,
      speed: 1,
      pronunciation_dictionary_ids: [],
    },
    asr: {
      model: expect.stringMatching(/^[a-z]+:.+/),
      multilingual: false,
      strict_language: false,
      keyterms: [],
    },
    conversation: {
      max_duration_seconds: 1800,
      response_wait_ms: 550,
      eagerness: 'balanced',
      response_max_wait_ms: null,
      interruptible: true,
      interruption_sensitivity: 'balanced',
      interruption_ignore_phrases: [],
      speculative_response: true,
      reengage_enabled: false,
      hangup_after_seconds: 60,
      hangup_farewell_enabled: false,
      record_audio: true,
      timezone: '',
      transfer_destinations: [],
      transfer_refuse_questions: true,
      outbound: { amd_enabled: true, voicemail: { action: 'hangup', message: '' } },
      keypad_menu: {
        enabled: false,
        prompt: '',
        options: [],
        accept_speech: true,
        variable: 'menu_choice',
        no_input_timeout_seconds: 5,
        max_attempts: 2,
        retry_message: '',
        fallback_value: '',
      },
      keypad_input: { enabled: false, terminator: '#', inter_digit_timeout_seconds: 2 },
    },
    tools: {
      enabled: true,
      tool_ids: [],
      system_tools: {
        hang_up_call: false,
        hang_up_call_farewell_mode: 'generated',
        hang_up_call_farewell_message: '',
        hang_up_call_refuse_questions: false,
      },
    },
    webhooks: { conversation_init: null, post_call: [] },
    knowledge_base: { enabled: false, knowledge_source_ids: [] },
    analysis: { summary: { enabled: true, prompt: null, language: 'en' }, data_fields: [], criteria: [] },
    guardrails: { focus: false, manipulation: false },
    llm: { model: expect.stringMatching(/^openai\/.+/), custom: null },
    variables: { defaults: {}, on_missing: 'keep' },
  });
});

it('elements of lists have their defaults', async () => {
  const { body } = await api.request('PATCH', config, {
    key: user.key,
    body: {
      conversation: { transfer_destinations: destination({}) },
      analysis: { data_fields: [{ name: 'a' }], criteria: [{ name: 'c' }] },
    },
  });
  expect(body.analysis).toMatchObject({
    data_fields: [{ name: 'a', type: 'text', description: '' }],
    criteria: [{ name: 'c', description: '' }],
  });
  expect(body.conversation.transfer_destinations).toEqual([
    {
      type: 'phone',
      label: '',
      description: '',
      phone_number: '+14155550101',
      sip_uri: '',
      mode: 'cold',
      warm_connect: 'confirm',
      announcement_mode: 'generated',
      announcement_message: '',
      warm_briefing_instructions: '',
      on_failure: { action: 'return_to_agent', message: '' },
    },
  ]);
});

describe('the bounds of a configuration', () => {
  it.each<[path: string, taken: unknown[], refused: unknown[]]>([
    ['prompt.first_message_mode', ['off', 'fixed', 'prompt'], ['on', '']],
    ['prompt.first_message', ['', 'x'.repeat(10_000)], ['x'.repeat(10_001), 7]],
    ['prompt.first_message_prompt', ['', 'x'.repeat(10_000)], ['x'.repeat(10_001)]],
    ['voice.voice_id', ['x'.repeat(256)], ['x'.repeat(257)]],
    ['voice.speaking_language', ['en', 'ja', 'tl', 'af'], ['en-US', 'xx', '']],
    ['voice.speed', [0.5, 2], [0.49, 2.01, '1']],
    ['voice.pronunciation_dictionary_ids', [texts(3)], [texts(4), ['a', 1]]],
    ['asr.keyterms', [texts(50)], [texts(51), [1]]],
    ['conversation.max_duration_seconds', [60, 3600], [59, 3601, 60.5]],
    ['conversation.response_wait_ms', [300, 2000], [299, 2001]],
    ['conversation.response_max_wait_ms', [0, 4000, null], [-1, 4001]],
    ['conversation.eagerness', ['relaxed', 'balanced', 'eager'], ['keen']],
    ['conversation.interruption_sensitivity', ['low', 'balanced', 'high'], ['max']],
    ['conversation.interruption_ignore_phrases', [texts(50)], [texts(51)]],
    ['conversation.hangup_after_seconds', [10, 3600], [9, 3601]],
    ['conversation.timezone', ['', 'Europe/Rome', 'UTC'], ['x'.repeat(65), 'Rome']],
    ['conversation.outbound.voicemail.action', ['hangup', 'leave_message', 'leave_prompt_message'], ['wait']],
    ['conversation.outbound.voicemail.message', ['x'.repeat(10_000)], ['x'.repeat(10_001)]],
    [
      'conversation.keypad_menu.options',
      [keys(1), keys(12)],
      [keys(13), [{ key: 'a', label: 'l', value: 'v' }]],
    ],
    [
      'conversation.keypad_menu.options',
      [[{ key: '1', label: 'x'.repeat(64), value: 'x'.repeat(256) }]],
      [[{ key: '1', label: 'x'.repeat(65), value: '' }]],
    ],
    [
      'conversation.keypad_menu.options',
      [],
      [[{ key: '1', label: '', value: 'x'.repeat(257) }], [{ key: '12', label: '', value: '' }]],
    ],
    ['conversation.keypad_menu.no_input_timeout_seconds', [1, 30], [0, 31]],
    ['conversation.keypad_menu.max_attempts', [1, 5], [0, 6]],
    ['conversation.keypad_menu.variable', ['menu_choice', 'A1'], ['1a', 'a.b']],
    ['conversation.keypad_input.terminator', ['#', '*', ''], ['1', '##']],
    ['conversation.keypad_input.inter_digit_timeout_seconds', [1, 10], [0, 11]],
    [
      'conversation.transfer_destinations',
      [destination({ label: 'x'.repeat(64) })],
      [destination({ label: 'x'.repeat(65) })],
    ],
    [
      'conversation.transfer_destinations',
      [destination({ description: 'x'.repeat(500) })],
      [destination({ description: 'x'.repeat(501) })],
    ],
    [
      'conversation.transfer_destinations',
      [destination({ mode: 'warm', warm_connect: 'direct' })],
      [destination({ mode: 'hot' })],
    ],
    [
      'conversation.transfer_destinations',
      [destination({ announcement_mode: 'fixed', announcement_message: 'x'.repeat(500) })],
      [destination({ announcement_message: 'x'.repeat(501) }), destination({ announcement_mode: 'loud' })],
    ],
    [
      'conversation.transfer_destinations',
      [destination({ warm_briefing_instructions: 'x'.repeat(1_000) })],
      [destination({ warm_briefing_instructions: 'x'.repeat(1_001) })],
    ],
    [
      'conversation.transfer_destinations',
      [[{ type: 'sip', sip_uri: 'sip:desk@pbx.example.com' }]],
      [[{ type: 'sip', sip_uri: 'desk' }], [{ type: 'sip', sip_uri: 'sip:desk@pbx.example.com:99999' }]],
    ],
    // security 12: a machine on the operator's network is not a valid destination.
    [
      'conversation.transfer_destinations',
      [],
      ['10.0.0.7', '127.0.0.1:15999', 'private.example.com'].map((host) => [
        { type: 'sip', sip_uri: `sip:desk@${host}` },
      ]),
    ],
    ['tools.system_tools.hang_up_call_farewell_mode', ['generated', 'fixed', 'off'], ['loud']],
    ['tools.system_tools.hang_up_call_farewell_message', ['x'.repeat(500)], ['x'.repeat(501)]],
    [
      'webhooks.post_call',
      [texts(5).map((name) => ({ url: `https://${name}.example.com` }))],
      [[{ url: endpoint(4_001) }], [{}]],
    ],
    [
      'webhooks.post_call',
      [[{ url: endpoint(4_000), secret: 'x'.repeat(256) }]],
      [[{ url: endpoint(100), secret: 'x'.repeat(257) }]],
    ],
    [
      'webhooks.conversation_init',
      [{ url: endpoint(100), timeout_seconds: 8 }],
      [{ url: endpoint(100), timeout_seconds: 8.1 }],
    ],
    [
      'webhooks.conversation_init',
      [{ url: endpoint(100), timeout_seconds: 1 }],
      [{ url: endpoint(100), timeout_seconds: 0.9 }],
    ],
    ['analysis.summary.prompt', ['x'.repeat(1_000), null], ['x'.repeat(1_001)]],
    ['analysis.data_fields', [named(20)], [named(21), [{ name: `a${'b'.repeat(64)}` }], [{ name: '_a' }]]],
    [
      'analysis.data_fields',
      [[{ name: 'a', type: 'boolean' }]],
      [[{ name: 'a', type: 'date' }], [{ name: 'a', description: 'x'.repeat(501) }]],
    ],
    [
      'analysis.data_fields',
      [[{ name: 'a', type: 'enum', enum_options: texts(20) }]],
      [[{ name: 'a', type: 'enum', enum_options: texts(21) }]],
    ],
    [
      'analysis.data_fields',
      [[{ name: 'a', type: 'enum', enum_options: texts(2) }]],
      [[{ name: 'a', type: 'text', enum_options: texts(2) }]],
    ],
    [
      'analysis.criteria',
      [named(10)],
      [named(11), [{ name: 'A' }], [{ name: 'a', description: 'x'.repeat(501) }]],
    ],
    ['variables.on_missing', ['keep', 'empty', 'reject'], ['fail']],
    [
      'variables.defaults',
      [{ a: 'x'.repeat(100_000), b: 1, c: true }],
      [{ a: 'x'.repeat(100_001) }, { 'a.b': 'x' }, { a: null }, { a: [] }],
    ],
    [
      'variables.defaults',
      [Object.fromEntries(texts(500).map((name) => [name, 1]))],
      [Object.fromEntries(texts(501).map((name) => [name, 1]))],
    ],
  ])('%s', async (path, taken, refused) => {
    for (const value of taken) {
      const { status, text } = await api.request('PATCH', config, {
        key: user.key,
        body: patchOf(path, value),
      });
      expect([status, status === 200 ? '' : text]).toEqual([200, '']);
    }
    for (const value of refused) {
      const { status, body } = await api.request('PATCH', config, {
        key: user.key,
        body: patchOf(path, value),
      });
      expect([JSON.stringify(value).slice(0, 80), status]).toEqual([JSON.stringify(value).slice(0, 80), 422]);
      expect(body[0].loc.slice(0, 3)).toEqual(['body', ...path.split('.').slice(0, 2)]);
    }
  });

  it.each([
    'prompt',
    'voice',
    'asr',
    'conversation',
    'conversation.outbound',
    'conversation.outbound.voicemail',
    'conversation.keypad_menu',
    'conversation.keypad_input',
    'tools',
    'tools.system_tools',
    'webhooks',
    'knowledge_base',
    'analysis',
    'analysis.summary',
    'guardrails',
    'llm',
    'variables',
  ])('%s is strict: unknown fields in it and null for it are 422', async (path) => {
    const unknown = await api.request('PATCH', config, {
      key: user.key,
      body: patchOf(`${path}.surplus`, 1),
    });
    expect([unknown.status, unknown.body[0]?.type, unknown.body[0]?.loc]).toEqual([
      422,
      'extra_forbidden',
      ['body', ...path.split('.'), 'surplus'],
    ]);
    expect((await api.request('PATCH', config, { key: user.key, body: patchOf(path, null) })).status).toBe(
      422,
    );
  });
});
