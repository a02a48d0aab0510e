import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeFlac } from '#media/speech/audio/flac-decoder.ts';
import { flacFile } from '#media/speech/audio/flac-format.ts';
import type { PlainHead, Upload } from '#protocol/uploads.ts';
import { createPacker, type Packer, type PackingThread } from '#runtime/link/packer.ts';

const RATE_HZ = 8_000;

let packer: Packer;
afterEach(() => packer.close());

const OF_SESSION = { session_id: 's', epoch: 1 };

function recorded(samples: Int16Array): Upload<PlainHead> {
  const head = { type: 'recording', ...OF_SESSION, track: 'user', segment: 0, start_ms: 0, rate_hz: RATE_HZ };
  return { head: head as PlainHead, bytes: new Uint8Array(samples.buffer) };
}

function heard(frames: Uint8Array, samples: number): number[] {
  return [...decodeFlac(flacFile([frames], { rateHz: RATE_HZ, samples }))].flatMap((frame) => [...frame]);
}

/** Threads that answer nothing. */
class SilentThreads {
  readonly started: (PackingThread & EventEmitter)[] = [];

  start(): PackingThread {
    const thread = Object.assign(new EventEmitter(), {
      postMessage: () => undefined,
      terminate: async () => 0,
    }) as unknown as PackingThread & EventEmitter;
    this.started.push(thread);
    return thread;
  }
}

describe('the packer', () => {
  it('compresses pieces of several calls at the same time, each without loss', async () => {
    packer = createPacker();
    const pieces = [1, 2, 3].map((tone) =>
      Int16Array.from({ length: 1_000 * tone }, (_, at) => 9_000 * Math.sin((at * tone) / 20)),
    );
    const packed = await Promise.all(pieces.map((piece) => packer.pack(recorded(piece), 0)));
    expect(packed.map((frames, index) => heard(frames, pieces[index]?.length ?? 0))).toEqual(
      pieces.map((piece) => [...piece]),
    );
  });

  it('compresses flight logs with gzip, and keeps no more memory than they need', async () => {
    packer = createPacker();
    const piece = {
      head: { type: 'flight_log', ...OF_SESSION, chunk: 0 } as const,
      bytes: Buffer.from('lines'),
    };
    const packed = await packer.pack(piece, 0);
    expect(String(gunzipSync(packed))).toBe('lines');
    expect(packed.buffer.byteLength).toBe(packed.byteLength);
  });

  it('says that a piece cannot be compressed, on this thread neither, without ending the process', async () => {
    packer = createPacker(() => {
      throw new Error('no memory for a thread');
    });
    const { head, bytes } = recorded(Int16Array.of(1, 2, 3));
    expect(heard(await packer.pack({ head, bytes }, 0), 3)).toEqual([1, 2, 3]);
    const broken = packer.pack({ head: { ...head, rate_hz: -RATE_HZ } as PlainHead, bytes }, 0);
    await expect(broken).rejects.toThrow(RangeError);
  });

  it('loses nothing with its thread, and starts another one', async () => {
    const threads = new SilentThreads();
    packer = createPacker(() => threads.start());
    const waiting = packer.pack(recorded(Int16Array.of(1, 2, 3)), 0);
    threads.started[0]?.emit('error', new Error('lost'));
    threads.started[0]?.emit('exit', 1);
    expect(threads.started).toHaveLength(2);
    threads.started[1]?.emit('error', new Error('lost again'));
    expect(heard(await waiting, 3)).toEqual([1, 2, 3]);
    void packer.pack(recorded(Int16Array.of(4)), 0);
    expect(threads.started).toHaveLength(3);
  });
});

describe('an object in the bucket', () => {
  const head = {
    type: 'log',
    session_id: 's',
    epoch: 1,
    object: 0,
    piece: 0,
    pieces: 1,
    is_part: false,
  } as const;
  const OBJECT: Upload = { head, bytes: Buffer.from('lines') };
  const place = { key: Buffer.alloc(32).toString('base64'), name: 'x', salt: '0'.repeat(32) };

  async function storeAt(answer: RequestListener): Promise<string | null> {
    const server = createServer(answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    packer = createPacker();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    const failure = await packer.store(OBJECT, { ...place, url });
    server.closeAllConnections();
    server.close();
    return failure;
  }

  it('is stored once the answer has an ETag: another server may answer 200 to anything', async () => {
    const stored = await storeAt((_, response) => response.writeHead(200, { etag: '"x"' }).end());
    const unproven = await storeAt((_, response) => response.end('welcome'));
    // Web frameworks add a weak one to any answer.
    const weak = await storeAt((_, response) => response.writeHead(200, { etag: 'W/"x"' }).end());
    expect([stored, unproven, weak]).toEqual([null, '200 without ETag', '200 without ETag']);
  });

  it('is sent with its MD5, so that the bucket refuses a damaged one', async () => {
    const md5s: (string | undefined)[] = [];
    await storeAt(async (request, response) => {
      const md5 = createHash('md5');
      for await (const chunk of request) md5.update(chunk);
      md5s.push(request.headers['content-md5'] as string | undefined, md5.digest('base64'));
      response.end();
    });
    expect(md5s[0]).toBe(md5s[1]);
  });
});
