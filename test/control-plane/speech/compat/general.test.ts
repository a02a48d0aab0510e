import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { LIMITS } from '#config/limits.ts';
import { admit } from '#control-plane/speech/requests/speech-service.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import { type OpenaiServer, startOpenaiServer } from '../../../fakes/openai-server.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';
import { postForm } from './compat-client.ts';

// Threads start and engines warm up, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

const HEARD = 'A table for two, please.';
const SPOKEN = speak('A table for two, please.', { rateHz: 16_000, afterMs: 200 });
const WAV = toWav(SPOKEN.samples, 16_000);
let vendor: OpenaiServer;
let api: TestApi;
let user: TestUser;
beforeAll(async () => {
  vendor = await startOpenaiServer({ transcripts: [HEARD] });
  api = await openTestApi({ ASR_PROVIDER: 'openai', OPENAI_BASE_URL: vendor.url });
  user = await api.createUser();
});
afterAll(async () => {
  await api.close();
  await vendor.close();
});

const say = async (
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
  url = '/compat/v1/audio/speech',
) => {
  const response = await api.app.inject({
    method: 'POST',
    url,
    headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json', ...headers },
    payload: JSON.stringify({ model: 'parley/s2.1-pro', input: 'Good day.', ...body }),
  });
  const isError = response.statusCode !== 200;
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes: response.rawPayload,
    error: isError ? response.json().error : null,
  };
};
const transcribe = (fields: Record<string, unknown>, headers: Record<string, string> = {}) =>
  postForm(api, '/compat/v1/audio/transcriptions', {
    fields: { model: 'parley/transcribe-1', file: WAV, ...fields },
    headers: { authorization: `Bearer ${user.key}`, ...headers },
  });

