import { describe, expect, it } from 'vitest';
import { DecodedSegments } from '#control-plane/calls/recordings/decoded-segments.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';

const MEBIBYTE = 1024 * 1024;

/** Counts decoded objects. */
function open() {
  const clock = new ManualClock();
  const segments = new DecodedSegments(clock);
  const decoded: string[] = [];
  const get = (name: string, bytes: number | null = 10) =>
    segments.get(name, async () => {
      decoded.push(name);
      return bytes === null ? null : Buffer.alloc(bytes);
    });
  return { clock, segments, decoded, get };
}

describe('decoded segments', () => {
  it('are decoded once for all ranges of a minute', async () => {
    const { clock, decoded, get } = open();
    await Promise.all([get('a'), get('a'), get('b')]);
    await get('a');
    expect(decoded).toEqual(['a', 'b']);
    await clock.advance(60_000);
    await get('a');
    expect(decoded).toEqual(['a', 'b', 'a']);
  });

  it('leave as those that were not read for longest, above 64 MiB', async () => {
    const { decoded, get } = open();
    await get('a', 30 * MEBIBYTE);
    await get('b', 30 * MEBIBYTE);
    await get('a');
    await get('c', 30 * MEBIBYTE);
    await get('a');
    await get('b');
    expect(decoded).toEqual(['a', 'b', 'c', 'b']);
  });

  it('are tried again if they are missing or broken', async () => {
    const { segments, decoded, get } = open();
    await get('a', null);
    await get('a');
    expect(decoded).toEqual(['a', 'a']);
    await expect(segments.get('b', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await get('b');
    expect(decoded).toEqual(['a', 'a', 'b']);
  });
});
