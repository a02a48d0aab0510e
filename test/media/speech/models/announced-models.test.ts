import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { announcedModels } from '#media/speech/models/announced-models.ts';
import { ModelDownloads } from '#media/speech/models/model-downloads.ts';
import { modelOf, startModelMirror, tableFile } from '#test/fakes/model-mirror.ts';
import { tinyRecogniser } from '#test/fakes/tiny-models.ts';

// Models are loaded, and a loaded machine is slow.
vi.setConfig({ testTimeout: 120_000 });

const CONTENTS = tinyRecogniser('opening hours');
const [EN, DE, FR] = ['en', 'de', 'fr'].map((language) =>
  modelOf(CONTENTS, { id: `tiny-${language}`, languages: [language] }),
) as [ReturnType<typeof modelOf>, ReturnType<typeof modelOf>, ReturnType<typeof modelOf>];

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
});

/** A worker's machine with these models. */
async function worker(...installed: (typeof EN)[]) {
  const mirror = await startModelMirror([EN, DE, FR].map((model) => ({ model, contents: CONTENTS })));
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-announced-'));
  for (const { id } of installed) {
    mkdirSync(join(dataDir, 'models', id), { recursive: true });
    for (const [name, content] of Object.entries(CONTENTS))
      writeFileSync(join(dataDir, 'models', id, name), content);
  }
  const settings = readSettings({
    DATA_DIR: dataDir,
    MODELS_URL: mirror.url,
    MODELS_TABLE: tableFile([EN, DE, FR]),
  });
  const logger = createLogger({ level: 'silent', name: 'test' });
  const warn = vi.spyOn(logger, 'warn');
  const loaded: string[] = [];
  const prepare = (id: string) => void loaded.push(id);
  const downloads = new ModelDownloads({
    settings,
    clock: systemClock,
    logger,
    onReady: prepare,
    retryAfterMs: 1,
  });
  opened.push(downloads, mirror);
  const announce = announcedModels({ downloads, prepare, logger });
  return { announce, loaded, mirror, warn, downloads };
}

describe('a worker that hears of the models of the control plane', () => {
  it('loads only the recommended one of those that it has, and each that becomes ready later', async () => {
    const { announce, loaded, mirror } = await worker(DE, EN, FR);
    announce([DE.id, EN.id]);
    expect(loaded).toEqual([EN.id]);
    announce([DE.id, EN.id]);
    expect(loaded).toEqual([EN.id]);
    announce([FR.id]);
    expect(loaded).toEqual([EN.id, FR.id]);
    expect(mirror.requests).toEqual([]);
  });

  it('downloads a missing one and loads it, and tries again with the next announcement', async () => {
    const { announce, loaded, mirror, downloads } = await worker();
    mirror.answers.set('tokens.txt', [(_content, _request, response) => void response.writeHead(404).end()]);
    announce([EN.id]);
    await downloads.start(EN);
    expect(downloads.ready()).toEqual([]);
    announce([EN.id]);
    await downloads.start(EN);
    expect(downloads.ready()).toEqual([EN.id]);
    expect(loaded).toEqual([EN.id]);
  });

  it('warns once of a model that its table lacks', async () => {
    const { announce, warn, downloads } = await worker();
    announce(['of-another-table']);
    announce(['of-another-table']);
    expect(warn.mock.calls.map(([facts]) => facts)).toEqual([{ models: ['of-another-table'] }]);
    expect(downloads.ready()).toEqual([]);
  });
});
