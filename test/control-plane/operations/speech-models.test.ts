import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { currentPlatformModels } from '#config/platform-models.ts';
import { detectCapabilities } from '#media/speech/engines.ts';
import { ModelDownloads } from '#media/speech/models/model-downloads.ts';
import {
  type ModelMirror,
  modelOf,
  stallsAfter,
  startModelMirror,
  tableFile,
} from '#test/fakes/model-mirror.ts';
import { tinyRecogniser } from '#test/fakes/tiny-models.ts';
import { openTestApi, type TestApi } from '../test-api.ts';

// Models are loaded, and a loaded machine is slow.
vi.setConfig({ testTimeout: 120_000 });

const CONTENTS = tinyRecogniser('opening hours');
const MODEL = modelOf(CONTENTS, { id: 'tiny-en' });
const SECOND = modelOf(CONTENTS, { id: 'tiny-second' });
const ENCODER = 'encoder.int8.onnx';
const PATH = `/admin/speech-models/${MODEL.id}/download`;
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
});

/** An operator's machine without a recogniser, and a mirror. */
async function machine({
  url,
  onReady = () => undefined,
}: {
  readonly url?: string;
  readonly onReady?: () => void;
} = {}) {
  const mirror: ModelMirror = await startModelMirror(
    [MODEL, SECOND].map((model) => ({ model, contents: CONTENTS })),
  );
  opened.push(mirror);
  const environment = {
    DATA_DIR: mkdtempSync(join(tmpdir(), 'parley-operator-')),
    MODELS_URL: url ?? mirror.url,
    MODELS_TABLE: tableFile([MODEL, SECOND]),
  };
  const settings = readSettings(environment);
  const usable: string[] = [];
  const speechModels = new ModelDownloads({
    settings,
    clock: systemClock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    onReady(id) {
      usable.push(id);
      onReady();
    },
    retryAfterMs: 1,
  });
  const platform = currentPlatformModels(
    settings,
    detectCapabilities({ settings, searchPath: '', clock: systemClock }),
    () => [],
  );
  const api: TestApi = await openTestApi(environment, { speechModels, platform });
  opened.push(api);
  const ask = (method: 'GET' | 'POST' | 'DELETE', path: string, key = api.rootKey) =>
    api.request(method, path, { key });
  const read = async (id = MODEL.id) => {
    const { body } = await ask('GET', '/admin/speech-models');
    return { ...body.models.find(({ model_id }: { model_id: string }) => model_id === id), ...body };
  };
  const until = (state: string, id = MODEL.id) =>
    vi.waitFor(async () => expect((await read(id)).state).toBe(state), 60_000);
  return { api, ask, dataDir: environment.DATA_DIR, mirror, read, until, usable };
}

