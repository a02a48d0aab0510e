import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { CharacterTimes, inMilliseconds } from '#control-plane/speech/compat/character-times.ts';
import { outputFormat } from '#control-plane/speech/compat/vendor-formats.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import { type OpenaiServer, startOpenaiServer } from '../../../fakes/openai-server.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';
import { postForm } from './compat-client.ts';

// Threads start and engines warm up, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

const HEARD = 'A table for two, please.';
const SPOKEN = speak(HEARD, { rateHz: 16_000, afterMs: 200 });
const BASE = '/compat/elevenlabs';
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

const say = (body: object, { voice = 'default', query = '?output_format=pcm_16000' } = {}) =>
  api.request('POST', `${BASE}/v1/text-to-speech/${voice}${query}`, {
    headers: { 'xi-api-key': user.key },
    body: { text: 'Good day.', ...body },
  });

describe('text-to-speech', () => {
  it('serves mp3 unless another format is given; the default voice has two names', async () => {
    const { status, headers } = await say({ model_id: 'eleven_flash_v2_5' }, { query: '' });
    expect([status, headers['content-type'], headers['x-service-model']]).toEqual([
      200,
      'audio/mpeg',
      's2.1-pro',
    ]);
    expect(headers['x-generation-id']).toBeDefined();
    expect((await say({}, { voice: '-' })).text).toBe((await say({})).text);
  });

  it('ignores options without effect and applies speed', async () => {
    const plain = (await say({})).text;
    const settings = { similarity_boost: 0.9, style: 1, use_speaker_boost: true, stability: 0.2 };
    expect((await say({ voice_settings: settings, seed: 5, previous_text: 'x', next_text: 'y' })).text).toBe(
      plain,
    );
    expect((await say({ voice_settings: { speed: 2 } })).text.length).toBeLessThan(plain.length * 0.7);
  });

  it.each([
    ['ulaw', {}, { query: '?output_format=ulaw_8000' }, 'invalid_request'],
    ['alaw', {}, { query: '?output_format=alaw_8000' }, 'invalid_request'],
    ['a rate that is not made', {}, { query: '?output_format=pcm_22050' }, 'invalid_request'],
    ['an unknown voice', {}, { voice: 'f'.repeat(32) }, 'voice_not_found'],
    ['an unknown model', { model_id: 'gpt-9' }, {}, 'model_not_found'],
    ['a stability out of range', { voice_settings: { stability: 2 } }, {}, 'invalid_request'],
    ['nothing to say', { text: '' }, {}, 'invalid_request'],
  ])('%s is 400 in the vendor’s form', async (_, body, over, status) => {
    const answer = await say(body, over);
    expect([answer.status, answer.body]).toEqual([400, { detail: { status, message: expect.any(String) } }]);
  });

  it('keys and paths are rejected in the vendor’s form', async () => {
    const ask = async (headers: Record<string, string>, url = `${BASE}/v1/user`) => {
      const { status, body } = await api.request('GET', url, { headers });
      return [status, body.detail.status];
    };
    expect(await ask({})).toEqual([401, 'unauthorized']);
    expect(await ask({ 'xi-api-key': 'nope' })).toEqual([401, 'unauthorized']);
    expect(await ask({}, `${BASE}/v1/history`)).toEqual([404, 'not_found']);
    expect(await ask({ 'xi-api-key': user.key }, `${BASE}/v1/voices/nobody`)).toEqual([
      404,
      'voice_not_found',
    ]);
  });
});

