import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { addressQuestion, type Upload } from '#protocol/uploads.ts';
import { ObjectSender } from '#runtime/link/object-sender.ts';
import type { UploadOutcome } from '#runtime/link/upload-sender.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const SALT = '0123456789abcdef0123456789abcdef';
const logger = createLogger({ level: 'silent', name: 'test' });

let server: Server;
let clock: ManualClock;
let objects: ObjectSender;
/** Pieces of the objects in each question for addresses. */
let asked: number[][];
/** Pieces of the objects that were to be stored in the bucket. */
let stored: number[];
/** The uploads that the control plane got. */
let sent: Upload[];
/** Why the bucket cannot be reached; null if it can. */
let failure: string | null;
/** The outcome of an object that the control plane gets. */
let outcome: UploadOutcome;
let atOnce: number;
let mostAtOnce: number;

beforeEach(async () => {
  [asked, stored, sent, failure, outcome] = [[], [], [], null, 'stored'];
  [atOnce, mostAtOnce] = [0, 0];
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const question = addressQuestion.parse(JSON.parse(body));
    asked.push(question.objects.map(({ head }) => head.piece));
    const place = { url: 'http://bucket/x', key: 'AAAA', salt: SALT };
    const address = (piece: number) => ({ ...place, name: `${piece}` });
    // The third one is refused.
    const addresses = question.objects.map(({ head }) => (head.piece === 2 ? null : address(head.piece)));
    response.end(JSON.stringify({ addresses }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  clock = new ManualClock();
  objects = new ObjectSender({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 'secret-of-workers',
    instanceId: 'w',
    clock,
    logger,
    packer: {
      store: async ({ head }, { name }) => {
        expect(name).toBe(`${head.piece}`);
        stored.push(head.piece);
        mostAtOnce = Math.max(mostAtOnce, ++atOnce);
        await setImmediate();
        atOnce -= 1;
        return failure;
      },
    },
    sender: {
      send: (upload, onDone) => {
        sent.push(upload);
        onDone?.(outcome);
      },
      waiting: () => ({ items: [], bytes: 0 }),
      flushed: async () => undefined,
    },
  });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function object(piece: number): Upload {
  const head = { type: 'log', session_id: `s${piece}`, epoch: 1, object: piece, piece, pieces: 1 } as const;
  return { head: { ...head, is_part: false }, bytes: Buffer.alloc(10) };
}

/** The control plane's uploads, one for each object: a note that the bucket has it, or its bytes. */
const told = () =>
  sent.map(
    ({ head, bytes }) =>
      `${head.piece} ${head.salt === SALT ? 'in the bucket' : `${bytes.byteLength} bytes`}`,
  );

describe('whole objects', () => {
  it('are stored in the bucket, and the control plane only learns of it; several share a question', async () => {
    for (const piece of [0, 1]) objects.send(object(piece));
    expect(objects.waiting()).toMatchObject({ items: [{}, {}], bytes: 20 });
    await objects.flushed();
    expect([asked, stored, told()]).toEqual([[[0, 1]], [0, 1], ['0 in the bucket', '1 in the bucket']]);
    expect(objects.waiting()).toEqual({ items: [], bytes: 0 });
  });

  it('that get no address go to the control plane', async () => {
    for (const piece of [2, 3]) objects.send(object(piece));
    await objects.flushed();
    expect([stored, told()]).toEqual([[3], ['2 10 bytes', '3 in the bucket']]);
  });

  it('go to the control plane if the bucket is out of reach, without a question for five minutes', async () => {
    failure = 'connection refused';
    objects.send(object(0));
    await objects.flushed();
    failure = null;
    objects.send(object(1));
    await clock.advance(5 * 60_000);
    objects.send(object(3));
    await objects.flushed();
    expect([asked, told()]).toEqual([
      [[0], [3]],
      ['0 10 bytes', '1 10 bytes', '3 in the bucket'],
    ]);
  });

  it('do not wait for a bucket that did not answer the ones before them', async () => {
    failure = 'no answer';
    for (let piece = 3; piece < 33; piece++) objects.send(object(piece));
    await objects.flushed();
    expect([stored.length, sent.length]).toEqual([8, 30]);
  });

  it('go to the control plane if it knows no addresses', async () => {
    objects.send(object(0));
    server.removeAllListeners('request').on('request', (_, response) => response.writeHead(404).end('{}'));
    await objects.flushed();
    expect(told()).toEqual(['0 10 bytes']);
  });

  it('are stored a few at a time, also when the worker drains', async () => {
    for (let piece = 3; piece < 33; piece++) objects.send(object(piece));
    await objects.flushed();
    expect([stored.length, mostAtOnce]).toEqual([30, 8]);
  });

  it('are stored for their sender if the bucket or the control plane has them, and otherwise not', async () => {
    const known: string[] = [];
    const send = async (piece: number) => {
      objects.send(object(piece), (became) => known.push(`${piece} ${became}`));
      await objects.flushed();
    };
    await send(0);
    await send(2);
    outcome = 'given_up';
    failure = 'connection refused';
    await send(1);
    expect(known).toEqual(['0 stored', '2 stored', '1 given_up']);
  });
});
