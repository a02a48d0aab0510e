/** A control plane with a bucket, and the uploads of a call. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Context } from '#control-plane/platform/context.ts';
import { HeldPieces } from '#control-plane/platform/held-pieces.ts';
import type { Blobs } from '#media/blobs/blobs.ts';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import { type AudioHead, packUploads, type Upload, uploadAnswer } from '#protocol/uploads.ts';
import { memoryBlobs, type TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

export const RATE_HZ = 8_000;
/** Of a piece. */
export const SAMPLES = 800;
export const PIECE_MS = 100;
export const MEBIBYTE = 1024 * 1024;

/** The stores of the control plane under test; each test has its own. */
export const stores: { blobs: Blobs; held: HeldPieces } = {
  blobs: memoryBlobs(true),
  held: new HeldPieces(256 * MEBIBYTE),
};
export let api: TestCalls;
export let user: TestUser;
let agentId: string;

/** Opens the control plane for the tests of a file. */
export function openHeldCalls(): void {
  beforeAll(async () => {
    const over: Partial<Context> = {
      get blobs() {
        return stores.blobs;
      },
      get held() {
        return stores.held;
      },
    };
    api = await openTestCalls({}, {});
    Object.defineProperties(api.context, Object.getOwnPropertyDescriptors(over));
    user = await api.createUser();
    agentId = await api.publishAgent(user);
  });
  afterAll(() => api.close());
  beforeEach(() => Object.assign(stores, { blobs: memoryBlobs(true), held: new HeldPieces(256 * MEBIBYTE) }));
}

/** A call that is not answered yet. */
export async function unanswered(): Promise<string> {
  const created = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  return created.body.session_id;
}

export async function call(): Promise<string> {
  const id = await unanswered();
  await api.report(id, { type: 'joined', at: api.at() });
  return id;
}

export const end = (id: string) => api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });

/** The samples of a piece: a tone of its own. */
export const tone = (piece: number) =>
  Int16Array.from({ length: SAMPLES }, (_, at) => 5_000 * Math.sin((at * (piece + 1)) / 9) + piece);

/** Consecutive pieces of the object that begins with `object`; all of an object unless `isPart`. */
export function audio(
  id: string,
  of: { object?: number; piece: number; pieces?: number; isPart?: boolean; epoch?: number },
): Upload {
  const { object = 0, piece, pieces = 1, isPart = pieces === 1, epoch = 1 } = of;
  const head: AudioHead = {
    type: 'audio',
    session_id: id,
    epoch,
    object,
    piece,
    pieces,
    is_part: isPart,
    track: 'user',
    start_ms: api.clock.wallTime() + piece * PIECE_MS,
    rate_hz: RATE_HZ,
    samples: pieces * SAMPLES,
  };
  const frames = Array.from({ length: pieces }, (_, at) =>
    encodeFlac(tone(piece + at), RATE_HZ, (piece + at - object) * SAMPLES),
  );
  return { head, bytes: Buffer.concat(frames) };
}

export function log(id: string, piece: number, text: string, isPart = true): Upload {
  const of = { session_id: id, epoch: 1, object: 0, piece, pieces: 1, is_part: isPart };
  return { head: { type: 'log', ...of }, bytes: gzipSync(text) };
}

export async function put(uploads: readonly Upload[]) {
  const response = await api.app.inject({
    method: 'POST',
    url: '/internal/pieces',
    headers: {
      authorization: `Bearer ${api.context.credentials.workerToken}`,
      'content-type': 'application/octet-stream',
    },
    payload: packUploads(uploads),
  });
  return uploadAnswer.parse(response.json());
}

export const recording = (id: string) =>
  api.request('GET', `/v1/agent/sessions/${id}/recording`, { key: user.key });
export const names = async (id: string) =>
  (await stores.blobs.list(`sessions/${id}/recording/`)).map((key) =>
    key
      .split('/')
      .at(-1)
      ?.replace(/-\d{9,}-/, '-…-'),
  );

/** The pieces that the WAV of the caller contains, in their order. */
export async function heard(id: string): Promise<Int16Array> {
  // Until then another control plane may hold something of it.
  await api.clock.advance(60_000);
  const { body } = await recording(id);
  const { pathname, search } = new URL(body.tracks[0].url);
  const { rawPayload } = await api.app.inject({ method: 'GET', url: `${pathname}${search}` });
  return new Int16Array(
    rawPayload.buffer.slice(rawPayload.byteOffset + 44, rawPayload.byteOffset + rawPayload.length),
  );
}
export const said = (...pieces: number[]) => Int16Array.from(pieces.flatMap((piece) => [...tone(piece)]));
