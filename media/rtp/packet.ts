/**
 * RTP packets (RFC 3550 §5.1): a bounds-checked parser that never throws and a header writer.
 */

/** Length of a header without contributing sources or extension. */
export const RTP_HEADER_BYTES = 12;

/** A parsed packet; `payload` is a view of the datagram. */
export interface RtpPacket {
  readonly marker: boolean;
  readonly payloadType: number;
  readonly sequence: number;
  readonly timestamp: number;
  readonly ssrc: number;
  readonly payload: Uint8Array;
}

/** Parses a datagram; null unless it is a well-formed RTP packet (and not STUN or RTCP). */
export function parseRtp(datagram: Uint8Array): RtpPacket | null {
  if (datagram.length < RTP_HEADER_BYTES) return null;
  const first = datagram[0] as number;
  const second = datagram[1] as number;
  if (first >> 6 !== 2) return null;
  // RTCP packet types 200–204 look like payload types 72–76 with the marker bit (RFC 5761 §4).
  if (second >= 192 && second <= 223) return null;
  const start = rtpPayloadStart(datagram);
  const padding = first & 0x20 ? (datagram[datagram.length - 1] as number) : 0;
  const end = datagram.length - padding;
  if (start === null || start > end || (first & 0x20 && padding === 0)) return null;
  return {
    marker: (second & 0x80) !== 0,
    payloadType: second & 0x7f,
    sequence: uint16(datagram, 2),
    timestamp: uint32(datagram, 4),
    ssrc: uint32(datagram, 8),
    payload: datagram.subarray(start, end),
  };
}

/** Offset of a datagram's payload; null if it is too short for a header. May exceed the datagram's length. */
export function rtpPayloadStart(datagram: Uint8Array): number | null {
  const first = datagram[0] as number;
  const start = RTP_HEADER_BYTES + (first & 0x0f) * 4;
  if (!(first & 0x10)) return start;
  if (start + 4 > datagram.length) return null;
  return start + 4 + uint16(datagram, start + 2) * 4;
}

/** Writes a 12-byte header at the start of `packet`; numbers are taken modulo the size of their field. */
export function writeRtpHeader(packet: Uint8Array, header: Omit<RtpPacket, 'payload'>): void {
  packet[0] = 0x80;
  packet[1] = (header.marker ? 0x80 : 0) | (header.payloadType & 0x7f);
  packet[2] = header.sequence >> 8;
  packet[3] = header.sequence;
  setUint32(packet, 4, header.timestamp);
  setUint32(packet, 8, header.ssrc);
}

// Byte by byte: creating a `DataView` per packet costs more than writing all fields.
function uint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

function uint32(bytes: Uint8Array, at: number): number {
  return uint16(bytes, at) * 0x10000 + uint16(bytes, at + 2);
}

function setUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >> 24;
  bytes[at + 1] = value >> 16;
  bytes[at + 2] = value >> 8;
  bytes[at + 3] = value;
}

/** The unwrapped 32-bit timestamp (or 16-bit sequence number, with `bits` 16) nearest to `reference`. */
export function unwrap(reference: number, wrapped: number, bits: 16 | 32): number {
  const shift = 32 - bits;
  return reference + (((wrapped - reference) << shift) >> shift);
}
