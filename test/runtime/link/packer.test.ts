import { EventEmitter } from 'node:events';
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

  it('compresses flight logs with gzip', async () => {
    packer = createPacker();
    const piece = {
      head: { type: 'flight_log', ...OF_SESSION, chunk: 0 } as const,
      bytes: Buffer.from('lines'),
    };
    expect(String(gunzipSync(await packer.pack(piece, 0)))).toBe('lines');
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
