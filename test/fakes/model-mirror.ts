/** A mirror of speech models on the loopback, with ETags and ranges as RFC 9110 has them. */
import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SpeechModel } from '#media/speech/models/model-table.ts';
import { listenLocally } from './local-server.ts';

/** The contents of a model, by file name. */
export type ModelContents = Readonly<Record<string, Buffer>>;

/** What the mirror was asked for. */
export interface MirrorRequest {
  readonly name: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
}

/** Answers one request in place of the mirror. */
export type Answer = (content: Buffer, request: IncomingMessage, response: ServerResponse) => void;

/** A running mirror. */
export interface ModelMirror {
  readonly url: string;
  readonly requests: MirrorRequest[];
  /** Answers of the next requests for a file, in order; after them the mirror answers by itself. */
  readonly answers: Map<string, Answer[]>;
  close(): Promise<void>;
}

/** The entry of the table for these contents. */
export function modelOf(
  contents: ModelContents,
  over: Partial<SpeechModel> & Pick<SpeechModel, 'id'>,
): SpeechModel {
  return {
    kind: 'recogniser',
    title: 'A test',
    licence: 'CC0-1.0',
    languages: ['en'],
    sample_rate_hz: 16_000,
    path: `tests/${over.id}/resolve/1`,
    files: Object.entries(contents).map(([name, content]) => ({
      name,
      bytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
    ...over,
  };
}

/** A file for `MODELS_TABLE`. */
export function tableFile(models: readonly SpeechModel[]): string {
  const path = join(mkdtempSync(join(tmpdir(), 'parley-table-')), 'models.json');
  writeFileSync(path, JSON.stringify(models));
  return path;
}

/** Starts a mirror of these models. */
export async function startModelMirror(
  models: readonly { readonly model: SpeechModel; readonly contents: ModelContents }[],
): Promise<ModelMirror> {
  const requests: MirrorRequest[] = [];
  const answers = new Map<string, Answer[]>();
  const files = new Map<string, { readonly name: string; readonly content: Buffer }>(
    models.flatMap(({ model, contents }) =>
      Object.entries(contents).map(
        ([name, content]) => [`/${model.path}/${name}`, { name, content }] as const,
      ),
    ),
  );
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '');
    if (!file) return void response.writeHead(404).end();
    const { range, 'if-range': ifRange } = request.headers;
    requests.push({ name: file.name, range, ifRange: ifRange === undefined ? undefined : String(ifRange) });
    (answers.get(file.name)?.shift() ?? whole)(file.content, request, response);
  });
  const { port, close } = await listenLocally(server);
  return { url: `http://127.0.0.1:${port}`, requests, answers, close };
}

/** The requested part, or the whole of a file that has changed. */
export const whole: Answer = (content, request, response) => {
  const from = rangeStart(content, request);
  if (from >= content.length) return void response.writeHead(416).end();
  writeHead(content, from, response);
  response.end(content.subarray(from));
};

/** Sends this many bytes, tells the test, and breaks off when it says so. */
export const breaksOffAfter =
  (bytes: number, untilReceived: () => Promise<void>): Answer =>
  (content, request, response) => {
    const from = rangeStart(content, request);
    writeHead(content, from, response);
    response.write(content.subarray(from, from + bytes));
    void untilReceived().then(() => response.destroy());
  };

/** Sends this many bytes and nothing more. */
export const stallsAfter =
  (bytes: number): Answer =>
  (content, request, response) => {
    const from = rangeStart(content, request);
    writeHead(content, from, response);
    response.write(content.subarray(from, from + bytes));
  };

function rangeStart(content: Buffer, request: IncomingMessage): number {
  const { range = '', 'if-range': ifRange } = request.headers;
  if (ifRange !== undefined && ifRange !== etagOf(content)) return 0;
  return Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0);
}

function writeHead(content: Buffer, from: number, response: ServerResponse): void {
  const headers = { etag: etagOf(content), 'content-length': content.length - from };
  if (from === 0) response.writeHead(200, headers);
  else
    response.writeHead(206, {
      ...headers,
      'content-range': `bytes ${from}-${content.length - 1}/${content.length}`,
    });
}

function etagOf(content: Buffer): string {
  return `"${createHash('sha256').update(content).digest('hex').slice(0, 16)}"`;
}
