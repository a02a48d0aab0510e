/**
 * Tests of the capture analysis on hand-made captures, in which every interval is known to the microsecond.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallRecord } from '#caller/caller.ts';
import { decodeUlaw, encodeUlaw, ULAW_SILENCE } from '#caller/g711.ts';
import { measureCall, spokenAt } from '#caller/measure.ts';
import { type CapturedDatagram, readPcap } from '#caller/pcap.ts';
import { parseRtp, writeRtp } from '#caller/rtp.ts';
import { parseSip } from '#caller/sip-message.ts';

const CALLER = { signalling: 1000, media: 1002 };
const AGENT_PORT = 2000;

/**
 * Packets of 20 ms from `atMs` on, voiced or silent according to `pattern` (`#` or `.`), each shifted by its
 * entry of `shiftsMs`.
 */
function stream(
  direction: 'sent' | 'received',
  atMs: number,
  pattern: string,
  shiftsMs: readonly number[] = [],
): CapturedDatagram[] {
  return [...pattern].map((sign, index) => ({
    atMs: atMs + index * 20 + (shiftsMs[index] ?? 0),
    sourcePort: direction === 'sent' ? CALLER.media : AGENT_PORT,
    destinationPort: direction === 'sent' ? AGENT_PORT : CALLER.media,
    payload: writeRtp({
      payloadType: 0,
      marker: false,
      sequence: (65_530 + index) % 65_536,
      timestamp: index * 160,
      ssrc: 9,
      payload: Buffer.alloc(160, sign === '#' ? encodeUlaw(4_000) : ULAW_SILENCE),
    }),
  }));
}

function record(lines: CallRecord['lines']): CallRecord {
  return {
    outcome: { type: 'answered', endedBy: 'caller' },
    callId: 'a@b',
    ports: CALLER,
    lines,
    heard: new Int16Array(),
    timeline: { agent: [], lines: [] },
  };
}

function line(firstPacket: number, lastPacket: number, isInterruption = false): CallRecord['lines'][number] {
  return {
    text: 'line',
    means: isInterruption ? 'interruption' : 'turn',
    firstTimestamp: firstPacket * 160,
    lastTimestamp: lastPacket * 160,
  };
}

const options = { bargeInWaitMs: 100 };

describe('measureCall', () => {
  it('times the reply from the last voiced packet of the line to the first voiced packet after it', () => {
    const sent = stream('sent', 0, '..####......................');
    const received = stream('received', 7, '#...............####........');
    const { turns } = measureCall([...sent, ...received], record([line(2, 7)]), options);
    expect(turns).toMatchObject([{ text: 'line', replyAfterMs: 7 + 16 * 20 - 5 * 20 }]);
  });

  it('finds no reply if the caller spoke again before one', () => {
    const sent = stream('sent', 0, '..##....##..................');
    const received = stream('received', 0, '.............####...........');
    const { turns } = measureCall([...sent, ...received], record([line(2, 3), line(8, 9)]), options);
    expect(turns.map((turn) => turn.replyAfterMs)).toEqual([null, 80]);
  });

  it('times a barge-in from the packet that completes the wait to the last voiced packet', () => {
    const sent = stream('sent', 0, '..........##########........................');
    const received = stream('received', 3, '####################........................');
    const { bargeIns } = measureCall([...sent, ...received], record([line(10, 19, true)]), options);
    expect(bargeIns[0]?.stoppedAfterMs).toBe(3 + 19 * 20 - 14 * 20);
  });

  it('finds the time of a line whatever the network did to its first packet', () => {
    const jitter = Array.from({ length: 30 }, (_, index) => (index % 7 === 0 ? 0 : 11 * (index % 5)));
    const sent = stream('sent', 40, '.'.repeat(10) + '#'.repeat(20), jitter);
    const spoken = line(10, 29);
    for (const lost of [-1, 10]) {
      const captured = sent.filter((_, index) => index !== lost);
      expect(spokenAt(spoken, captured, record([spoken]))).toBeCloseTo(240);
    }
    expect(spokenAt(spoken, [], record([spoken]))).toBeNull();
  });

  it('measures each packet against the best-fitting grid, and counts missing packets', () => {
    const shifts = Array.from({ length: 101 }, () => 0);
    shifts[50] = 7;
    const received = stream('received', 123.4, '.'.repeat(101), shifts).filter((_, index) => index !== 70);
    const { pacing } = measureCall(received, record([]), options);
    expect(pacing?.packets).toBe(100);
    expect(pacing?.lost).toBe(1);
    expect(pacing?.longestGapMs).toBeCloseTo(40);
    expect(Math.max(...(pacing?.offGridMs ?? []))).toBeCloseTo(7, 1);
    expect(pacing?.offGridMs.filter((off) => off > 0.5)).toHaveLength(1);
  });
});

describe('capture input', () => {
  it('is rejected in another format; a truncated capture yields its complete packets', () => {
    expect(() => readPcap(Buffer.from('hello hello hello hello hello'))).toThrow('not a pcap file');
    const file = pcapOf([Buffer.from('one'), Buffer.from('two')]);
    expect(readPcap(file).map(({ payload }) => payload.toString())).toEqual(['one', 'two']);
    expect(readPcap(file)[1]).toMatchObject({ atMs: 1_001.5, sourcePort: 5, destinationPort: 6 });
    expect(readPcap(file.subarray(0, -1))).toHaveLength(1);
  });

  it('never yields packets from garbage', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        parseRtp(Buffer.from(bytes));
        parseSip(Buffer.from(bytes));
      }),
    );
  });

  it('keeps µ-law samples within their quantisation step', () => {
    fc.assert(
      fc.property(fc.integer({ min: -32_635, max: 32_635 }), (sample) => {
        expect(Math.abs(decodeUlaw(encodeUlaw(sample)) - sample)).toBeLessThanOrEqual(
          Math.max(8, Math.abs(sample) / 16),
        );
      }),
    );
  });
});

/**
 * A capture file as written by tcpdump, with one UDP datagram per payload, the n-th at second 1 and n × 1.5
 * ms.
 */
function pcapOf(payloads: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(24);
  head.writeUInt32LE(0xa1b2c3d4, 0);
  head.writeUInt32LE(1, 20);
  const records = payloads.map((payload, index) => {
    const frame = Buffer.alloc(14 + 20 + 8 + payload.length);
    frame.writeUInt16BE(0x0800, 12);
    frame.writeUInt8(0x45, 14);
    frame.writeUInt8(17, 23);
    frame.writeUInt16BE(5, 34);
    frame.writeUInt16BE(6, 36);
    frame.writeUInt16BE(8 + payload.length, 38);
    payload.copy(frame, 42);
    const header = Buffer.alloc(16);
    header.writeUInt32LE(1, 0);
    header.writeUInt32LE(index * 1_500, 4);
    header.writeUInt32LE(frame.length, 8);
    return Buffer.concat([header, frame]);
  });
  return Buffer.concat([head, ...records]);
}
