import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestResponse, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestApi({ EGRESS_ALLOW: '127.0.0.1' });
});
beforeEach(async () => {
  user = await api.createUser();
  agentId = (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'a' } })).body
    .agent_id;
});
afterAll(() => api.close());

function patch(body: unknown): Promise<TestResponse> {
  return api.request('PATCH', `/v1/agent/agents/${agentId}/config`, { key: user.key, body });
}

/** Table test rows, named by the value they send, cut to a readable length. */
function named<Row>(rows: readonly Row[]): [string, Row][] {
  return rows.map((row) => [JSON.stringify(row).slice(0, 100), row]);
}

async function stored() {
  const agent = await api.context.models.agents.findById(agentId).lean();
  if (!agent) throw new Error('the agent is gone');
  return agent;
}

describe('a patch', () => {
  it('merges objects deeply, and replaces lists and variable defaults completely', async () => {
    await patch({
      asr: { keyterms: ['one', 'two'] },
      variables: { defaults: { a: 1, b: 'x' } },
      conversation: { outbound: { voicemail: { message: 'hello' } } },
    });
    const { body } = await patch({
      asr: { keyterms: ['three'] },
      variables: { defaults: { c: true } },
      conversation: { outbound: { amd_enabled: false } },
    });
    expect(body.asr.keyterms).toEqual(['three']);
    expect(body.variables).toEqual({ defaults: { c: true }, on_missing: 'keep' });
    expect(body.conversation.outbound).toEqual({
      amd_enabled: false,
      voicemail: { action: 'hangup', message: 'hello' },
    });
    expect(body.voice.voice_id).toBe('default');
  });

  it('clears a text with an empty string and returns the complete draft with its new hash', async () => {
    const before = (await patch({ prompt: { system_prompt: 'x' } })).body;
    const after = (await patch({ prompt: { system_prompt: '' } })).body;
    expect(before.config_hash).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(after.config_hash).not.toBe(before.config_hash);
    expect(after).toMatchObject({ agent_id: agentId, prompt: { system_prompt: '' } });
    expect((await api.request('GET', `/v1/agent/agents/${agentId}/config`, { key: user.key })).body).toEqual(
      after,
    );
  });

  it('accepts null only where null is the default', async () => {
    const taken = {
      conversation: { response_max_wait_ms: null },
      analysis: { summary: { prompt: null } },
      llm: { custom: null },
      webhooks: { conversation_init: null, post_call: null },
    };
    const { status, body } = await patch(taken);
    expect(status).toBe(200);
    expect(body.webhooks).toEqual({ conversation_init: null, post_call: [] });
    for (const wrong of [
      { prompt: { system_prompt: null } },
      { prompt: null },
      { voice: { speed: null } },
      { tools: { tool_ids: null } },
      { llm: { model: null } },
      { variables: { defaults: null } },
    ]) {
      expect((await patch(wrong)).status, JSON.stringify(wrong)).toBe(422);
    }
  });

  it.each(
    named<object>([
      { prompt: { first_message_mode: 'shout' } },
      { prompt: { first_message: 'x'.repeat(10_001) } },
      { voice: { speed: 2.1 } },
      { voice: { speaking_language: 'xx' } },
      { asr: { keyterms: Array.from({ length: 51 }, () => 'k') } },
      { conversation: { max_duration_seconds: 59 } },
      { conversation: { response_wait_ms: 2_001 } },
      { conversation: { timezone: 'Mars/Olympus' } },
      { conversation: { timezone: '+01:00' } },
      { conversation: { keypad_menu: { enabled: true } } },
      {
        conversation: {
          keypad_menu: {
            options: [
              { key: '1', label: 'a', value: 'a' },
              { key: '1', label: 'b', value: 'b' },
            ],
          },
        },
      },
      { conversation: { transfer_destinations: [{ phone_number: '12345' }] } },
      { conversation: { transfer_destinations: [{ phone_number: '+4930123456' }] } },
      {
        conversation: {
          transfer_destinations: [{ phone_number: '+14155550101' }, { phone_number: '+14155550102' }],
        },
      },
      {
        conversation: {
          transfer_destinations: [
            { label: 'Desk', phone_number: '+14155550101' },
            { label: 'desk', phone_number: '+14155550102' },
          ],
        },
      },
      { tools: { tool_ids: ['missing'] } },
      { knowledge_base: { knowledge_source_ids: ['missing'] } },
      { analysis: { data_fields: [{ name: 'Bad-Name' }] } },
      { analysis: { data_fields: [{ name: 'a' }, { name: 'a' }] } },
      { analysis: { data_fields: [{ name: 'a', type: 'enum', enum_options: ['one'] }] } },
      { analysis: { criteria: [{ name: 'a' }, { name: 'a' }] } },
      { llm: { model: 'nobody/model' } },
      { asr: { model: 'nobody:model' } },
      { variables: { defaults: { '1bad': 'x' } } },
      { variables: { on_missing: 'guess' } },
      { prompt: { system_prompt: 'Call from {{system.phone}}' } },
      { agent_id: 'x' },
    ]),
  )('rejects %s with 422 and changes nothing', async (_name, body) => {
    const before = await stored();
    expect((await patch(body)).status).toBe(422);
    expect(await stored()).toEqual(before);
  });

  it('accepts only existing system variables and zones, and destinations in the allowed countries', async () => {
    const { status } = await patch({
      prompt: { system_prompt: 'Today is {{ system.today }}, {{name}}.' },
      conversation: {
        timezone: 'Europe/Berlin',
        transfer_destinations: [
          { label: 'A', phone_number: '+14155550101' },
          { label: 'B', phone_number: '+442079460000', mode: 'warm' },
        ],
      },
    });
    expect(status).toBe(200);
  });

  it('measures the system prompt in tokens', async () => {
    const word = ' hello';
    expect((await patch({ prompt: { system_prompt: word.repeat(4_000) } })).status).toBe(200);
    const { status, body } = await patch({ prompt: { system_prompt: word.repeat(5_001) } });
    expect(status).toBe(422);
    expect(body).toEqual([
      {
        type: 'value_error',
        loc: ['body', 'prompt', 'system_prompt'],
        msg: 'Value error, system_prompt exceeds 4000 tokens (got 5001)',
        ctx: { error: 'system_prompt exceeds 4000 tokens (got 5001)' },
        in: 'body',
      },
    ]);
  });

  it('enables knowledge when sources are given without the enabled field', async () => {
    const at = new Date();
    const source = {
      team_id: user.teamId,
      workspace_id: user.workspaceId,
      name: 'k',
      description: '',
      file_name: 'k.txt',
      size_bytes: 4,
      chunk_count: 1,
      revision_number: 1,
      revision_id: 'r1',
      created_at: at,
      updated_at: at,
    };
    await api.context.models.knowledge.create({ _id: `k-${agentId}`, ...source });
    expect(
      (await patch({ knowledge_base: { knowledge_source_ids: [`k-${agentId}`] } })).body.knowledge_base
        .enabled,
    ).toBe(true);
    expect(
      (await patch({ knowledge_base: { enabled: false, knowledge_source_ids: [`k-${agentId}`] } })).body
        .knowledge_base.enabled,
    ).toBe(false);
  });

  it('is kept even if others are made concurrently', async () => {
    const fields = ['first_message', 'first_message_prompt', 'system_prompt'];
    const answers = await Promise.all(fields.map((field) => patch({ prompt: { [field]: `new ${field}` } })));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200]);
    const { config, rev } = await stored();
    expect(config.prompt).toMatchObject({
      first_message: 'new first_message',
      first_message_prompt: 'new first_message_prompt',
      system_prompt: 'new system_prompt',
    });
    expect(rev).toBe(3);
  });
});

