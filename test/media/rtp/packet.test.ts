import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRtp, RTP_HEADER_BYTES, unwrap, writeRtpHeader } from '#media/rtp/packet.ts';

const header = fc.record({
  marker: fc.boolean(),
  payloadType: fc.integer({ min: 0, max: 63 }),
  sequence: fc.integer({ min: 0, max: 0xffff }),
  timestamp: fc.integer({ min: 0, max: 0xffffffff }),
  ssrc: fc.integer({ min: 0, max: 0xffffffff }),
});

describe('RTP packets', () => {
  it('survive a round trip', () => {
    fc.assert(
      fc.property(header, fc.uint8Array({ maxLength: 400 }), (fields, payload) => {
        const packet = new Uint8Array(RTP_HEADER_BYTES + payload.length);
        writeRtpHeader(packet, fields);
        packet.set(payload, RTP_HEADER_BYTES);
        expect(parseRtp(packet)).toEqual({ ...fields, payload });
      }),
    );
  });

  it('never throw and never point outside the datagram, for any input', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.boolean(), (bytes, isVersion2) => {
        if (isVersion2 && bytes.length > 0) bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x80;
        const packet = parseRtp(bytes);
        if (!packet) return;
        expect(packet.payload.byteOffset).toBeGreaterThanOrEqual(bytes.byteOffset + RTP_HEADER_BYTES);
        expect(packet.payload.byteOffset + packet.payload.length).toBeLessThanOrEqual(
          bytes.byteOffset + bytes.length,
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('are parsed past contributing sources and extensions, and without padding', () => {
    const packet = new Uint8Array(12 + 4 + 8 + 3 + 2);
    writeRtpHeader(packet, { marker: false, payloadType: 0, sequence: 1, timestamp: 2, ssrc: 3 });
    packet[0] = 0x80 | 0x20 | 0x10 | 1;
    packet.set([0xbe, 0xde, 0, 1, 9, 9, 9, 9], 16);
    packet.set([1, 2, 3, 0, 2], 24);
    expect([...(parseRtp(packet)?.payload ?? [])]).toEqual([1, 2, 3]);
  });

  it('are distinguished from RTCP and STUN on the same port', () => {
    const rtcp = Uint8Array.of(0x81, 200, 0, 6, ...new Uint8Array(24));
    const stun = Uint8Array.of(0x00, 0x01, 0, 0, 0x21, 0x12, 0xa4, 0x42, ...new Uint8Array(12));
    expect(parseRtp(rtcp)).toBeNull();
    expect(parseRtp(stun)).toBeNull();
  });
});

it('counters are unwrapped to the nearest value', () => {
  expect(unwrap(65_535, 2, 16)).toBe(65_538);
  expect(unwrap(65_538, 65_530, 16)).toBe(65_530);
  expect(unwrap(2 ** 32 - 10, 5, 32)).toBe(2 ** 32 + 5);
  fc.assert(
    fc.property(
      fc.integer({ min: 2 ** 33, max: 2 ** 40 }),
      fc.integer({ min: -(2 ** 31) + 1, max: 2 ** 31 - 1 }),
      (reference, step) => {
        expect(unwrap(reference, (reference + step) % 2 ** 32, 32)).toBe(reference + step);
      },
    ),
  );
});
