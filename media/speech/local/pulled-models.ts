/**
 * Models for local speech that are downloaded on demand: the offer, and how their files get below
 * `DATA_DIR/models`, where the engines look. A download resumes where an earlier one stopped, and a file gets
 * its name only after its SHA-256 is verified: half a model is never used.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import pRetry, { AbortError } from 'p-retry';

/** One file of a model. */
export interface ModelFile {
  readonly name: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** An available model. */
export interface PulledModel {
  readonly name: string;
  /** Its purpose, for people. */
  readonly title: string;
  readonly licence: string;
  /** Path of its files below the base address: one immutable version. */
  readonly path: string;
  readonly files: readonly ModelFile[];
}

/** What `npm run models` offers. Sizes and checksums are those published for the version. */
export const PULLED_MODELS: readonly PulledModel[] = [
  {
    name: 'streaming-zipformer-en-20M',
    title: 'Streaming recognition, English (sherpa-onnx zipformer, 20 M parameters, int8)',
    licence: 'Apache-2.0',
    path:
      'csukuangfj/sherpa-onnx-streaming-zipformer-en-20M-2023-02-17/' +
      'resolve/d42f2d9f7ca24806fb667456a18a9f1b60f70d16',
    files: [
      {
        name: 'encoder-epoch-99-avg-1.int8.onnx',
        bytes: 42_845_182,
        sha256: '3810755ce7c3ab26b42a8bcf39d191308fa27fb0f53358823ba46141d03b7eb3',
      },
      {
        name: 'decoder-epoch-99-avg-1.int8.onnx',
        bytes: 539_499,
        sha256: '21e2a2acd961b3ac72f55be2f10f1a285e1b0b0ba010d7c0b6eab141411b163c',
      },
      {
        name: 'joiner-epoch-99-avg-1.int8.onnx',
        bytes: 259_572,
        sha256: 'e085d73b593cf9b0707f370dbd656d58327d3fe36d80d849202ef81df02cb01e',
      },
      {
        name: 'tokens.txt',
        bytes: 5_048,
        sha256: '49e3c2646595fd907228b3c6787069658f67b17377c60aeb8619c4551b2316fb',
      },
    ],
  },
];

/** Options of a download. */
export interface PullOptions {
  /** Base address of the model's path. */
  readonly baseUrl: string;
  readonly dataDir: string;
  /** Bytes of the model received, and its total. */
  readonly onProgress: (here: number, all: number) => void;
  /** Longest pause before the first retry, ms; each further pause is twice as long. */
  readonly retryAfterMs: number;
}

/** A failure that no retry will fix. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
}

const ATTEMPTS = 5;

/** Downloads the missing parts of a model. Throws `ModelError`, or the last network error. */
export async function pullModel(model: PulledModel, options: PullOptions): Promise<void> {
  const directory = join(options.dataDir, 'models', model.name);
  await mkdir(directory, { recursive: true });
  const all = model.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let before = 0;
  for (const file of model.files) {
    const url = `${options.baseUrl}/${model.path}/${file.name}`;
    await pullFile(file, {
      url,
      directory,
      retryAfterMs: options.retryAfterMs,
      onBytes: (here) => options.onProgress(before + here, all),
    });
    before += file.bytes;
    options.onProgress(before, all);
  }
}

interface FilePull {
  readonly url: string;
  readonly directory: string;
  readonly retryAfterMs: number;
  readonly onBytes: (here: number) => void;
}

async function pullFile(file: ModelFile, pull: FilePull): Promise<void> {
  const path = join(pull.directory, file.name);
  if ((await digestOf(path)) === file.sha256) return;
  const partial = `${path}.partial`;
  await pRetry(() => fetchRest(file, partial, pull), {
    retries: ATTEMPTS - 1,
    minTimeout: pull.retryAfterMs,
  });
  if ((await digestOf(partial)) !== file.sha256) {
    await rm(partial);
    throw new ModelError(`${file.name} is corrupt (its SHA-256 differs) and was removed`);
  }
  await rename(partial, path);
}

/** Fetches the missing rest of a partial file; throws if it is still incomplete. */
async function fetchRest(file: ModelFile, partial: string, { url, onBytes }: FilePull): Promise<void> {
  const present = await sizeOf(partial);
  if (present === file.bytes) return;
  const response = await fetch(url, { headers: present > 0 ? { range: `bytes=${present}-` } : {} });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw await refusalOf(response.status, url, partial);
  }
  // A server without range requests sends the whole file again.
  const continues = response.status === 206;
  let here = continues ? present : 0;
  const out = await open(partial, continues ? 'a' : 'w');
  try {
    for await (const chunk of response.body) {
      here += chunk.length;
      if (here > file.bytes) break;
      await out.writeFile(chunk);
      onBytes(here);
    }
  } finally {
    await out.close();
  }
  if (here > file.bytes) {
    await rm(partial);
    throw new AbortError(new ModelError(`${url} is longer than ${file.bytes} bytes`));
  }
  if (here < file.bytes) throw new Error(`${url} ended after ${here} of ${file.bytes} bytes`);
}

/** Maps a refused request to an error: a busy server may be retried. */
async function refusalOf(status: number, url: string, partial: string): Promise<Error> {
  const message = `${url} answered HTTP ${status}`;
  // No such range: the partial file belongs to another version.
  if (status === 416) await rm(partial, { force: true });
  return status >= 500 || status === 429 || status === 416
    ? new Error(message)
    : new AbortError(new ModelError(message));
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

/** SHA-256 of a file; null if it does not exist. */
async function digestOf(path: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
  } catch {
    return null;
  }
  return hash.digest('hex');
}