describe('the operator', () => {
  it('lists the models with licence, size, languages and rate, and where their files come from', async () => {
    const { read, mirror } = await machine();
    expect(await read()).toMatchObject({
      kind: 'recogniser',
      licence: 'CC0-1.0',
      languages: ['en'],
      sample_rate_hz: 16_000,
      bytes: MODEL.files.reduce((sum, { bytes }) => sum + bytes, 0),
      state: 'absent',
      received_bytes: 0,
      real_time_factor: null,
      error: null,
      hears_speech: false,
    });
    const { models, files } = await read();
    expect(files[0].url).toBe(`${mirror.url}/${MODEL.path}/${ENCODER}`);
    expect(models.map(({ kind }: { kind: string }) => kind)).toContain('voice');
  });

  it('downloads a recogniser, which hears from then on, without a restart', async () => {
    const { api, ask, read, until, usable } = await machine();
    const models = async () => (await api.request('GET', '/v1/agent/models', { key: api.rootKey })).body.asr;
    expect((await api.request('GET', '/demo.json')).body).toMatchObject({ hears_speech: false });
    expect((await ask('POST', PATH)).status).toBe(202);
    await until('ready');
    expect(await read()).toMatchObject({ hears_speech: true, error: null });
    expect((await read()).real_time_factor).toBeGreaterThan(0);
    expect(usable).toEqual([MODEL.id]);
    expect((await api.request('GET', '/demo.json')).body).toMatchObject({ hears_speech: true });
    expect(await models()).toContainEqual({ id: 'local:sherpa', default: false });
  });

  it('reads no error of a model that is ready, even if no worker could be reached', async () => {
    const { ask, read, until, usable } = await machine({
      onReady() {
        throw new Error('no link');
      },
    });
    await ask('POST', PATH);
    await until('ready');
    expect(usable).toEqual([MODEL.id]);
    expect(await read()).toMatchObject({ state: 'ready', error: null });
  });

  it('stops a download and resumes it later where it stopped', async () => {
    const { ask, mirror, read, until } = await machine();
    mirror.answers.set(ENCODER, [stallsAfter(1_000)]);
    await ask('POST', PATH);
    await vi.waitFor(async () => expect((await read()).received_bytes).toBe(1_000), 60_000);
    expect((await read()).state).toBe('downloading');
    expect((await ask('DELETE', PATH)).body).toMatchObject({
      state: 'absent',
      received_bytes: 1_000,
      error: null,
    });
    await ask('POST', PATH);
    await until('ready');
    expect(mirror.requests.filter(({ name }) => name === ENCODER).map(({ range }) => range)).toEqual([
      undefined,
      'bytes=1000-',
    ]);
  });

  it('downloads a model once, even when asked twice at the same time', async () => {
    const { ask, mirror, until } = await machine();
    const answers = await Promise.all([ask('POST', PATH), ask('POST', PATH), ask('POST', PATH)]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    await until('ready');
    expect(mirror.requests).toHaveLength(MODEL.files.length);
  });

  it('downloads one model after the other, and stops one that waits at once', async () => {
    const { ask, mirror, read, until } = await machine();
    const second = `/admin/speech-models/${SECOND.id}/download`;
    mirror.answers.set(ENCODER, [stallsAfter(1_000)]);
    await ask('POST', PATH);
    await vi.waitFor(async () => expect((await read()).received_bytes).toBe(1_000), 60_000);
    await ask('POST', second);
    expect(await read(SECOND.id)).toMatchObject({ state: 'downloading', received_bytes: 0 });
    expect((await ask('DELETE', second)).body).toMatchObject({ state: 'absent' });
    expect((await ask('POST', second)).body).toMatchObject({ state: 'downloading' });
    expect(mirror.requests).toHaveLength(1);
    await ask('DELETE', PATH);
    await until('ready', SECOND.id);
    expect(await read()).toMatchObject({ state: 'absent' });
  });

  it('reads why a download failed and what to do, until the next one', async () => {
    const { ask, read } = await machine({ url: 'http://127.0.0.1:9' });
    await ask('POST', PATH);
    await vi.waitFor(async () => expect((await read()).error).not.toBeNull(), 60_000);
    expect(await read()).toMatchObject({
      state: 'absent',
      hears_speech: false,
      error: expect.stringMatching(
        /^127\.0\.0\.1:9 cannot be reached \([^)]+\)\. Download .* or set MODELS_URL/,
      ),
    });
    expect((await ask('POST', PATH)).body.error).toBeNull();
  });

  it('reads no error of a download once the files were put in their place by hand', async () => {
    const { ask, dataDir, read } = await machine({ url: 'http://127.0.0.1:9' });
    await ask('POST', PATH);
    await vi.waitFor(async () => expect((await read()).error).not.toBeNull(), 60_000);
    const place = join(dataDir, 'models', MODEL.id);
    mkdirSync(place, { recursive: true });
    for (const [name, content] of Object.entries(CONTENTS)) writeFileSync(join(place, name), content);
    expect(await read()).toMatchObject({ state: 'ready', error: null });
  });

  it('reads that the files were not the expected ones, and no agent hears with them', async () => {
    const { ask, mirror, read } = await machine();
    mirror.answers.set(ENCODER, [
      (content, _request, response) => void response.end(Buffer.alloc(content.length, 1)),
    ]);
    await ask('POST', PATH);
    await vi.waitFor(async () => expect((await read()).error).toMatch(/SHA-256 differs/), 60_000);
    expect(await read()).toMatchObject({ state: 'absent', hears_speech: false });
  });

  it('is the only one who may, and gets 404 for a model that the table lacks', async () => {
    const { api, ask } = await machine();
    const { key } = await api.createUser();
    for (const [method, path] of [
      ['GET', '/admin/speech-models'],
      ['POST', PATH],
      ['DELETE', PATH],
    ] as const)
      expect((await ask(method, path, key)).status, path).toBe(403);
    expect((await ask('POST', '/admin/speech-models/nothing/download')).status).toBe(404);
    expect((await ask('DELETE', '/admin/speech-models/..%2F..%2Fetc/download')).status).toBe(404);
  });
});