describe('speech-to-text', () => {
  const hear = (fields: object) =>
    postForm(api, `${BASE}/v1/speech-to-text`, {
      fields: { model_id: 'scribe_v1', file: toWav(SPOKEN.samples, 16_000), ...fields },
      headers: { 'xi-api-key': user.key },
    });

  it('returns words and the spaces between them; the language repeats the one sent', async () => {
    const { body } = await hear({ diarize: 'False', num_speakers: 0 });
    expect(body).toMatchObject({
      text: HEARD,
      language_code: '',
      audio_duration_secs: SPOKEN.samples.length / 16_000,
    });
    expect(body.words.map(({ text }: { text: string }) => text).join('')).toBe(HEARD);
    expect((await hear({ language_code: 'en', timestamps_granularity: 'none' })).body).toMatchObject({
      language_code: 'en',
      words: [],
    });
  });

  it('treats a field of "null" as not set, because the vendor’s Python client sends it', async () => {
    const nulls = Object.fromEntries(
      [
        'language_code',
        'timestamps_granularity',
        'file_format',
        'num_speakers',
        'webhook',
        'entity_detection',
        'cloud_storage_url',
      ].map((name) => [name, 'null']),
    );
    expect((await hear(nulls)).body).toMatchObject({ text: HEARD, language_code: '' });
  });

  it('accepts raw PCM when file_format says so', async () => {
    const pcm = Buffer.from(SPOKEN.samples.buffer, SPOKEN.samples.byteOffset, SPOKEN.samples.byteLength);
    expect((await hear({ file: pcm, file_format: 'pcm_s16le_16' })).body.text).toBe(HEARD);
  });

  it.each([
    { diarize: true },
    { num_speakers: 2 },
    { webhook: true },
    { use_multi_channel: true },
    { source_url: 'https://a.example.com' },
    { file: Buffer.from('words') },
  ])('refuses %o', async (fields) => {
    const { status, body } = await hear(fields);
    expect([status, body.detail.status]).toEqual([400, 'invalid_request']);
  });
});

describe('voices', () => {
  it('lists the engine’s and the team’s own voices, in one list or page by page', async () => {
    const all = (await api.request('GET', `${BASE}/v1/voices`, { headers: { 'xi-api-key': user.key } })).body
      .voices;
    const seen: string[] = [];
    for (let token = '0', more = true; more; ) {
      const url = `${BASE}/v2/voices?page_size=4&next_page_token=${token}`;
      const { body } = await api.request('GET', url, { headers: { authorization: `Bearer ${user.key}` } });
      expect(body.total_count).toBe(all.length);
      seen.push(...body.voices.map((voice: { voice_id: string }) => voice.voice_id));
      [token, more] = [body.next_page_token, body.has_more];
    }
    expect(seen).toEqual(all.map((voice: { voice_id: string }) => voice.voice_id));
  });
});

describe('formats and times', () => {
  it('rounds bit rates up to a supported one', () => {
    expect(outputFormat('mp3_22050_32')).toEqual({ format: 'mp3', sample_rate: 32_000, mp3_bitrate: 64 });
    expect(outputFormat('mp3_44100_96')).toEqual({ format: 'mp3', sample_rate: 44_100, mp3_bitrate: 128 });
    expect(outputFormat('opus_48000_192')).toEqual({
      format: 'opus',
      sample_rate: 48_000,
      opus_bitrate: 64_000,
    });
  });

  it('times each character once, from the start of the complete audio', () => {
    const piece = (
      seq: number,
      offsetSeconds: number,
      text: string,
      words: readonly { text: string; start: number; end: number }[],
    ) => ({
      bytes: new Uint8Array(0),
      durationMs: 0,
      chunk: { seq, text, offsetSeconds, seconds: 1, words },
    });
    const times = new CharacterTimes();
    const [hi, you] = [
      { text: 'Hi', start: 0, end: 0.2 },
      { text: 'you', start: 0.3, end: 0.6 },
    ];
    expect(times.take(piece(0, 0, 'Hi you', [hi])).map(({ character }) => character)).toEqual(['H', 'i']);
    expect(inMilliseconds(times.take(piece(0, 0, 'Hi you', [hi, you])))).toEqual({
      chars: [' ', 'y', 'o', 'u'],
      charStartTimesMs: [200, 300, 400, 500],
      charDurationsMs: [100, 100, 100, 100],
    });
    expect(inMilliseconds(times.take(piece(1, 1, 'Hi', [hi])))).toMatchObject({
      chars: [' ', 'H', 'i'],
      charStartTimesMs: [600, 1_000, 1_100],
    });
  });

  it('returns exactly the characters sent across two clauses', () => {
    const spoken = (...chunks: readonly (readonly string[])[]) => {
      const times = new CharacterTimes();
      return chunks
        .flatMap((words, seq) => {
          const text = words.join(' ');
          const timed = words.map((word, index) => ({
            text: word,
            start: index / 10,
            end: (index + 1) / 10,
          }));
          return times.take({
            bytes: new Uint8Array(0),
            durationMs: 0,
            chunk: { seq, text, offsetSeconds: seq, seconds: 1, words: timed },
          });
        })
        .map(({ character }) => character)
        .join('');
    };
    expect(spoken(['Good', 'morning,'], ['how', 'are', 'you?'])).toBe('Good morning, how are you?');
    expect(spoken(['こんにちは。'], ['お元気ですか。'])).toBe('こんにちは。お元気ですか。');
  });
});
