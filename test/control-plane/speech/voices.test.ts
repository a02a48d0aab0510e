import { encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import { startElevenlabsServer } from '#test/fakes/elevenlabs-server.ts';
import { startOpenaiServer } from '#test/fakes/openai-server.ts';
import { openTestApi, type TestApi, type TestUser } from '../test-api.ts';

// Threads start, engines warm up and programs run, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

const SAMPLE = toWav(speak('This is my own voice.', { rateHz: 16_000, afterMs: 300 }).samples, 16_000);
let vendor: Awaited<ReturnType<typeof startOpenaiServer>>;
let api: TestApi;
let user: TestUser;
let otherUser: TestUser;
beforeAll(async () => {
  vendor = await startOpenaiServer({ transcripts: ['This is my own voice.'] });
  api = await openTestApi({ ASR_PROVIDER: 'openai', OPENAI_BASE_URL: vendor.url });
  [user, otherUser] = [await api.createUser(), await api.createUser()];
});
afterAll(async () => {
  await api.close();
  await vendor.close();
});

const NEW = { type: 'tts', title: 'Mine', train_mode: 'fast', visibility: 'private' };

async function create(fields: Record<string, unknown>) {
  const form = new FormData();
  for (const [name, values] of Object.entries(fields))
    for (const value of [values].flat())
      form.append(name, value instanceof Uint8Array ? new Blob([new Uint8Array(value)]) : String(value));
  const request = new Request('http://parley', { method: 'POST', body: form });
  const raw = Buffer.from(await request.arrayBuffer());
  return api.request('POST', '/model', {
    key: user.key,
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
    raw,
  });
}

it('a model is made from samples, which are transcribed where their text is not sent', async () => {
  const { status, body } = await create({
    ...NEW,
    voices: [SAMPLE, SAMPLE],
    texts: ['As sent.'],
    tags: ['calm', 'warm'],
  });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    type: 'tts',
    title: 'Mine',
    state: 'trained',
    visibility: 'private',
    tags: ['calm', 'warm'],
    author: { _id: user.userId },
  });
  expect(body.samples.map(({ text }: { text: string }) => text)).toEqual([
    'As sent.',
    'This is my own voice.',
  ]);
  expect(body.notice).toContain('cannot clone');
  const sample = await api.app.inject({
    url: new URL(body.samples[0].audio).pathname,
    headers: { authorization: `Bearer ${user.key}` },
  });
  expect(sample.rawPayload.equals(SAMPLE)).toBe(true);
  const spoken = await api.request('POST', '/v1/tts', {
    key: user.key,
    body: { text: 'Hello.', format: 'pcm', reference_id: body._id },
  });
  expect(spoken.status).toBe(200);
});

it('a model can be sent as JSON (base64) and MessagePack as well', async () => {
  const json = await api.request('POST', '/model', {
    key: user.key,
    body: { ...NEW, voices: [SAMPLE.toString('base64')], texts: ['x'] },
  });
  expect(json.status).toBe(201);
  const packed = Buffer.from(encode({ ...NEW, voices: [new Uint8Array(SAMPLE)], texts: ['x'] }));
  const msgpack = await api.request('POST', '/model', {
    key: user.key,
    headers: { 'content-type': 'application/msgpack' },
    raw: packed,
  });
  expect(msgpack.status).toBe(201);
});

it('a model can be sent as a urlencoded form, too; a repeated name is a list', async () => {
  const sample = SAMPLE.toString('base64');
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const fields: [string, string][] = [
    ...Object.entries(NEW),
    ['voices', sample],
    ['texts', 'x'],
    ['tags', 'warm'],
    ['tags', 'slow'],
  ];
  const created = await api.request('POST', '/model', {
    key: user.key,
    headers,
    raw: String(new URLSearchParams(fields)),
  });
  expect([created.status, created.body.tags]).toEqual([201, ['warm', 'slow']]);
  const changed = await api.request('PATCH', `/model/${created.body._id}`, {
    key: user.key,
    headers,
    raw: 'title=Deep+bass',
  });
  expect([changed.status, changed.body.title]).toEqual([200, 'Deep bass']);
});

it('a model can be changed and deleted by its own team only; private ones are hidden from others', async () => {
  const { body } = await create({ ...NEW, voices: SAMPLE, texts: 'x' });
  const path = `/model/${body._id}`;
  const ask = async (key: string, method: 'GET' | 'PATCH' | 'DELETE', change?: object) =>
    (await api.request(method, path, { key, ...(change ? { body: change } : {}) })).status;
  expect(await ask(otherUser.key, 'GET')).toBe(404);
  expect(
    (
      await api.request('POST', '/v1/tts', {
        key: otherUser.key,
        body: { text: 'a', reference_id: body._id },
      })
    ).status,
  ).toBe(400);
  expect(await ask(user.key, 'PATCH', { visibility: 'unlist', title: 'Shared' })).toBe(200);
  expect(await ask(otherUser.key, 'GET')).toBe(200);
  expect(await ask(otherUser.key, 'PATCH', { title: 'Stolen' })).toBe(404);
  expect(await ask(otherUser.key, 'DELETE')).toBe(404);
  expect(await ask(user.key, 'DELETE')).toBe(200);
  expect(await ask(user.key, 'GET')).toBe(404);
  expect(await api.context.blobs.list(`voices/${body._id}/`)).toEqual([]);
});