describe('webhooks of an agent', () => {
  it('keep secrets by URL, write-only and sealed', async () => {
    const { body } = await patch({
      webhooks: {
        post_call: [
          { url: 'https://a.example.com', secret: 'alpha-secret' },
          { url: 'https://b.example.com' },
        ],
      },
    });
    expect(body.webhooks.post_call).toEqual([
      { url: 'https://a.example.com', has_secret: true },
      { url: 'https://b.example.com', has_secret: false },
    ]);
    const agent = await stored();
    expect(JSON.stringify(agent)).not.toContain('alpha-secret');
    expect(api.context.secretBox.open(agent.secrets.post_call[0]?.sealed ?? '')).toBe('alpha-secret');
    const kept = await patch({
      webhooks: {
        post_call: [{ url: 'https://b.example.com' }, { url: 'https://a.example.com', secret: null }],
      },
    });
    expect(kept.body.webhooks.post_call).toEqual([
      { url: 'https://b.example.com', has_secret: false },
      { url: 'https://a.example.com', has_secret: true },
    ]);
    const removed = await patch({ webhooks: { post_call: [{ url: 'https://a.example.com', secret: '' }] } });
    expect(removed.body.webhooks.post_call).toEqual([{ url: 'https://a.example.com', has_secret: false }]);
  });

  it('do not pass one endpoint’s secret to another that moves to a new URL', async () => {
    await patch({
      webhooks: {
        post_call: [{ url: 'https://a.example.com', secret: 's' }],
        conversation_init: { url: 'https://a.example.com', secret: 's' },
      },
    });
    const { body } = await patch({
      webhooks: {
        post_call: [{ url: 'https://c.example.com' }],
        conversation_init: { url: 'https://c.example.com' },
      },
    });
    expect(body.webhooks).toEqual({
      post_call: [{ url: 'https://c.example.com', has_secret: false }],
      conversation_init: { url: 'https://c.example.com', has_secret: false, timeout_seconds: 5 },
    });
  });

  it('accept a single object as a list of one, merge the init endpoint, and remove with null', async () => {
    const { body } = await patch({
      webhooks: {
        post_call: { url: 'https://a.example.com' },
        conversation_init: { url: 'https://i.example.com', secret: 's' },
      },
    });
    expect(body.webhooks.post_call).toEqual([{ url: 'https://a.example.com', has_secret: false }]);
    expect(
      (await patch({ webhooks: { conversation_init: { timeout_seconds: 3 } } })).body.webhooks
        .conversation_init,
    ).toEqual({
      url: 'https://i.example.com',
      has_secret: true,
      timeout_seconds: 3,
    });
    expect(
      (await patch({ webhooks: { conversation_init: null } })).body.webhooks.conversation_init,
    ).toBeNull();
    expect((await stored()).secrets.conversation_init).toEqual([]);
    expect((await patch({ webhooks: { conversation_init: { timeout_seconds: 3 } } })).status).toBe(422);
  });

  it.each(
    named<object>([
      Array.from({ length: 6 }, (_, index) => ({ url: `https://e${index}.example.com` })),
      [{ url: 'https://a.example.com' }, { url: 'https://a.example.com' }],
      [{ url: 'https://private.example.com/hook' }],
      [{ url: 'http://[::1]/hook' }],
      [{ url: 'http://10.0.0.1/hook' }],
      [{ url: 'ftp://a.example.com' }],
      [{ url: 'https://a.example.com', secret: 'x'.repeat(257) }],
      [{ url: `https://a.example.com/${'x'.repeat(4_000)}` }],
      [{ secret: 'x' }],
    ]),
  )('are 422 if post_call is %s', async (_name, post_call) => {
    expect((await patch({ webhooks: { post_call } })).status).toBe(422);
  });

  it('may use an address in EGRESS_ALLOW, even over plain http', async () => {
    expect((await patch({ webhooks: { post_call: [{ url: 'http://127.0.0.1:9000/hook' }] } })).status).toBe(
      200,
    );
  });
});