describe('audio/speech', () => {
  it.each(['/compat/v1', '/compat/api/v1', '/compat/openai/v1'])('is served under %s', async (base) => {
    const { status, headers, bytes } = await say({}, {}, `${base}/audio/speech`);
    expect([status, headers['content-type']]).toEqual([200, 'audio/pcm']);
    expect(headers['x-generation-id']).toMatch(/^[0-9a-f]{16}$/);
    expect(bytes.length).toBeGreaterThan(10_000);
  });

  it('is streamed without a warning of Node', async () => {
    const warnings: string[] = [];
    const note = ({ message }: Error) => void warnings.push(message);
    process.on('warning', note);
    expect((await say({ response_format: 'mp3' })).status).toBe(200);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('serves pcm at 44.1 kHz by default and pcm16 at 24 kHz, unless a rate is given', async () => {
    const pcm = (await say({})).bytes.length;
    expect((await say({ response_format: 'pcm' })).bytes.length).toBe(pcm);
    expect((await say({ response_format: 'pcm16' })).bytes.length / pcm).toBeCloseTo(24_000 / 44_100, 2);
    expect((await say({ response_format: 'pcm16', sample_rate: 8_000 })).bytes.length / pcm).toBeCloseTo(
      8_000 / 44_100,
      2,
    );
    expect((await say({ response_format: 'mp3' })).headers['content-type']).toBe('audio/mpeg');
    expect((await say({ response_format: 'opus' })).bytes.subarray(0, 4).toString()).toBe('OggS');
  });

  it('takes native parameters from a header first, then provider.options, then the body', async () => {
    const rate = async (body: object, headers = {}) =>
      (await say({ response_format: 'wav', ...body }, headers)).bytes.readUInt32LE(24);
    const provider = { options: { parley: { sample_rate: 16_000, unknown: 1 }, other: { sample_rate: 1 } } };
    expect(await rate({ sample_rate: 32_000 })).toBe(32_000);
    expect(await rate({ sample_rate: 32_000, provider })).toBe(16_000);
    expect(await rate({ sample_rate: 32_000, provider }, { 'x-service-sample-rate': '8000' })).toBe(8_000);
    expect((await say({}, { 'x-service-sample-rate': 'often' })).error).toMatchObject({
      code: 400,
      type: 'invalid_request_error',
    });
  });

  it('maps speed, ignores fields without effect, and treats an unset flag as absent', async () => {
    const [plain, fast] = [
      await say({}),
      await say({ speed: 4, user: 'x', whatever: { a: 1 }, instructions: 'none', stream_format: false }),
    ];
    expect(fast.status).toBe(200);
    expect(fast.bytes.length).toBeLessThan(plain.bytes.length * 0.7);
  });

  it('serves s1 as the native API does; the default voice has three names', async () => {
    const [first, ...others] = await Promise.all(['', 'default', undefined].map((voice) => say({ voice })));
    for (const other of others) expect(other.bytes.equals(first!.bytes)).toBe(true);
    expect((await say({ model: 'parley/s2-pro' })).headers['x-service-model']).toBe('s2-pro');
    expect((await say({ model: 'openai/gpt-4o-mini-tts' })).headers['x-service-model']).toBe('s2.1-pro');
  });

  it.each([
    ['an unknown model', { model: 'gpt-9' }],
    ['an unknown voice', { voice: 'alloy' }],
    ['aac', { response_format: 'aac' }],
    ['flac', { response_format: 'flac' }],
    ['instructions', { instructions: 'Whisper.' }],
    ['events instead of audio', { stream_format: 'sse' }],
    ['a speed out of range', { speed: 5 }],
    ['a rate that is not made', { sample_rate: 11_025 }],
    ['nothing to say', { input: ' ' }],
    ['security 6: text of more than 100,000 characters', { input: 'a'.repeat(100_001) }],
    ['no input', { input: null }],
  ])('%s is 400 in the vendor’s form', async (_, body) => {
    const { status, headers, error } = await say(body);
    expect([status, error.code, error.type]).toEqual([400, 400, 'invalid_request_error']);
    expect(error.message).toEqual(expect.any(String));
    expect(headers['x-generation-id']).toBeDefined();
  });

  it('keys, bodies and paths are rejected in the vendor’s form as well', async () => {
    const raw = async (payload: string, headers: Record<string, string>, url = '/compat/v1/audio/speech') => {
      const response = await api.app.inject({ method: 'POST', url, headers, payload });
      return [response.statusCode, response.json().error.type];
    };
    const auth = { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' };
    expect(await raw('{}', { 'content-type': 'application/json' })).toEqual([401, 'authentication_error']);
    expect(await raw('{}', { ...auth, authorization: 'Bearer nope' })).toEqual([401, 'authentication_error']);
    expect(await raw('{', auth)).toEqual([400, 'invalid_request_error']);
    expect(await raw('', auth)).toEqual([400, 'invalid_request_error']);
    expect(await raw('a', { ...auth, 'content-type': 'text/xml' })).toEqual([415, 'invalid_request_error']);
    expect(await raw('{}', auth, '/compat/v1/audio/translations')).toEqual([404, 'invalid_request_error']);
    expect(await raw(JSON.stringify({ input: 'a'.repeat(LIMITS.compatSpeechBodyBytes) }), auth)).toEqual([
      413,
      'invalid_request_error',
    ]);
  });

  it('429 says when to retry', async () => {
    const busy = await api.createUser();
    const slots = await Promise.all(Array.from({ length: 5 }, () => admit(api.context, busy, 'synthesis')));
    const { status, headers, error } = await say({}, { authorization: `Bearer ${busy.key}` });
    expect([status, headers['retry-after'], error.type]).toEqual([429, '1', 'rate_limit_error']);
    for (const slot of slots) slot.release();
  });
});

describe('audio/transcriptions', () => {
  it('answers json, text, srt, vtt and verbose_json; the language repeats the one sent', async () => {
    expect((await transcribe({})).body).toEqual({
      text: HEARD,
      usage: { type: 'duration', seconds: Math.ceil(SPOKEN.samples.length / 16_000) },
    });
    expect((await transcribe({ response_format: 'text' })).text).toBe(`${HEARD}\n`);
    expect((await transcribe({ response_format: 'srt' })).text).toMatch(
      /^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\nA table for two, please\.\n\n$/,
    );
    expect((await transcribe({ response_format: 'vtt' })).text).toMatch(/^WEBVTT\n\n00:00:00\.\d{3} --> /);
    const verbose = await transcribe({
      response_format: 'verbose_json',
      language: 'en',
      'timestamp_granularities[]': 'word',
    });
    expect(verbose.body).toMatchObject({
      task: 'transcribe',
      language: 'en',
      text: HEARD,
      segments: [{ id: 0, text: HEARD }],
    });
    expect(verbose.body.words.map(({ word }: { word: string }) => word)).toEqual([
      'A',
      'table',
      'for',
      'two,',
      'please.',
    ]);
    expect(verbose.headers['x-generation-id']).toBeDefined();
    const plain = await transcribe({ response_format: 'verbose_json' });
    expect([plain.body.language, plain.body.words]).toEqual(['', undefined]);
  });

  it('accepts base64 in JSON', async () => {
    const body = { model: 'whisper-1', input_audio: { data: WAV.toString('base64'), format: 'wav' } };
    expect(
      (await api.request('POST', '/compat/api/v1/audio/transcriptions', { key: user.key, body })).body.text,
    ).toBe(HEARD);
  });

  it.each([
    ['an unknown model', { model: 'parley/s2.1-pro' }, {}],
    ['an unknown form', { response_format: 'diarized_json' }, {}],
    ['a stream', { stream: true }, {}],
    ['a native parameter', {}, { 'x-service-temperature': '0.5' }],
    ['text instead of audio', { file: Buffer.from('not audio at all, only words') }, {}],
    ['a damaged header', { file: WAV.subarray(0, 30) }, {}],
    ['no file', { file: 'text' }, {}],
    ['a language that is none', { language: '!!' }, {}],
  ])('%s is 400', async (_, fields, headers) => {
    const { status, body } = await transcribe(fields, headers);
    expect([status, body.error.code, body.error.type]).toEqual([400, 400, 'invalid_request_error']);
  });
});

describe('chat completions', () => {
  const chat = (body: object) =>
    api.request('POST', '/compat/v1/chat/completions', {
      key: user.key,
      body: { model: 'parley/s2.1-pro', ...body },
    });
  const words = { role: 'user', content: 'Good day.' };
  const audio = {
    role: 'user',
    content: [{ type: 'input_audio', input_audio: { data: WAV.toString('base64'), format: 'wav' } }],
  };

  it.each([
    ['no speech asked for', { messages: [words] }],
    ['both directions', { messages: [audio], modalities: ['text', 'audio'] }],
    ['two answers', { messages: [words], modalities: ['audio'], n: 2 }],
    ['aac', { messages: [words], modalities: ['audio'], audio: { format: 'aac' } }],
    ['a model that speaks, for audio', { messages: [audio] }],
    [
      'base64 that is none',
      {
        messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '!!!' } }] }],
        model: 'whisper-1',
      },
    ],
  ])('%s is 400', async (_, body) => {
    const { status, body: answer } = await chat(body);
    expect([status, answer.error.type]).toEqual([400, 'invalid_request_error']);
  });

  it('speaks the user’s last message verbatim', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Never said.' },
      words,
    ];
    const { body } = await chat({ messages, modalities: ['text', 'audio'], audio: { format: 'wav' } });
    expect(body.choices[0].message.audio.transcript).toBe('Good day.');
    expect(Buffer.from(body.choices[0].message.audio.data, 'base64').subarray(0, 4).toString()).toBe('RIFF');
  });
});

it('the models are listed without a key; single models have no route', async () => {
  const { status, body } = await api.request('GET', '/compat/v1/models');
  expect([status, body.data.map(({ id }: { id: string }) => id)]).toEqual([
    200,
    ['parley/s2.1-pro', 'parley/s2.1-pro-free', 'parley/s2-pro', 'parley/s1', 'parley/transcribe-1'],
  ]);
  expect((await api.request('GET', '/compat/v1/models/parley', { key: user.key })).status).toBe(404);
});
