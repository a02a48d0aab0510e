/**
 * Tests, on hand-made streams, of where a call's sounds are on the wire; recordings are compared with these
 * positions.
 */
import { describe, expect, it } from 'vitest';
import { soundsOf } from '#bench/recording-alignment.ts';
import { encodeUlaw, ULAW_SILENCE } from '#caller/g711.ts';
import type { CapturedDatagram } from '#caller/pcap.ts';
import { writeRtp } from '#caller/rtp.ts';

/**
 * Packets of 20 ms of one worker's stream from `atMs` on, voiced or silent according to `pattern` (`#` or
 * `.`), each delayed by its entry of `lateMs`.
 */
function stream(
  ssrc: number,
  atMs: number,
  pattern: string,
  lateMs: Readonly<Record<number, number>> = {},
): CapturedDatagram[] {
  return [...pattern].map((sign, index) => ({
    atMs: atMs + index * 20 + (lateMs[index] ?? 0),
    sourcePort: 2_000,
    destinationPort: 1_002,
    payload: writeRtp({
      payloadType: 0,
      marker: false,
      sequence: index,
      ssrc,
      timestamp: (2 ** 32 - 800 + index * 160) % 2 ** 32,
      payload: Buffer.alloc(160, sign === '#' ? encodeUlaw(4_000) : ULAW_SILENCE),
    }),
  }));
}

const QUIET = '.'.repeat(15);

describe('the sounds of a captured stream', () => {
  it('follow the stream’s clock, even if a stalled sender sent their first packet late', () => {
    const late = { 15: 38, 16: 18, 0: 9 };
    expect(soundsOf('agent', stream(1, 5_000, `${QUIET}##${QUIET}#`, late))).toEqual([
      { role: 'agent', atMs: 5_300 },
      { role: 'agent', atMs: 5_640 },
    ]);
  });

  it('are separated by silence; those after a failover follow the new worker’s clock', () => {
    const taken = stream(2, 9_007, `${QUIET}##`, { 15: 90, 16: 70 });
    expect(soundsOf('agent', [...stream(1, 5_000, '#..#'), ...taken])).toEqual([
      { role: 'agent', atMs: 5_000 },
      { role: 'agent', atMs: 9_307 },
    ]);
  });
});