describe('a custom model', () => {
  const custom = {
    base_url: 'https://llm.example.com/v1/chat/completions',
    model: 'm',
    api_key: 'sk-custom',
  };

  it('is stored without its trailing path, with a sealed key reported as has_secret', async () => {
    const { body } = await patch({ llm: { custom } });
    expect(body.llm.custom).toEqual({ base_url: 'https://llm.example.com/v1', model: 'm', has_secret: true });
    const agent = await stored();
    expect(JSON.stringify(agent)).not.toContain('sk-custom');
    expect(api.context.secretBox.open(agent.secrets.llm_api_key ?? '')).toBe('sk-custom');
    const kept = await patch({ llm: { custom: { model: 'n', api_key: null } } });
    expect(kept.body.llm.custom).toEqual({
      base_url: 'https://llm.example.com/v1',
      model: 'n',
      has_secret: true,
    });
    expect((await patch({ llm: { custom: null } })).body.llm.custom).toBeNull();
    expect((await stored()).secrets.llm_api_key).toBeNull();
  });

  it('is removed when a platform model is chosen', async () => {
    await patch({ llm: { custom } });
    expect((await patch({ llm: { model: 'local/demo' } })).body.llm).toEqual({
      model: 'local/demo',
      custom: null,
    });
  });

  it.each(
    named<object>([
      { custom: { ...custom, api_key: undefined } },
      { custom: { ...custom, base_url: undefined } },
      { custom: { ...custom, base_url: 'http://llm.example.com/v1' } },
      { custom: { ...custom, base_url: 'https://llm.example.com/v1?x=1' } },
      { custom: { ...custom, base_url: 'https://private.example.com/v1' } },
      { custom: { ...custom, api_key: '' } },
      { custom, model: 'local/demo' },
    ]),
  )('is 422 if it is %s', async (_name, llm) => {
    expect((await patch({ llm })).status).toBe(422);
  });

  it('may use plain http on an allowed address', async () => {
    expect(
      (await patch({ llm: { custom: { ...custom, base_url: 'http://127.0.0.1:9001/v1' } } })).status,
    ).toBe(200);
  });
});

describe('GET /v1/agent/models', () => {
  it('lists the models that may be configured here, with one default each', async () => {
    const { body } = await api.request('GET', '/v1/agent/models', { key: user.key });
    for (const list of [body.llm, body.asr, body.voices])
      expect(list.filter((entry: { default: boolean }) => entry.default)).toHaveLength(1);
    expect(body.voices[0]).toEqual({
      id: expect.any(String),
      name: expect.any(String),
      languages: expect.any(Array),
      default: expect.any(Boolean),
    });
  });
});
