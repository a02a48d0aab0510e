import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { synthesisModel } from '#control-plane/speech/requests/speech-models.ts';
import { describeNeeds } from '#test/needs.ts';
import { openTestApi, type TestApi, type TestUser } from '../test-api.ts';

// Threads start, engines warm up and programs run, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

const TEXT = 'Hello, and welcome to the clinic. We are open from nine to five.';
let api: TestApi;
let user: TestUser;
beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
});
afterAll(() => api.close());

async function tts(body: Record<string, unknown>, headers: Record<string, string> = {}) {
  const response = await api.app.inject({
    method: 'POST',
    url: '/v1/tts',
    headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json', ...headers },
    payload: JSON.stringify(body),
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes: response.rawPayload,
    json: () => response.json(),
  };
}

const credit = async () =>
  Number((await api.request('GET', '/wallet/self/api-credit', { key: user.key })).body.credit);

/** Analyses a file from standard input with ffprobe and ffmpeg. */
async function probe(bytes: Buffer, raw: readonly string[] = []) {
  const run = (program: string, args: readonly string[]) => {
    const child = promisify(execFile)(program, args, { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 });
    child.child.stdin?.on('error', () => {});
    child.child.stdin?.end(bytes);
    return child;
  };
  const shown = await run('ffprobe', [
    '-v',
    'error',
    ...raw,
    '-show_entries',
    'stream=codec_name,sample_rate,channels',
    '-of',
    'json',
    '-',
  ]);
  const stream = JSON.parse(shown.stdout.toString()).streams[0];
  const decoded = await run('ffmpeg', [
    '-v',
    'error',
    ...raw,
    '-i',
    '-',
    '-f',
    's16le',
    '-ac',
    '1',
    '-ar',
    '16000',
    '-',
  ]);
  expect(decoded.stderr.toString()).toBe('');
  return {
    codec: stream.codec_name,
    rate: Number(stream.sample_rate),
    channels: stream.channels,
    seconds: decoded.stdout.length / 32_000,
  };
}

describeNeeds(['ffmpeg', 'ffprobe'])('every format is what it says', () => {
  const cases = [
    { format: 'wav', sample_rate: 8_000, codec: 'pcm_s16le' },
    { format: 'wav', sample_rate: 44_100, codec: 'pcm_s16le' },
    { format: 'pcm', sample_rate: 24_000, codec: 'pcm_s16le' },
    { format: 'mp3', sample_rate: 32_000, mp3_bitrate: 64, codec: 'mp3' },
    { format: 'mp3', sample_rate: 44_100, mp3_bitrate: 192, codec: 'mp3' },
    { format: 'opus', sample_rate: 48_000, opus_bitrate: -1_000, codec: 'opus' },
    { format: 'opus', sample_rate: 48_000, opus_bitrate: 24_000, codec: 'opus' },
    { format: 'opus', sample_rate: 48_000, opus_bitrate: 24, codec: 'opus' },
  ];
  let seconds = 0;
  beforeAll(async () => {
    seconds = (await tts({ text: TEXT, format: 'pcm', sample_rate: 16_000 })).bytes.length / 32_000;
    expect(seconds).toBeGreaterThan(2);
  });

  it.each(cases)('$format at $sample_rate Hz, $mp3_bitrate $opus_bitrate', async ({ codec, ...options }) => {
    const { status, bytes } = await tts({ text: TEXT, ...options });
    expect(status).toBe(200);
    const raw =
      options.format === 'pcm'
        ? ['-f', 's16le', '-ar', String(options.sample_rate), '-ch_layout', 'mono']
        : [];
    const heard = await probe(bytes, raw);
    expect(heard).toMatchObject({ codec, rate: options.sample_rate, channels: 1 });
    // MP3 pads its first and last frames.
    expect(Math.abs(heard.seconds - seconds)).toBeLessThan(options.format === 'mp3' ? 0.12 : 0.03);
  });
});

describe('the request', () => {
  it('defaults to mp3 at 44.1 kHz, and the answer states its type and the model used', async () => {
    const { status, headers, bytes } = await tts({ text: 'Hello.' });
    expect([status, headers['content-type'], headers['x-service-model']]).toEqual([
      200,
      'audio/mpeg',
      's2.1-pro',
    ]);
    expect(bytes[0]).toBe(0xff);
  });

  it('uses the default model for an unknown one', async () => {
    const served = async (model: string) =>
      (await tts({ text: 'Hello.', format: 'pcm' }, { model })).headers['x-service-model'];
    expect(await served('nonsense')).toBe('s2.1-pro');
    expect(await served('parley/s2-pro')).toBe('s2-pro');
  });

  it('serves s1 until its end of life, and its successor afterwards', () => {
    const end = Date.UTC(2027, 0, 1);
    expect([synthesisModel('s1', end - 1), synthesisModel('s1', end)]).toEqual(['s1', 's2.1-pro']);
  });

  it('accepts MessagePack as well', async () => {
    const response = await api.app.inject({
      method: 'POST',
      url: '/v1/tts',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/msgpack' },
      payload: Buffer.from(encode({ text: 'Hello.', format: 'wav' })),
    });
    expect([response.statusCode, response.rawPayload.subarray(0, 4).toString()]).toEqual([200, 'RIFF']);
  });

  it('accepts MessagePack with every default set, as the API’s Python client sends it', async () => {
    const defaults = {
      chunk_length: 200,
      format: 'mp3',
      sample_rate: null,
      mp3_bitrate: 128,
      opus_bitrate: 32,
      references: [],
      reference_id: null,
      normalize: true,
      latency: 'balanced',
      prosody: null,
      top_p: 0.7,
      temperature: 0.7,
      max_new_tokens: 1_024,
      repetition_penalty: 1.2,
      min_chunk_length: 50,
      condition_on_previous_chunks: true,
      early_stop_threshold: 1,
    };
    for (const over of [
      { format: 'wav' },
      { format: 'pcm' },
      { format: 'opus' },
      { prosody: { speed: 1.2, volume: 0 } },
    ]) {
      const response = await api.app.inject({
        method: 'POST',
        url: '/v1/tts',
        headers: {
          authorization: `Bearer ${user.key}`,
          'content-type': 'application/msgpack',
          model: 's2-pro',
        },
        payload: Buffer.from(encode({ text: 'Hello.', ...defaults, ...over })),
      });
      expect([response.statusCode, over]).toEqual([200, over]);
    }
  });

  it('accepts Opus bit rates in bit/s and in kbit/s alike', async () => {
    const sizes = [64, 64_000, 24, 24_000].map(
      async (opus_bitrate) => (await tts({ text: TEXT, format: 'opus', opus_bitrate })).bytes.length,
    );
    const [high, alsoHigh, low, alsoLow] = (await Promise.all(sizes)) as [number, number, number, number];
    expect([high, low]).toEqual([alsoHigh, alsoLow]);
    expect(low).toBeLessThan(high * 0.7);
  });

  it('speed and volume change the audio', async () => {
    const pcm = async (prosody: object) => {
      const { bytes } = await tts({ text: TEXT, format: 'pcm', sample_rate: 16_000, prosody });
      const samples = new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
      return { length: samples.length, level: Math.hypot(...samples.filter((_, index) => index % 7 === 0)) };
    };
    const [plain, fast, quiet] = [await pcm({}), await pcm({ speed: 2 }), await pcm({ volume: -12 })];
    expect(fast.length).toBeLessThan(plain.length * 0.7);
    expect(quiet.level).toBeLessThan(plain.level * 0.4);
    expect(quiet.level).toBeGreaterThan(plain.level * 0.15);
  });

  it('changes the voice of a dialogue at its speaker tags', async () => {
    const pcm = async (reference_id: unknown) =>
      (
        await tts({
          text: '<|speaker:0|>Good morning.<|speaker:1|>Good morning.',
          format: 'pcm',
          reference_id,
        })
      ).bytes;
    const [two, one] = [await pcm(['local:slt', 'local:rms']), await pcm(['local:slt', 'local:slt'])];
    expect(two.equals(one)).toBe(false);
    expect(
      (await tts({ text: '<|speaker:2|>Hello.', reference_id: ['local:slt', 'local:rms'] })).status,
    ).toBe(400);
  });

  it('a pronunciation dictionary replaces the longest match, from left to right', async () => {
    const said = async (body: object) => (await tts({ format: 'pcm', ...body })).bytes;
    const items = [
      { key: 'nasa', value: 'space agency' },
      { key: 'Na', value: 'sodium', case_sensitive: true },
    ];
    const replaced = await said({
      text: 'The NASA uses Na.',
      pronunciation_dictionary: [{ items }, { id: 'missing' }],
    });
    expect(replaced.equals(await said({ text: 'The space agency uses sodium.' }))).toBe(true);
  });
});

const LONG_SOUND = { key: 'a', value: 'b'.repeat(1_024) };

describe('refusals precede any audio', () => {
  it.each([
    ['no text', {}, 422],
    ['blank text', { text: '  ' }, 422],
    ['security 6: text of more than 100,000 characters', { text: 'a'.repeat(100_001) }, 422],
    [
      'security 6: pronunciations that make it longer than 1,048,576',
      { text: 'a'.repeat(2_000), pronunciation_dictionary: [{ items: [LONG_SOUND] }] },
      400,
    ],
    ['an unknown field', { text: 'a', nope: 1 }, 422],
    ['a rate the format has not', { text: 'a', format: 'opus', sample_rate: 16_000 }, 422],
    ['an unknown bit rate', { text: 'a', mp3_bitrate: 100 }, 422],
    ['a speed out of range', { text: 'a', prosody: { speed: 3 } }, 422],
    ['a feature', { text: 'a', features: ['x'] }, 422],
    ['an unknown voice', { text: 'a', reference_id: 'ffffffffffffffffffffffffffffffff' }, 400],
  ])('%s', async (_, body, status) => {
    const answer = await tts(body);
    expect(answer.status).toBe(status);
    if (status === 400)
      expect(answer.json()).toEqual({
        status: 400,
        message: expect.stringMatching(/^Reference not found$|use shorter values/),
        reason: null,
      });
  });

  it('malformed bodies, wrong types and missing keys are rejected in the documented order', async () => {
    const raw = (headers: Record<string, string>, payload: string | Buffer) =>
      api.app.inject({ method: 'POST', url: '/v1/tts', headers, payload });
    const auth = { authorization: `Bearer ${user.key}` };
    const type = (name: string) => ({ ...auth, 'content-type': name });
    expect((await raw({ 'content-type': 'text/xml' }, 'x')).statusCode).toBe(401);
    expect((await raw(type('text/xml'), 'x')).statusCode).toBe(415);
    expect((await raw(type('application/json'), '')).statusCode).toBe(415);
    expect((await raw(type('application/json'), '{')).json()).toMatchObject({
      status: 400,
      message: 'Malformed JSON',
    });
    expect((await raw(type('application/msgpack'), Buffer.from([0xc1, 1]))).json()).toMatchObject({
      status: 400,
      message: 'Malformed MessagePack',
    });
    const cloning = Buffer.from(
      encode({ text: 'a', references: [{ audio: new Uint8Array(10), text: 'b' }] }),
    );
    expect((await raw(type('application/msgpack'), cloning)).json()).toMatchObject({
      status: 400,
      message: expect.stringContaining('cannot clone'),
    });
  });
});

describe('"Charging"', () => {
  it('a synthesis is charged afterwards by its UTF-8 bytes; the free model costs nothing', async () => {
    const before = await credit();
    await tts({ text: 'Grüß Gott.', format: 'pcm' });
    expect(before - (await credit())).toBeCloseTo((12 * 15) / 1_000_000, 9);
    const then = await credit();
    await tts({ text: 'Hello.', format: 'pcm' }, { model: 's2.1-pro-free' });
    expect(await credit()).toBe(then);
  });

  it('a synthesis is never rejected for lack of credit', async () => {
    const poor = await api.createUser({ credit: '0.00' });
    const { status } = await api.request('POST', '/v1/tts', {
      key: poor.key,
      body: { text: 'Hello.', format: 'pcm' },
    });
    expect(status).toBe(200);
    expect((await api.request('GET', '/wallet/self/api-credit', { key: poor.key })).body.credit).toBe(
      '-0.00009',
    );
  });
});

describe('timestamps', () => {
  it('are cumulative per chunk and lie within the audio', async () => {
    const { text, headers } = await api.request('POST', '/v1/tts/stream/with-timestamp', {
      key: user.key,
      body: { text: TEXT, format: 'pcm', sample_rate: 16_000, chunk_length: 100, latency: 'balanced' },
    });
    expect(headers['content-type']).toBe('text/event-stream');
    const events = text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => JSON.parse(event.replace(/^event: message\ndata: /, '')));
    const audioSeconds =
      events.reduce((sum, event) => sum + Buffer.from(event.audio_base64, 'base64').length, 0) / 32_000;
    const last = new Map(events.map((event) => [event.chunk_seq, event]));
    expect([...last.keys()]).toEqual([0, 1]);
    const words = [...last.values()].flatMap((event) =>
      event.alignment.segments.map((word: { text: string; start: number; end: number }) => ({
        ...word,
        start: word.start + event.chunk_audio_offset_sec,
      })),
    );
    expect(words.map(({ text: word }) => word).join(' ')).toContain('We are open');
    expect(words.every(({ start }, index) => index === 0 || start >= words[index - 1].start)).toBe(true);
    const end = last.get(1);
    expect(end.chunk_audio_offset_sec + end.alignment.audio_duration).toBeCloseTo(audioSeconds, 1);
  });
});

