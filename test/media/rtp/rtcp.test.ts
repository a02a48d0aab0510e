import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateMos } from '#media/rtp/mos.ts';
import { ReceiveStats } from '#media/rtp/receive-stats.ts';
import {
  isRtcp,
  type OwnReport,
  parseRtcp,
  roundTripMs,
  shortSpan,
  shortTime,
  writeRtcp,
} from '#media/rtp/rtcp.ts';

const WALL_MS = Date.UTC(2026, 10, 21, 12, 0, 0, 250);
const heard = {
  ssrc: 7,
  fractionLost: 13,
  packetsLost: 5,
  highestSequence: 70_000,
  jitter: 42,
  lastReport: 99,
  sinceLastReport: 65_536,
};
const sent = { wallMs: WALL_MS, timestamp: 160, packets: 1, bytes: 160 };

describe('RTCP (RFC 3550 §6)', () => {
  it.each<[string, OwnReport]>([
    ['report of a leg that sends and receives', { ssrc: 1, sent, reception: heard }],
    ['report of a leg that only sends', { ssrc: 1, sent, reception: null }],
    ['report of a leg that only receives', { ssrc: 1, sent: null, reception: heard }],
    ['report of an idle leg', { ssrc: 1, sent: null, reception: null }],
  ])('reads back the %s that it wrote, and recognises it as RTCP', (_, report) => {
    const packet = writeRtcp(report, 'someone@parley');
    expect(packet.length % 4).toBe(0);
    expect(isRtcp(packet)).toBe(true);
    expect(parseRtcp(packet)).toEqual({
      sentAt: report.sent && shortTime(WALL_MS),
      receptions: report.reception ? [report.reception] : [],
    });
  });

  it('the bytes match the standard', () => {
    const packet = writeRtcp({ ssrc: 0x01020304, sent, reception: null }, 'ab');
    const ntp = new DataView(packet.buffer).getUint32(8);
    expect(ntp - 2_208_988_800).toBe(Math.floor(WALL_MS / 1000));
    expect([...packet.subarray(0, 8)]).toEqual([0x80, 200, 0, 6, 1, 2, 3, 4]);
    expect([...packet.subarray(12, 28)]).toEqual([0x40, 0, 0, 0, 0, 0, 0, 160, 0, 0, 0, 1, 0, 0, 0, 160]);
    expect([...packet.subarray(28)]).toEqual([0x81, 202, 0, 3, 1, 2, 3, 4, 1, 2, 97, 98, 0, 0, 0, 0]);
  });

  it('any input is read within its bounds or not at all', () => {
    const mangled = fc.tuple(fc.nat(60), fc.nat(255)).map(([at, value]) => {
      const packet = writeRtcp({ ssrc: 1, sent, reception: heard }, 'ab');
      packet[at % packet.length] = value;
      return packet.subarray(0, packet.length - (value % 5));
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 120 }), mangled), (bytes) => {
        const reports = parseRtcp(bytes);
        expect(reports === null || reports.receptions.length <= 31 * 15).toBe(true);
      }),
    );
  });

  it('the round trip is the time away minus the time held by the far end', () => {
    const answer = { ...heard, lastReport: shortTime(WALL_MS), sinceLastReport: shortSpan(200) };
    expect(roundTripMs(answer, WALL_MS + 280)).toBeCloseTo(80, 0);
    expect(roundTripMs({ ...answer, lastReport: 0 }, WALL_MS)).toBeNull();
    // A wrong clock at the far end cannot make it negative.
    expect(roundTripMs({ ...answer, sinceLastReport: shortSpan(900) }, WALL_MS + 280)).toBe(0);
  });

  it('each report contains the share lost since the previous one', () => {
    const stats = new ReceiveStats();
    const take = (sequences: readonly number[]) => {
      for (const sequence of sequences)
        stats.count({
          marker: false,
          payloadType: 0,
          sequence,
          timestamp: 0,
          ssrc: 9,
          payload: new Uint8Array(0),
        });
    };
    expect(stats.reception(8000)).toBeNull();
    take([65_534, 65_535, 1]);
    expect(stats.reception(8000)).toMatchObject({
      ssrc: 9,
      fractionLost: 64,
      packetsLost: 1,
      highestSequence: 65_537,
    });
    take([2, 3, 4]);
    expect(stats.reception(8000)).toMatchObject({ fractionLost: 0, packetsLost: 1 });
  });
});

it('the estimated call quality falls with loss and delay (ITU-T G.107)', () => {
  const good = { lossShare: 0, roundTripMs: 20, jitterMs: 1 };
  expect(estimateMos(good)).toBeGreaterThan(4.3);
  expect(estimateMos({ ...good, lossShare: 0.05 })).toBeLessThan(4);
  expect(estimateMos({ ...good, lossShare: 0.05 })).toBeGreaterThan(3);
  expect(estimateMos({ ...good, roundTripMs: 800 })).toBeLessThan(3.5);
  expect(estimateMos({ ...good, lossShare: 1 })).toBeLessThan(1.2);
});
