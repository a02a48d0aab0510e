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

/** Parses one datagram; null when it is not a well-formed RTP packet (STUN, RTCP, garbage). */
export function parseRtp(datagram: Uint8Array): RtpPacket | null {
  if (datagram.length < RTP_HEADER_BYTES) return null;
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
  const first = view.getUint8(0);
  const second = view.getUint8(1);
  if (first >> 6 !== 2) return null;
  // RTCP packet types 200–204 read as payload types 72–76 with the marker set (RFC 5761 §4).
  if (second >= 192 && second <= 223) return null;
  const start = rtpPayloadStart(view, first);
  const padding = first & 0x20 ? view.getUint8(datagram.length - 1) : 0;
  const end = datagram.length - padding;
  if (start === null || start > end || (first & 0x20 && padding === 0)) return null;
  return {
    marker: (second & 0x80) !== 0,
    payloadType: second & 0x7f,
    sequence: view.getUint16(2),
    timestamp: view.getUint32(4),
    ssrc: view.getUint32(8),
    payload: datagram.subarray(start, end),
  };
}

/** Where the payload begins, by the first byte of the header; null when the packet is too short to tell. It may lie beyond the end. */
export function rtpPayloadStart(view: DataView, first: number): number | null {
  const start = RTP_HEADER_BYTES + (first & 0x0f) * 4;
  if (!(first & 0x10)) return start;
  if (start + 4 > view.byteLength) return null;
  return start + 4 + view.getUint16(start + 2) * 4;
}

/** Writes a 12-byte header at the start of `packet`; numbers are taken modulo their field's size. */
export function writeRtpHeader(packet: Uint8Array, header: Omit<RtpPacket, 'payload'>): void {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  view.setUint8(0, 0x80);
  view.setUint8(1, (header.marker ? 0x80 : 0) | (header.payloadType & 0x7f));
  view.setUint16(2, header.sequence & 0xffff);
  view.setUint32(4, header.timestamp >>> 0);
  view.setUint32(8, header.ssrc >>> 0);
}

/** The 32-bit timestamp (or 16-bit sequence, with `bits` 16) nearest to `reference` on the unwrapped line. */
export function unwrap(reference: number, wrapped: number, bits: 16 | 32): number {
  const shift = 32 - bits;
  return reference + (((wrapped - reference) << shift) >> shift);
}
