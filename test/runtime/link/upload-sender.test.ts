import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#base/log.ts';
import { type Upload, unpackUploads } from '#protocol/uploads.ts';
import { createUploadSender, type UploadSender } from '#runtime/link/upload-sender.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const MEBIBYTE = new Uint8Array(1024 * 1024);

interface Received {
  readonly chunks: readonly number[];
  readonly bytes: number;
  readonly authorization: string;
}

interface Answer {
  readonly status: number;
  readonly refused?: number[];
  readonly is_stored?: boolean;
}

describe('uploads', () => {
  let server: Server;
  let clock: ManualClock;
  let uploads: UploadSender;
  let received: Received[];
  let answer: () => Answer | Promise<Answer>;

  beforeEach(async () => {
    received = [];
    answer = () => ({ status: 200 });
    server = createServer(async (request, response) => {
      const body: Buffer[] = [];
      for await (const chunk of request) body.push(chunk as Buffer);
      const carried = unpackUploads(Buffer.concat(body)) ?? [];
      received.push({
        chunks: carried.map(({ head }) => head.piece),
        bytes: carried.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
        authorization: request.headers.authorization ?? '',
      });
      const { status, refused = [], ...rest } = await answer();
      response.writeHead(status).end(JSON.stringify({ refused, ...rest }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    clock = new ManualClock();
    uploads = createUploadSender({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: 'secret-of-workers',
      clock,
      logger,
    });
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const piece = (chunk: number, bytes: Uint8Array = new Uint8Array(10)): Upload => ({
    head: {
      type: 'log',
      session_id: `s${chunk % 2}`,
      epoch: 1,
      object: chunk,
      piece: chunk,
      pieces: 1,
      is_part: true,
    },
    bytes,
  });

  it('of a session that another worker has are dropped, also between two attempts', async () => {
    answer = () => ({ status: received.length === 1 ? 503 : 200 });
    for (const chunk of [0, 1, 2, 3]) uploads.send(piece(chunk));
    await clock.advance(150);
    await expect.poll(() => received.length).toBe(1);
    uploads.send(piece(4));
    uploads.send(piece(5));
    uploads.drop('s0', 1);
    await uploads.flushed();
    expect(received.slice(1).flatMap(({ chunks }) => chunks.toSorted())).toEqual([5, 1, 3]);
  });

  it('are sent together if they are made within 0.15 s, from all calls, with the worker’s token', async () => {
    for (const chunk of [0, 1, 2]) uploads.send(piece(chunk));
    await clock.advance(150);
    await uploads.flushed();
    expect(received).toEqual([{ chunks: [0, 1, 2], bytes: 30, authorization: 'Bearer secret-of-workers' }]);
    uploads.send(piece(3));
    await uploads.flushed();
    expect(received.map(({ chunks }) => chunks)).toEqual([[0, 1, 2], [3]]);
    await uploads.flushed();
  });

  it('are retried while the control plane cannot accept them', async () => {
    answer = () => ({ status: received.length < 3 ? 503 : 200 });
    uploads.send(piece(0));
    await uploads.flushed();
    expect(received.map(({ chunks }) => chunks)).toEqual([[0], [0], [0]]);
  });

  it('wait for a control plane that knows their route: one version older, it is about to be replaced', async () => {
    answer = () => ({ status: received.length < 2 ? 404 : 200 });
    uploads.send(piece(0));
    await uploads.flushed();
    expect(received.map(({ chunks }) => chunks)).toEqual([[0], [0]]);
  });

  it('are stored, held until their object comes, or given up, and their sender learns it', async () => {
    const outcomes: string[] = [];
    const send = (chunk: number) =>
      uploads.send(piece(chunk), (outcome) => outcomes.push(`${chunk} ${outcome}`));
    answer = () => ({ status: 200, refused: [1], is_stored: false });
    for (const chunk of [0, 1]) send(chunk);
    await uploads.flushed();
    answer = () => ({ status: 200 });
    send(2);
    await uploads.flushed();
    send(3);
    uploads.drop('s1', 1);
    await uploads.flushed();
    expect(outcomes).toEqual(['0 held', '1 refused', '2 stored', '3 given_up']);
  });

  it('are not resent after a refusal', async () => {
    answer = () => ({ status: 200, refused: [0] });
    uploads.send(piece(0));
    await uploads.flushed();
    answer = () => ({ status: 413 });
    uploads.send(piece(1));
    await uploads.flushed();
    expect(received.map(({ chunks }) => chunks)).toEqual([[0], [1]]);
  });

  it('are never more in one request than a control plane takes', async () => {
    for (let chunk = 0; chunk < 1_001; chunk++) uploads.send(piece(chunk, new Uint8Array()));
    await uploads.flushed();
    expect(received.map(({ chunks }) => chunks.length).toSorted((a, b) => a - b)).toEqual([1, 1_000]);
  });

  it('are sent at once when a request is full, four at a time; excess uploads displace the oldest', async () => {
    const { promise, resolve } = Promise.withResolvers<{ status: number }>();
    answer = () => promise;
    for (let chunk = 0; chunk < 262; chunk++) uploads.send(piece(chunk, MEBIBYTE));
    await vi.waitFor(() => expect(received).toHaveLength(4));
    resolve({ status: 200 });
    await uploads.flushed();
    const sent = received.flatMap(({ chunks }) => chunks).sort((a, b) => a - b);
    expect(sent).toEqual([0, 1, 2, 3, ...Array.from({ length: 252 }, (_, index) => index + 10)]);
  });
});

describe('a body of uploads', () => {
  it('is distinguished from an invalid one', () => {
    const whole = (index: unknown, bytes = 0) => {
      const text = Buffer.from(JSON.stringify(index));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      return Buffer.concat([length, text, Buffer.alloc(bytes)]);
    };
    const of = { session_id: 's', epoch: 1, object: 0, piece: 0, pieces: 1, is_part: true, bytes: 3 };
    const entry = { type: 'log', ...of };
    expect(unpackUploads(whole([entry], 3))).toMatchObject([{ head: { session_id: 's', piece: 0 } }]);
    const track = { type: 'audio', ...of, track: 'nobody', start_ms: 0, rate_hz: 8_000, samples: 3 };
    for (const body of [
      Buffer.alloc(3),
      Buffer.from([255, 255, 255, 255]),
      whole([entry], 2),
      whole([entry], 4),
      whole([{ ...entry, epoch: 0 }], 3),
      whole([track], 3),
      whole([{ ...track, track: 'user', samples: 120 * 8_000 + 1 }], 3),
      whole([{ ...entry, pieces: 101 }], 3),
      whole('no list'),
    ])
      expect(unpackUploads(body)).toBeNull();
  });
});
