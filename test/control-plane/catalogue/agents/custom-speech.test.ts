/** `custom_speech`: absent until set; its keys are sealed and stay with their hosts. */
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
  agentId = (await ask('POST', '/v1/agent/agents', { name: 'a' })).body.agent_id;
});
afterAll(() => api.close());

function ask(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<TestResponse> {
  return api.request(method, path, { key: user.key, ...(body === undefined ? {} : { body }) });
}

const patch = (custom_speech: unknown) =>
  ask('PATCH', `/v1/agent/agents/${agentId}/config`, { custom_speech });
const read = async () => (await ask('GET', `/v1/agent/agents/${agentId}/config`)).body;

async function stored() {
  const agent = await api.context.models.agents.findById(agentId).lean();
  if (!agent) throw new Error('the agent is gone');
  return agent;
}

const asr = { protocol: 'jambonz', url: 'wss://own.example.com/stt', api_key: 'sk-ears' } as const;
const tts = { protocol: 'openai', url: 'https://own.example.com/v1', api_key: 'sk-voice' } as const;

describe('custom speech', () => {
  it('is absent until it is set, and absent and without effect on the hash once it is removed', async () => {
    const before = await read();
    expect(before).not.toHaveProperty('custom_speech');
    expect((await stored()).secrets).not.toHaveProperty('custom_speech');
    const set = (await patch({ asr, tts })).body;
    expect(set.config_hash).not.toBe(before.config_hash);
    for (const removed of [await patch(null), await patch({ asr: null, tts: null })]) {
      expect(removed.body).not.toHaveProperty('custom_speech');
      expect(removed.body.config_hash).toBe(before.config_hash);
    }
    expect((await stored()).secrets).not.toHaveProperty('custom_speech');
  });

  it('gets its defaults, and reports its sealed keys as has_secret', async () => {
    const { body } = await patch({ asr, tts });
    expect(body.custom_speech).toEqual({
      asr: {
        protocol: 'jambonz',
        url: asr.url,
        model: '',
        language: '',
        sample_rate_hz: 8_000,
        interim_results: true,
        fallback: true,
        has_secret: true,
      },
      tts: {
        protocol: 'openai',
        url: tts.url,
        model: '',
        voice: '',
        language: '',
        sample_rate_hz: 24_000,
        fallback: true,
        has_secret: true,
      },
    });
    const agent = await stored();
    expect(JSON.stringify(agent)).not.toMatch(/sk-(ears|voice)/);
    expect(api.context.secretBox.open(agent.secrets.custom_speech?.asr ?? '')).toBe('sk-ears');
    expect(api.context.secretBox.open(agent.secrets.custom_speech?.tts ?? '')).toBe('sk-voice');
  });

  it('merges a change of one part, and keeps the other and both keys', async () => {
    await patch({ asr, tts });
    const { body } = await patch({ tts: { voice: 'ann', api_key: null } });
    expect(body.custom_speech).toMatchObject({
      asr: { url: asr.url, has_secret: true },
      tts: { url: tts.url, voice: 'ann', has_secret: true },
    });
    const other = (await ask('PATCH', `/v1/agent/agents/${agentId}/config`, { voice: { speed: 1.1 } })).body;
    expect(other.custom_speech).toEqual(body.custom_speech);
    const one = (await patch({ asr: null })).body;
    expect(Object.keys(one.custom_speech)).toEqual(['tts']);
    expect((await stored()).secrets.custom_speech).toEqual({ tts: expect.any(String) });
  });

  it('is restored by the snapshot of a version, without its keys', async () => {
    const { custom_speech } = (await patch({ asr, tts })).body;
    expect((await patch(custom_speech)).body.custom_speech).toEqual(custom_speech);
    await patch(null);
    const restored = (await patch(custom_speech)).body.custom_speech;
    expect([restored.asr.has_secret, restored.tts.has_secret]).toEqual([false, false]);
  });

  it('has an OpenAI address without its trailing path', async () => {
    const { body } = await patch({ tts: { ...tts, url: 'https://own.example.com/v1/audio/speech/' } });
    expect(body.custom_speech.tts.url).toBe('https://own.example.com/v1');
  });

  it('has a streamed voice of jambonz’ protocol at a wss address', async () => {
    const { body } = await patch({ tts: { ...tts, protocol: 'jambonz', url: 'wss://own.example.com/tts' } });
    expect(body.custom_speech.tts.url).toBe('wss://own.example.com/tts');
  });

  it('security 20: drops a key if its new address is on another host, and keeps it on the same', async () => {
    await patch({ asr, tts });
    const same = (await patch({ asr: { url: 'wss://own.example.com/v2/stt?x=1' } })).body.custom_speech;
    expect(same.asr.has_secret).toBe(true);
    const moved = (await patch({ asr: { url: 'wss://other.example.com/stt' } })).body.custom_speech;
    expect([moved.asr.has_secret, moved.tts.has_secret]).toEqual([false, true]);
    expect((await stored()).secrets.custom_speech).not.toHaveProperty('asr');
  });

  it.each([
    ['asr without an address', { asr: { ...asr, url: undefined } }, ['asr', 'url'], 'is required'],
    ['asr without a key', { asr: { ...asr, api_key: undefined } }, ['asr', 'api_key'], 'is required'],
    ['asr over http', { asr: { ...asr, url: 'https://own.example.com' } }, ['asr', 'url'], 'must be wss://…'],
    ['asr over ws', { asr: { ...asr, url: 'ws://own.example.com' } }, ['asr', 'url'], 'must be wss'],
    ['tts over http', { tts: { ...tts, url: 'http://own.example.com' } }, ['tts', 'url'], 'must be https'],
    ['tts over wss', { tts: { ...tts, url: 'wss://own.example.com' } }, ['tts', 'url'], 'must be https://…'],
    [
      'streamed tts over ws',
      { tts: { ...tts, protocol: 'jambonz', url: 'ws://own.example.com' } },
      ['tts', 'url'],
      'must be wss',
    ],
    ['a query', { tts: { ...tts, url: 'https://own.example.com/?x' } }, ['tts', 'url'], 'no query'],
    ['a fragment', { asr: { ...asr, url: `${asr.url}#x` } }, ['asr', 'url'], 'no fragment'],
    ['private asr', { asr: { ...asr, url: 'wss://private.example.com' } }, ['asr', 'url'], 'not a public'],
    ['private tts', { tts: { ...tts, url: 'https://10.0.0.1/v1' } }, ['tts', 'url'], 'not a public'],
  ])('is 422 with %s', async (_name, body, place, text) => {
    const answer = await patch(body);
    expect(answer.status).toBe(422);
    expect(answer.body).toEqual([
      expect.objectContaining({
        loc: ['body', 'custom_speech', ...place],
        msg: expect.stringContaining(text),
      }),
    ]);
  });

  it.each([
    { asr: { ...asr, sample_rate_hz: 44_100 } },
    { asr: { ...asr, protocol: 'grpc' } },
    { asr: { ...asr, url: `wss://own.example.com/${'x'.repeat(2_000)}` } },
    { tts: { ...tts, unknown: 1 } },
    { tts: { ...tts, api_key: '' } },
    { tts: { ...tts, api_key: 'x'.repeat(4_097) } },
    { tts: { ...tts, api_key: 'sk-voice\n' } },
    { tts: { ...tts, api_key: 'sk-vöice' } },
    { other: {} },
  ])('is 422 if it is not in the schema: %j', async (body) => {
    expect((await patch(body)).status).toBe(422);
  });

  it('may be on an allowed address, even without TLS', async () => {
    const local = {
      asr: { ...asr, url: 'ws://127.0.0.1:9000/stt' },
      tts: { ...tts, url: 'http://127.0.0.1:9000/v1' },
    };
    expect((await patch(local)).status).toBe(200);
  });
});
