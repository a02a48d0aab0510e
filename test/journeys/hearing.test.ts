/**
 * Journey: the operator of a product without a recogniser starts the download of one. The product is killed
 * meanwhile, and hears the next call after the download without another restart.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findInstalledModels } from '#media/speech/models/installed-models.ts';
import {
  breaksOffAfter,
  type ModelMirror,
  modelOf,
  stallsAfter,
  startModelMirror,
  tableFile,
} from '#test/fakes/model-mirror.ts';
import { tinyRecogniser } from '#test/fakes/tiny-models.ts';
import { describeNeeds } from '#test/needs.ts';
import { ConsolePage } from './console-page.ts';
import { type Product, startProduct } from './product.ts';
import { Program } from './program.ts';
import { saidInCall } from './said-in-call.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';

const CONTENTS = {
  ...tinyRecogniser('what are your opening hours'),
  // Makes the model long enough to break off in the middle.
  'notes.bin': Buffer.alloc(400_000, 7),
};
const MODEL = modelOf(CONTENTS, { id: 'tiny-en' });
const DOWNLOAD = `/admin/speech-models/${MODEL.id}/download`;
const PART_BYTES = 100_000;

let product: Product;
let mirror: ModelMirror;
let dataDir: string;

describe('a product without a recogniser', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    mirror = await startModelMirror([{ model: MODEL, contents: CONTENTS }]);
    dataDir = mkdtempSync(join(tmpdir(), 'parley-hearing-'));
    product = await start();
  });
  afterAll(async () => {
    await product?.close();
    await mirror?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = () =>
    startProduct({
      dataDir,
      // Without programs: the machine may have pocketsphinx.
      environment: { PATH: '/nowhere', MODELS_URL: mirror.url, MODELS_TABLE: tableFile([MODEL]) },
    });
  const read = async () => {
    const { models, hears_speech } = await product.ask('GET', '/admin/speech-models');
    return { hears_speech, ...models.find(({ model_id }: { model_id: string }) => model_id === MODEL.id) };
  };

  it('says at its start and on its page that it cannot hear, and what to do', async () => {
    expect(product.log).toMatch(/^Engines +To hear callers: press “Let it hear” in the console/m);
    expect(await (await fetch(`${product.url}/demo.json`)).json()).toMatchObject({ hears_speech: false });
  });

  it('has the old state or a part to resume after kill -9 in the middle of a download', async () => {
    const forever = new Promise<void>(() => undefined);
    mirror.answers.set('notes.bin', [breaksOffAfter(PART_BYTES, () => forever)]);
    await product.ask('POST', DOWNLOAD);
    const before = MODEL.files.reduce((sum, { bytes }) => sum + bytes, 0) - CONTENTS['notes.bin'].length;
    await product.until(
      'a part has arrived',
      async () => (await read()).received_bytes === before + PART_BYTES,
    );
    product.kill('supervisor');
    product.kill('control-plane');
    await product.close();
    product = await start();
    expect(await read()).toMatchObject({
      state: 'absent',
      received_bytes: before + PART_BYTES,
      hears_speech: false,
    });
  });

  it('hears the next call once the rest has arrived, without a restart', async () => {
    const pid = product.pid;
    await product.ask('POST', DOWNLOAD);
    await product.until('the model is ready', async () => (await read()).state === 'ready');
    expect(mirror.requests.filter(({ name }) => name === 'notes.bin').map(({ range }) => range)).toEqual([
      undefined,
      `bytes=${PART_BYTES}-`,
    ]);
    expect(await read()).toMatchObject({ hears_speech: true, real_time_factor: expect.any(Number) });
    const said = await saidInCall(product, '+15557650077');
    expect(said).toContain('user: what are your opening hours');
    expect(said.join('\n')).toContain('assistant: We are open every day from noon until ten in the evening.');
    expect(product.pid).toBe(pid);
    expect(product.log.match(/worker registered/g)).toHaveLength(1);
  });

  it('has its model downloaded by a worker on another machine, too', async () => {
    const otherDir = mkdtempSync(join(tmpdir(), 'parley-other-machine-'));
    const { worker_token } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
    const worker = new Program('worker', {
      PATH: '/nowhere',
      DATA_DIR: otherDir,
      CONTROL_PLANE_URL: product.url,
      WORKER_TOKEN: worker_token,
      WORKER_KINDS: 'web',
      MODELS_URL: mirror.url,
      MODELS_TABLE: tableFile([MODEL]),
    });
    try {
      await worker.printed(/"model":"tiny-en","msg":"speech model is ready"/);
      expect(findInstalledModels(otherDir, [MODEL]).recognisers).toMatchObject([{ id: MODEL.id }]);
    } finally {
      await worker.close();
      rmSync(otherDir, { recursive: true, force: true });
    }
  });
});

describeNeeds(['chromium'])('the operator at the console', { timeout: 240_000 }, () => {
  it('lets agents hear with one button, cancels and resumes it, and reads what this machine keeps', async () => {
    const site = await startModelMirror([{ model: MODEL, contents: CONTENTS }]);
    site.answers.set('notes.bin', [stallsAfter(PART_BYTES)]);
    const machine = await startProduct({
      environment: { PATH: '/nowhere', MODELS_URL: site.url, MODELS_TABLE: tableFile([MODEL]) },
    });
    const browser = await launchBrowser();
    try {
      const visitor = await TalkPage.open(browser, machine);
      await visitor.page.getByRole('link', { name: 'let it hear (0.4 MB)' }).waitFor();
      const operator = await ConsolePage.open(browser, machine, { key: machine.rootKey });
      await operator.go('');
      await operator.see('Agents cannot hear yet');
      await operator.press('Let it hear: 0.4 MB');
      await operator.see('0.1 MB of 0.4 MB');
      expect(await operator.seriousFindings()).toEqual([]);
      await operator.press('Cancel');
      await operator.press('Resume: 0.4 MB');
      await operator.see('Agents hear from the next call on');
      await operator.see(/One core of this machine keeps up with \d+ callers? at once/);
      await operator.follow('/speech-models');
      await operator.see(/English · 16 kHz · CC0-1\.0/);
      expect(await machine.ask('GET', '/admin/speech-models')).toMatchObject({ hears_speech: true });
    } finally {
      await browser.close();
      await machine.close();
      await site.close();
    }
  });
});
