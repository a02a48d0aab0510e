import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { detectLocalRecognition } from '#media/speech/engines.ts';
import { PULLED_MODELS, type PulledModel, pullModel } from '#media/speech/local/pulled-models.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const CONTENTS: Readonly<Record<string, Buffer>> = {
  'encoder.int8.onnx': Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7919) % 251)),
  'decoder.int8.onnx': Buffer.from('decoder'),
  'joiner.int8.onnx': Buffer.from('joiner'),
  'tokens.txt': Buffer.from('<blk> 0\n'),
};
const MODEL: PulledModel = {
  name: 'streaming-test',
  title: 'A test',
  licence: 'none',
  path: 'somebody/model/resolve/1',
  files: Object.entries(CONTENTS).map(([name, content]) => ({
    name,
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  })),
};

/** Called when part of a file has arrived. */
let onceArrived = () => {};

type Answer = (content: Buffer, request: IncomingMessage, response: ServerResponse) => void;

/** The requested part of `content`, as sent by a server that supports ranges. */
const whole: Answer = (content, request, response) => {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (from >= content.length) return void response.writeHead(416).end();
  if (from > 0)
    response.writeHead(206, { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` });
  response.end(content.subarray(from));
};

/** A server for the model's files; these answers serve the first requests for the encoder, in order. */
async function place(...answers: Answer[]) {
  const requests: { readonly path: string; readonly range: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const name = path.split('/').at(-1) ?? '';
    requests.push({ path, range: request.headers.range });
    const content = CONTENTS[name];
    if (!content || !path.startsWith(`/${MODEL.path}/`)) return void response.writeHead(404).end();
    const answer = (name.startsWith('encoder') ? answers.shift() : undefined) ?? whole;
    answer(content, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-pulled-'));
  const progress: [number, number][] = [];
  const pull = (model = MODEL) =>
    pullModel(model, {
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      dataDir,
      onProgress: (here, all) => {
        progress.push([here, all]);
        onceArrived();
        onceArrived = () => {};
      },
      retryAfterMs: 1,
    });
  return { requests, dataDir, progress, pull, directory: join(dataDir, 'models', MODEL.name) };
}

const breaksOffAfter =
  (bytes: number): Answer =>
  (content, request, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': content.length - from });
    response.write(content.subarray(from, from + bytes));
    onceArrived = () => response.destroy();
  };

describe('a model that is pulled', () => {
  it('is complete, is found by the engines, and is not pulled again', async () => {
    const { pull, directory, dataDir, requests, progress } = await place();
    expect(detectLocalRecognition({ dataDir, searchPath: '' })).toEqual([]);
    await pull();
    for (const [name, content] of Object.entries(CONTENTS))
      expect(readFileSync(join(directory, name)).equals(content), name).toBe(true);
    expect(detectLocalRecognition({ dataDir, searchPath: '' })).toEqual(['sherpa']);
    const all = MODEL.files.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(progress.at(-1)).toEqual([all, all]);
    expect(progress).toEqual([...progress].sort(([a], [b]) => a - b));
    const asked = requests.length;
    await pull();
    expect(requests).toHaveLength(asked);
  });

  it('resumes an interrupted pull, in the same run and in a later one', async () => {
    const { pull, directory, requests } = await place(breaksOffAfter(100_000), breaksOffAfter(50_000));
    await pull();
    expect(readFileSync(join(directory, 'encoder.int8.onnx')).equals(CONTENTS['encoder.int8.onnx']!)).toBe(
      true,
    );
    const ranges = requests
      .filter(({ path }) => path.endsWith('encoder.int8.onnx'))
      .map(({ range }) => range);
    expect(ranges).toHaveLength(3);
    expect(ranges[0]).toBeUndefined();
    // Resumes from the bytes received before the connection broke.
    for (const range of ranges.slice(1)) expect(range).toMatch(/^bytes=[1-9]\d*-$/);

    const later = await place();
    await later.pull({ ...MODEL, files: [] });
    writeFileSync(
      join(later.directory, 'encoder.int8.onnx.partial'),
      CONTENTS['encoder.int8.onnx']!.subarray(0, 123_456),
    );
    await later.pull();
    expect(later.requests[0]?.range).toBe('bytes=123456-');
    expect(
      readFileSync(join(later.directory, 'encoder.int8.onnx')).equals(CONTENTS['encoder.int8.onnx']!),
    ).toBe(true);
  });

  it('restarts when the server does not support ranges', async () => {
    const plain: Answer = (content, _request, response) => void response.end(content);
    const { pull, directory } = await place(breaksOffAfter(100_000), plain);
    await pull();
    expect(readFileSync(join(directory, 'encoder.int8.onnx')).equals(CONTENTS['encoder.int8.onnx']!)).toBe(
      true,
    );
  });

  it.each([
    ['of the same size', (content: Buffer) => Buffer.alloc(content.length, 1), /SHA-256 differs/],
    ['that is longer', (content: Buffer) => Buffer.concat([content, content]), /is longer than/],
  ])(
    'is refused and removed when a file %s differs, and does not count as a model',
    async (_, other, message) => {
      const { pull, directory, dataDir } = await place(
        (content, _request, response) => void response.end(other(content)),
      );
      await expect(pull()).rejects.toThrow(message);
      expect(readdirSync(directory)).toEqual([]);
      expect(detectLocalRecognition({ dataDir, searchPath: '' })).toEqual([]);
      await pull();
      expect(detectLocalRecognition({ dataDir, searchPath: '' })).toEqual(['sherpa']);
    },
  );

  it('is retried when the server is busy, but not when a file is missing', async () => {
    const busy: Answer = (_content, _request, response) => void response.writeHead(503).end();
    const { pull, requests, directory } = await place(busy, busy);
    await pull();
    expect(existsSync(join(directory, 'encoder.int8.onnx'))).toBe(true);
    const before = requests.length;
    await expect(
      pull({ ...MODEL, files: [{ name: 'nothing.onnx', bytes: 1, sha256: '0' }] }),
    ).rejects.toThrow('HTTP 404');
    expect(requests).toHaveLength(before + 1);
  });
});

it('an offered model has one version and complete checksums', () => {
  for (const { path, files, licence } of PULLED_MODELS) {
    expect(path).toMatch(/\/resolve\/[0-9a-f]{40}$/);
    expect(licence).not.toBe('');
    for (const { sha256, bytes } of files) {
      expect(sha256).toMatch(/^[0-9a-f]{64}$/);
      expect(bytes).toBeGreaterThan(0);
    }
  }
});
