import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import { startDeepgramSpeechServer } from '#test/fakes/deepgram-speech-server.ts';
import { type OpenaiServer, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { openTestApi, type TestApi, type TestUser } from '../test-api.ts';

// Threads start, engines warm up and programs run, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

const SPOKEN = speak('Good morning, I would like to book a table.', { rateHz: 16_000, afterMs: 300 });
const WAV = toWav(SPOKEN.samples, 16_000);
const SECONDS = SPOKEN.samples.length / 16_000;
const HEARD = 'Good morning, I would like to book a table.';
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

async function asr(
  fields: Record<string, unknown>,
  { model, over = api, key = user.key }: { model?: string; over?: TestApi; key?: string } = {},
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    form.append(name, value instanceof Uint8Array ? new Blob([new Uint8Array(value)]) : String(value));
  const request = new Request('http://parley', { method: 'POST', body: form });
  const response = await over.app.inject({
    method: 'POST',
    url: '/v1/asr',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': request.headers.get('content-type') ?? '',
      ...(model === undefined ? {} : { model }),
    },
    payload: Buffer.from(await request.arrayBuffer()),
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: response.payload === '' ? null : response.json(),
  };
}

describe('transcription of a recording', () => {
  it('omits timestamps unless requested', async () => {
    const { status, body } = await asr({ audio: WAV });
    expect(status).toBe(200);
    expect(body).toEqual({ text: HEARD, duration: SECONDS, segments: [] });
  });

  it('returns timestamps in seconds; a form enables a flag with `true` only', async () => {
    const { body } = await asr({ audio: WAV, ignore_timestamps: 'nope', language: 'en' });
    expect(body).toMatchObject({ text: HEARD, language_code: 'en', language: 'English' });
    expect(body.segments).toHaveLength(1);
    expect(body.segments[0].start).toBeLessThan(SPOKEN.startMs / 1_000 + 0.1);
    expect(body.segments[0].end).toBeGreaterThan(SPOKEN.endMs / 1_000 - 0.1);
    expect(body.segments[0].end).toBeLessThanOrEqual(SECONDS);
  });

  it('accepts MessagePack as well', async () => {
    const { status, body } = await api.request('POST', '/v1/asr', {
      key: user.key,
      headers: { 'content-type': 'application/msgpack' },
      raw: Buffer.from(encode({ audio: new Uint8Array(WAV), ignore_timestamps: false })),
    });
    expect(status).toBe(200);
    expect(body.segments).toHaveLength(1);
  });

  it('adds the request id for the pro model, and speaker turns when timestamps are requested', async () => {
    const { body, headers } = await asr(
      { audio: WAV, ignore_timestamps: false },
      { model: 'transcribe-1-pro' },
    );
    expect(body.request_id).toBe(headers['x-request-id']);
    expect(body.speaker_turns).toEqual([]);
    const inexact = await asr({ audio: WAV }, { model: 'Transcribe-1-Pro' });
    expect(inexact.body.request_id).toBeUndefined();
  });

  it('is charged afterwards by the second, rounded up', async () => {
    const credit = async () =>
      Number((await api.request('GET', '/wallet/self/api-credit', { key: user.key })).body.credit);
    const before = await credit();
    await asr({ audio: WAV });
    expect(before - (await credit())).toBeCloseTo((Math.ceil(SECONDS) * 0.36) / 3_600, 9);
  });
});

describeNeeds(['ffmpeg'])('every common format is transcribed completely', () => {
  it.each([
    ['mp3 in stereo', ['-ac', '2', '-ar', '44100', '-f', 'mp3']],
    ['ogg with opus', ['-c:a', 'libopus', '-f', 'ogg']],
    ['ogg with vorbis', ['-ac', '2', '-c:a', 'libvorbis', '-f', 'ogg']],
    ['flac of 24 bits', ['-ar', '48000', '-sample_fmt', 's32', '-f', 'flac']],
    ['webm with opus', ['-c:a', 'libopus', '-f', 'webm']],
    ['wav of 24 bits in stereo', ['-ac', '2', '-ar', '48000', '-c:a', 'pcm_s24le', '-f', 'wav']],
    ['wav of floats', ['-ar', '22050', '-c:a', 'pcm_f32le', '-f', 'wav']],
  ])('%s', async (_, args) => {
    const child = promisify(execFile)('ffmpeg', ['-v', 'error', '-i', '-', ...args, '-'], {
      encoding: 'buffer',
      maxBuffer: 16 * 1024 * 1024,
    });
    child.child.stdin?.end(WAV);
    const { status, body } = await asr({ audio: (await child).stdout });
    expect(status).toBe(200);
    expect(body.text).toBe(HEARD);
    expect(Math.abs(body.duration - SECONDS)).toBeLessThan(0.12);
  });

  it.each([
    ['AAC', ['-f', 'adts']],
    ['AAC in MP4', ['-movflags', 'frag_keyframe+empty_moov', '-f', 'ipod']],
  ])('%s is an unsupported format, and the answer lists the supported ones', async (_, args) => {
    const child = promisify(execFile)('ffmpeg', ['-v', 'error', '-i', '-', '-c:a', 'aac', ...args, '-'], {
      encoding: 'buffer',
    });
    child.child.stdin?.end(WAV);
    const { status, body } = await asr({ audio: (await child).stdout });
    expect([status, body.message]).toEqual([415, expect.stringContaining('WAV, MP3, FLAC')]);
  });
});

describe('the refusals, which have the pro model’s codes', () => {
  const short = toWav(new Int16Array(800), 16_000);
  it.each([
    ['no audio', {}, 400, 'invalid_parameter'],
    ['an unknown field', { audio: WAV, nope: 1 }, 400, 'invalid_parameter'],
    ['an invalid language', { audio: WAV, language: 'english' }, 400, 'invalid_parameter'],
    [
      'contradicting speaker counts',
      { audio: WAV, num_speakers: 2, max_speakers: 3 },
      400,
      'invalid_parameter',
    ],
    [
      'a number of speakers without diarize',
      { audio: WAV, num_speakers: 2, diarize: false },
      400,
      'invalid_parameter',
    ],
    [
      'text instead of audio',
      { audio: Buffer.from('this is not audio at all, only text') },
      400,
      'invalid_audio',
    ],
    [
      'noise',
      { audio: Buffer.from(Uint8Array.from({ length: 5_000 }, (_, index) => (index * 7_919) % 251)) },
      400,
      'invalid_audio',
    ],
    [
      'audio of an unsupported format',
      { audio: Buffer.from('caff\0\u0001\0\0desc') },
      415,
      'unsupported_media_type',
    ],
    ['a WAV without its audio', { audio: WAV.subarray(0, 40) }, 400, 'invalid_audio'],
    ['too little audio', { audio: short }, 400, 'audio_too_short'],
    ['diarize with an engine that cannot', { audio: WAV, diarize: true }, 503, 'diarization_failed'],
  ])('include one for %s', async (_, fields, status, code) => {
    const pro = await asr(fields, { model: 'transcribe-1-pro' });
    expect(pro.status).toBe(status);
    expect(pro.body).toEqual({
      status,
      message: expect.any(String),
      code,
      request_id: pro.headers['x-request-id'],
    });
    if (code === 'diarization_failed') return;
    const plain = await asr(fields);
    expect(plain.body).toEqual({ status, message: pro.body.message, reason: null });
  });

  it('do not include MessagePack in which null means absent', async () => {
    const raw = Buffer.from(
      encode({ audio: WAV, language: null, ignore_timestamps: null, num_speakers: null }),
    );
    const { status, body } = await api.request('POST', '/v1/asr', {
      key: user.key,
      headers: { 'content-type': 'application/msgpack' },
      raw,
    });
    expect([status, body.text, body.segments]).toEqual([200, HEARD, []]);
  });

  it('are 415 for other content types, and 400 for truncated bodies and an hour or more of audio', async () => {
    const send = (type: string, raw: Buffer) =>
      api.request('POST', '/v1/asr', { key: user.key, headers: { 'content-type': type }, raw });
    expect((await send('application/json', Buffer.from('{}'))).status).toBe(415);
    expect(
      (
        await send(
          'multipart/form-data; boundary=x',
          Buffer.from('--x\r\nContent-Disposition: form-data; name="audio"'),
        )
      ).status,
    ).toBe(400);
    expect((await send('application/msgpack', Buffer.from([0xc1]))).body.message).toBe(
      'Malformed MessagePack',
    );
    const long = toWav(new Int16Array(3_601 * 4_000), 4_000);
    const { status, body } = await asr({ audio: long }, { model: 'transcribe-1-pro' });
    expect([status, body.code]).toEqual([400, 'audio_too_long']);
  });

  it('are 503 for a failing engine, which is not the caller’s fault', async () => {
    vendor.fault = { status: 500 };
    const { status, body } = await asr({ audio: WAV }, { model: 'transcribe-1-pro' });
    vendor.fault = null;
    expect([status, body.code]).toEqual([503, 'upstream_unavailable']);
  });
});

itNeeds(['pocketsphinx_continuous'])('the local recogniser hears a synthesised sentence', async () => {
  const local = await openTestApi();
  const { key } = await local.createUser();
  const { status, body } = await asr({ audio: WAV }, { over: local, key });
  await local.close();
  expect(status).toBe(200);
  expect(body.text.toLowerCase()).toContain('morning');
});

it('the pro model distinguishes speakers if the engine can', async () => {
  const engine = await startDeepgramSpeechServer({
    utterances: [
      { start: 0.1, end: 0.5, transcript: 'Good morning.', speaker: 0 },
      { start: 0.5, end: 0.8, transcript: 'How are you?', speaker: 0 },
      { start: 0.9, end: 1.2, transcript: 'Fine.', speaker: 1 },
    ],
  });
  const over = await openTestApi({ ASR_PROVIDER: 'deepgram', DEEPGRAM_BASE_URL: engine.url });
  try {
    const { key } = await over.createUser();
    const hear = (fields: Record<string, unknown>) =>
      asr({ audio: WAV, ...fields }, { model: 'transcribe-1-pro', over, key });
    const { body } = await hear({ diarize: true, ignore_timestamps: false });
    expect(body.text).toBe('<|speaker:0|>Good morning. How are you? <|speaker:1|>Fine.');
    expect(body.speaker_turns).toEqual([
      { speaker: 'speaker:0', text: 'Good morning. How are you?', start: 0.1, end: 0.8 },
      { speaker: 'speaker:1', text: 'Fine.', start: 0.9, end: 1.2 },
    ]);
    expect(body.segments).toHaveLength(3);
    expect((await hear({ diarize: false, ignore_timestamps: false })).body).not.toHaveProperty(
      'speaker_turns',
    );
    expect(engine.recordings.map(({ query }) => query.get('diarize'))).toEqual(['true', null]);
    expect(engine.connections).toEqual([]);
  } finally {
    await over.close();
    await engine.close();
  }
});
