import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findInstalledModels, isComplete, watchModels } from '#media/speech/models/installed-models.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { modelOf } from '#test/fakes/model-mirror.ts';

const MODEL = modelOf({ 'tokens.txt': Buffer.from('hi') }, { id: 'tiny-en' });

it('models are found in the order of the table, after the operator’s own', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-installed-'));
  const files = ['encoder.onnx', 'decoder.onnx', 'joiner.onnx', 'tokens.txt'];
  const contents = Object.fromEntries(files.map((name) => [name, Buffer.from(name)]));
  for (const id of ['a-german', 'b-english', 'c-own', 'd-own']) {
    mkdirSync(join(dataDir, 'models', id), { recursive: true });
    for (const name of files) writeFileSync(join(dataDir, 'models', id, name), name);
  }
  const table = ['b-english', 'a-german'].map((id) => modelOf(contents, { id }));
  expect(findInstalledModels(dataDir, table).recognisers.map(({ id }) => id)).toEqual([
    'c-own',
    'd-own',
    'b-english',
    'a-german',
  ]);
});

describe('a model that cannot be read is as good as absent', () => {
  it.each<[string, (models: string) => void]>([
    [
      'a file has the place of its directory',
      (models) => {
        mkdirSync(models);
        writeFileSync(join(models, MODEL.id), '');
      },
    ],
    ['a file has the place of the directory of all models', (models) => writeFileSync(models, '')],
    ['the directory of all models is a link to itself', (models) => symlinkSync(models, models)],
    [
      'its directory is a link to itself',
      (models) => {
        mkdirSync(models);
        symlinkSync(join(models, MODEL.id), join(models, MODEL.id));
      },
    ],
  ])('when %s', (_, prepare) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-installed-'));
    prepare(join(dataDir, 'models'));
    const none = { recognisers: [], voices: [] };
    expect(isComplete(dataDir, MODEL)).toBe(false);
    expect(findInstalledModels(dataDir, [MODEL])).toEqual(none);
    expect(watchModels(dataDir, [MODEL], new ManualClock())()).toEqual(none);
  });
});