describe('places', () => {
  it('an account’s own requests do not count as those of another that it must share with', async () => {
    const alone = await api.createUser();
    await api.clock.advance(10_001);
    await api.request('GET', '/v1/agent/agents', { key: alone.key });
    const hasOthers = vi.spyOn(api.context.turns, 'hasOthers');
    await api.request('POST', '/v1/tts', { key: alone.key, body: { text: 'Hello.', format: 'pcm' } });
    const forSpeech = hasOthers.mock.settledResults.map(({ value }) => value);
    hasOthers.mockRestore();
    expect(new Set(forSpeech)).toEqual(new Set([false]));
  });

  it('an account may have five requests in progress; the sixth is 429 and says when to retry', async () => {
    const busy = await api.createUser();
    const { admit } = await import('#control-plane/speech/requests/speech-service.ts');
    const slots = await Promise.all(Array.from({ length: 5 }, () => admit(api.context, busy, 'synthesis')));
    const refused = await api.request('POST', '/v1/tts', { key: busy.key, body: { text: 'Hello.' } });
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    for (const slot of slots) slot.release();
    expect(
      (await api.request('POST', '/v1/tts', { key: busy.key, body: { text: 'Hello.', format: 'pcm' } }))
        .status,
    ).toBe(200);
  });
});
