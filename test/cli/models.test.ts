/** `parley models`, with a mirror on the loopback. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runParley } from '../command-line.ts';
import { type ModelMirror, modelOf, startModelMirror, tableFile } from '../fakes/model-mirror.ts';
import { tinyRecogniser } from '../fakes/tiny-models.ts';

const PATIENCE = { timeout: 240_000 };
const CONTENTS = tinyRecogniser('opening hours');
const MODEL = modelOf(CONTENTS, { id: 'tiny-en' });

let mirror: ModelMirror;
beforeAll(async () => {
  mirror = await startModelMirror([{ model: MODEL, contents: CONTENTS }]);
});
afterAll(() => mirror.close());

const dataDir = () => mkdtempSync(join(tmpdir(), 'parley-cli-models-'));
const parley = (args: readonly string[], folder: string, url = mirror.url) =>
  runParley(['models', ...args], {
    folder,
    environment: { DATA_DIR: folder, MODELS_URL: url, MODELS_TABLE: tableFile([MODEL]) },
  });

it('downloads the recommended recogniser, and lists it with what this machine keeps', PATIENCE, async () => {
  const folder = dataDir();
  const downloaded = await parley([], folder);
  expect(downloaded).toMatchObject({ code: 0, err: '' });
  expect(downloaded.out).toMatch(
    /^tiny-en is in .*\/models\/tiny-en; the next call uses it \(real-time factor /,
  );
  for (const [name, content] of Object.entries(CONTENTS))
    expect(readFileSync(join(folder, 'models/tiny-en', name)).equals(content), name).toBe(true);
  const { out } = await parley(['--list', '--json'], folder);
  expect(JSON.parse(out)[0]).toMatchObject({
    name: 'tiny-en',
    kind: 'recogniser',
    licence: 'CC0-1.0',
    languages: ['en'],
    installed: true,
    real_time_factor: expect.any(Number),
  });
});

it('without a network, says in one line what to do, and exits with 3', PATIENCE, async () => {
  const folder = dataDir();
  const { code, err } = await parley(['tiny-en'], folder, 'http://127.0.0.1:9');
  expect(code).toBe(3);
  expect(err).toMatch(
    /^tiny-en: 127\.0\.0\.1:9 cannot be reached \(.+\)\. Download .* on another machine from .*\n$/,
  );
});

it('refuses a name that the table lacks', PATIENCE, async () => {
  const { code, err } = await parley(['nothing'], dataDir());
  expect(code).toBe(2);
  expect(err).toBe('there is no model nothing: see parley models --list\n');
});
