import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import { createDecoders } from '#media/speech/pool/decoders.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { itNeeds } from '#test/needs.ts';

const { signal } = new AbortController();
const WAV = () => new Uint8Array(toWav(new Int16Array(16_000), 16_000));
const program = (source: string) =>
  new URL(
    'data:text/javascript,' +
      `${encodeURIComponent(`import { parentPort } from 'node:worker_threads'; ${source}`)}`,
  );
/** Hangs, dies or answers, depending on the first byte of the file. */
const MOODY = program(`parentPort.on('message', ({ file }) => {
  if (file[0] === 1) for (;;);
  if (file[0] === 2) process.exit(1);
  if (file[0] === 3) throw new Error('broken');
  parentPort.postMessage({ type: 'decoded', samples: new Int16Array(file[0]) });
});`);
const threadCount = () => readdirSync('/proc/self/task').length;
const fileOf = (...bytes: number[]) => Uint8Array.from(bytes);

describe('a recording', () => {
  it('is decoded in a separate thread, and so is the next one', async () => {
    const decode = createDecoders({ clock: systemClock });
    for (let round = 0; round < 3; round++)
      expect(await decode({ file: WAV(), longestSeconds: 5, signal })).toHaveLength(16_000);
    const both = await Promise.all([WAV(), WAV()].map((file) => decode({ file, longestSeconds: 5, signal })));
    expect(both.map(({ length }) => length)).toEqual([16_000, 16_000]);
  });

  it('fails only its own request when it hangs the decoder, after 10 s of silence', async () => {
    const clock = new ManualClock();
    const decode = createDecoders({ clock, entry: MOODY });
    const hung = expect(decode({ file: fileOf(1), longestSeconds: 5, signal })).rejects.toMatchObject({
      failure: 'audio_unreadable',
    });
    expect(await decode({ file: fileOf(7), longestSeconds: 5, signal })).toHaveLength(7);
    await clock.advance(10_001);
    await hung;
    expect(await decode({ file: fileOf(8), longestSeconds: 5, signal })).toHaveLength(8);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([2, 3])('fails only its own request when it kills the decoder (%s)', async (kind) => {
    const decode = createDecoders({ clock: systemClock, entry: MOODY });
    expect(await decode({ file: fileOf(7), longestSeconds: 5, signal })).toHaveLength(7);
    await expect(decode({ file: fileOf(kind), longestSeconds: 5, signal })).rejects.toMatchObject({
      failure: 'audio_unreadable',
    });
    expect(await decode({ file: fileOf(9), longestSeconds: 5, signal })).toHaveLength(9);
  });

  it('stops being decoded when its request is aborted', async () => {
    const before = threadCount();
    const stop = new AbortController();
    const given = createDecoders({ clock: systemClock, entry: MOODY })({
      file: fileOf(1),
      longestSeconds: 5,
      signal: stop.signal,
    });
    await expect.poll(threadCount).toBeGreaterThan(before);
    stop.abort(new Error('the client disconnected'));
    await expect(given).rejects.toThrow('the client disconnected');
    await expect.poll(threadCount).toBeLessThanOrEqual(before);
  });

  itNeeds(['ffmpeg'])(
    'takes no more memory than its samples when it has thousands of silent samples a byte',
    { timeout: 120_000 },
    async () => {
      const args = [
        '-f',
        'lavfi',
        '-i',
        'anullsrc=r=48000:cl=7.1',
        '-t',
        '300',
        '-c:a',
        'flac',
        '-frame_size',
        '65535',
        '-f',
        'flac',
        '-',
      ];
      const { stdout } = await promisify(execFile)('ffmpeg', ['-v', 'error', ...args], {
        encoding: 'buffer',
      });
      expect(stdout.length).toBeLessThan(50_000);
      const before = process.memoryUsage.rss();
      let most = 0;
      const watch = setInterval(() => {
        most = Math.max(most, process.memoryUsage.rss() - before);
      }, 20);
      const samples = await createDecoders({ clock: systemClock })({
        file: new Uint8Array(stdout),
        longestSeconds: 3_600,
        signal,
      });
      clearInterval(watch);
      expect(samples).toHaveLength(300 * 16_000);
      expect(most).toBeLessThan(200 * 1_024 * 1_024);
    },
  );

  itNeeds(['ffmpeg'])('is damaged if it claims a rate at which people do not record', async () => {
    const args = [
      '-f',
      'lavfi',
      '-i',
      'sine=frequency=10:duration=3',
      '-ar',
      '700',
      '-c:a',
      'flac',
      '-f',
      'flac',
      '-',
    ];
    const { stdout } = await promisify(execFile)('ffmpeg', ['-v', 'error', ...args], { encoding: 'buffer' });
    const decoded = createDecoders({ clock: systemClock })({
      file: new Uint8Array(stdout),
      longestSeconds: 3_600,
      signal,
    });
    await expect(decoded).rejects.toMatchObject({ failure: 'audio_unreadable' });
  });
});