it('models have their own paging; unlisted ones and other teams’ private ones are not listed', async () => {
  const owner = await api.createUser();
  for (const [title, visibility] of [
    ['One', 'private'],
    ['Two', 'unlist'],
  ])
    await api.request('POST', '/model', {
      key: owner.key,
      body: { ...NEW, title, visibility, voices: [SAMPLE.toString('base64')], texts: ['x'] },
    });
  const list = async (key: string, query: string) =>
    (await api.request('GET', `/model?${query}`, { key })).body;
  expect(await list(owner.key, 'self=true&page_size=1')).toMatchObject({
    total: 2,
    has_more: true,
    total_is_exact: true,
    window_limited: false,
  });
  expect((await list(owner.key, 'self=true&page_size=1&page_number=2')).items).toHaveLength(1);
  const titles = (await list(otherUser.key, 'page_size=100')).items.map(
    ({ title }: { title: string }) => title,
  );
  expect(titles).not.toContain('One');
  expect(titles).not.toContain('Two');
  expect((await list(otherUser.key, 'title=rms')).items.map(({ _id }: { _id: string }) => _id)).toEqual([
    'local:rms',
  ]);
});

it.each([
  ['no samples', { ...NEW }],
  ['a public one without a cover', { ...NEW, visibility: 'public', voices: SAMPLE, texts: 'x' }],
  ['more texts than samples', { ...NEW, voices: SAMPLE, texts: ['a', 'b'] }],
  ['another kind', { ...NEW, type: 'svc', voices: SAMPLE }],
  ['an unknown field', { ...NEW, voices: SAMPLE, texts: 'x', nope: 1 }],
])('422: %s', async (_, fields) => {
  expect((await create(fields)).status).toBe(422);
});

it('a sample that is not audio is 400', async () => {
  expect((await create({ ...NEW, voices: Buffer.from('not audio') })).status).toBe(400);
});

it('a cloning engine creates the voice from the samples and deletes it with the model', async () => {
  const engine = await startElevenlabsServer();
  const cloning = await openTestApi({ TTS_PROVIDER: 'elevenlabs', ELEVENLABS_BASE_URL: engine.url });
  try {
    const { key } = await cloning.createUser();
    const body = { ...NEW, voices: [SAMPLE.toString('base64')], texts: ['x'] };
    const made = await cloning.request('POST', '/model', { key, body });
    expect(made.body.notice).toBeNull();
    expect([...engine.voices.keys()]).toEqual(['clone1']);
    const spoken = await cloning.request('POST', '/v1/tts', {
      key,
      body: { text: 'Hello.', format: 'pcm', reference_id: made.body._id },
    });
    expect(spoken.status).toBe(200);
    expect(engine.connections.map(({ path }) => path)).toContain('/v1/text-to-speech/clone1/stream-input');
    expect((await cloning.request('DELETE', `/model/${made.body._id}`, { key })).status).toBe(200);
    expect(engine.voices.size).toBe(0);
    engine.fault = { status: 400 };
    expect((await cloning.request('POST', '/model', { key, body })).status).toBe(400);
    engine.fault = { status: 503 };
    expect((await cloning.request('POST', '/model', { key, body })).status).toBe(503);
    expect((await cloning.request('GET', '/model?self=true', { key })).body.total).toBe(0);
  } finally {
    await cloning.close();
    await engine.close();
  }
});

it('samples sent with a request become its voices, one per speaker, and are deleted with it', async () => {
  const engine = await startElevenlabsServer();
  const cloning = await openTestApi({ TTS_PROVIDER: 'elevenlabs', ELEVENLABS_BASE_URL: engine.url });
  const spokenBy = () =>
    engine.connections.filter(({ messages }) => messages.length > 0).map(({ path }) => path.split('/')[3]);
  try {
    const { key } = await cloning.createUser();
    const sample = { audio: new Uint8Array(SAMPLE), text: 'This is my own voice.' };
    const say = (body: object) =>
      cloning.request('POST', '/v1/tts', {
        key,
        headers: { 'content-type': 'application/msgpack' },
        raw: Buffer.from(encode({ format: 'pcm', ...body })),
      });
    expect((await say({ text: 'Hello.', references: [sample, sample] })).status).toBe(200);
    expect(spokenBy()).toEqual(['clone1']);
    await expect.poll(() => engine.voices.size, { timeout: 60_000 }).toBe(0);
    expect(
      (await say({ text: '<|speaker:0|>Hello.<|speaker:1|>Hi.', references: [[sample], [sample]] })).status,
    ).toBe(200);
    expect(new Set(spokenBy())).toEqual(new Set(['clone1', 'clone2']));
    await expect.poll(() => engine.voices.size, { timeout: 60_000 }).toBe(0);
    expect((await say({ text: '<|speaker:1|>Hello.', references: [sample] })).status).toBe(200);
    engine.fault = { status: 400 };
    expect((await say({ text: 'Hello.', references: [sample] })).status).toBe(400);
    engine.fault = { status: 429 };
    expect((await say({ text: 'Hello.', references: [sample] })).status).toBe(503);
  } finally {
    await cloning.close();
    await engine.close();
  }
});
