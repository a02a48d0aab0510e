/**
 * The models for local speech that can be downloaded: Parley's own table, and the operator's further entries
 * from the file `MODELS_TABLE`.
 */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { messageOf } from '#base/message-of.ts';
import { parseJson } from '#base/parse-json.ts';
import offered from './models.json' with { type: 'json' };

const MAX_FILES = 32;
const MAX_FILE_BYTES = 4 * 2 ** 30;
/** Directory and file names: no path of the table leads out of DATA_DIR. */
const fileName = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/, 'must be a plain file name');

const modelFile = z.strictObject({
  name: fileName,
  bytes: z.number().int().min(1).max(MAX_FILE_BYTES),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits'),
});

const speechModel = z.strictObject({
  id: fileName,
  kind: z.enum(['recogniser', 'voice']),
  title: z.string().min(1).max(200),
  licence: z.string().min(1).max(200),
  languages: z.array(z.string().regex(/^[a-z]{2}$/, 'must be a code of ISO 639-1')).min(1),
  sample_rate_hz: z.number().int().min(8_000).max(48_000),
  path: z
    .string()
    .regex(
      /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/,
      'must be a path without a leading slash',
    ),
  files: z.array(modelFile).min(1).max(MAX_FILES),
});

/** One file of a model: its length in bytes and its SHA-256 in hexadecimal. */
export type ModelFile = z.output<typeof modelFile>;

/**
 * A model that can be downloaded. `path` leads from the base address to the folder of its files, and names
 * one immutable version. `sample_rate_hz` is the rate a recogniser works at, or a voice speaks at.
 * `languages` are codes of ISO 639-1.
 */
export type SpeechModel = z.output<typeof speechModel>;

const table = z.array(speechModel);

/** By file: a table is read once, so that all parts of a process have the same one. */
const tables = new Map<string | undefined, readonly SpeechModel[]>();

/**
 * The models of the table, the operator's own first; the first recogniser is the recommended one. Throws one
 * line if `MODELS_TABLE` is unusable.
 */
export function readModelTable(file: string | undefined): readonly SpeechModel[] {
  const read = tables.get(file) ?? readTable(file);
  tables.set(file, read);
  return read;
}

function readTable(file: string | undefined): readonly SpeechModel[] {
  const own = table.parse(offered);
  if (file === undefined) return own;
  const further = parseTable(file);
  const replaced = new Set(further.map(({ id }) => id));
  return [...further, ...own.filter(({ id }) => !replaced.has(id))];
}

function parseTable(file: string): SpeechModel[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`MODELS_TABLE: ${messageOf(error)}`);
  }
  const parsed = table.safeParse(parseJson(z.unknown(), text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`MODELS_TABLE: ${file}: ${issue?.path.join('.')}: ${issue?.message}`);
}

/** The recogniser to suggest to those who have none. */
export function recommended(models: readonly SpeechModel[]): SpeechModel | undefined {
  return models.find(({ kind }) => kind === 'recogniser');
}

/** Length of all files, bytes. */
export function bytesOf({ files }: Pick<SpeechModel, 'files'>): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Address of a file of a model. */
export function addressOf(baseUrl: string, { path }: SpeechModel, { name }: ModelFile): string {
  return `${baseUrl.replace(/\/$/, '')}/${path}/${name}`;
}
