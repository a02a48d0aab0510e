import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSettings } from '#config/env.ts';
import { bytesOf, readModelTable, recommended } from '#media/speech/models/model-table.ts';
import { modelOf, tableFile } from '#test/fakes/model-mirror.ts';

const NAMES = new Intl.DisplayNames(['en'], { type: 'language' });
const OWN = modelOf({ 'tokens.txt': Buffer.from('<blk> 0\n') }, { id: 'own' });

/** A table with this text. */
function fileOf(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'parley-table-')), 'models.json');
  writeFileSync(path, text);
  return path;
}

describe('the table of speech models', () => {
  it('names one immutable version of each model', () => {
    for (const { path, id } of readModelTable(undefined))
      expect(path, id).toMatch(/\/resolve\/[0-9a-f]{40}$/);
  });

  it('recommends the English recogniser to those who have none', () => {
    expect(recommended(readModelTable(undefined))).toMatchObject({ languages: ['en'] });
  });

  it('is the one of docs/speech.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../docs/speech.md'), 'utf8');
    for (const model of readModelTable(undefined)) {
      const megabytes = Math.round(bytesOf(model) / 1e6);
      const khz = model.sample_rate_hz / 1_000;
      const [language] = model.languages.map((code) => NAMES.of(code));
      expect(page).toContain(
        `| \`${model.id}\` | ${model.kind} | ${language} | ${megabytes} MB | ${khz} kHz | ${model.licence} |`,
      );
    }
  });

  it('begins with the operator’s own models, which replace those with the same id', () => {
    const [first] = readModelTable(undefined);
    const again = { ...OWN, id: first!.id };
    const table = readModelTable(tableFile([OWN, again]));
    expect(table.slice(0, 2)).toEqual([OWN, again]);
    expect(table.filter(({ id }) => id === first!.id)).toEqual([again]);
    expect(recommended(table)).toEqual(OWN);
  });

  it.each([
    ['no JSON', '{', /^MODELS_TABLE: .*models\.json: : /],
    ['a model without a licence', JSON.stringify([{ ...OWN, licence: undefined }]), /0\.licence/],
    ['a hash of another length', JSON.stringify([withFile({ sha256: 'ab' })]), /0\.files\.0\.sha256/],
    ['a file outside its folder', JSON.stringify([withFile({ name: '../x' })]), /must be a plain file name/],
    ['a hidden folder', JSON.stringify([{ ...OWN, id: '.partial' }]), /must be a plain file name/],
    ['a path out of the mirror', JSON.stringify([{ ...OWN, path: '../../admin' }]), /0\.path/],
    ['a field it does not know', JSON.stringify([{ ...OWN, url: 'x' }]), /url/],
  ])('refuses %s in one line that names the place', (_, text, message) => {
    expect(() => readModelTable(fileOf(text))).toThrow(message);
  });

  it('refuses a file that is not there', () => {
    expect(() => readModelTable('/nowhere/models.json')).toThrow(/^MODELS_TABLE: ENOENT/);
  });
});

function withFile(over: Record<string, unknown>) {
  return { ...OWN, files: [{ ...OWN.files[0], ...over }] };
}

it.each(['https://user:secret@models.example', 'https://models.example/?token=secret'])(
  'MODELS_URL %s is refused, because operators read the address of every file',
  (MODELS_URL) => {
    expect(() => readSettings({ MODELS_URL })).toThrow(/MODELS_URL.*must have no credentials and no query/);
  },
);
