/** RTP packets as the caller sends, receives and captures them (RFC 3550 §5.1, RFC 4733 §2.3). */
import { decodeUlaw } from './g711.ts';

/** Samples in one packet: 20 ms at 8 kHz. */
export const PACKET_SAMPLES = 160;
export const PACKET_MS = 20;
export const PAYLOAD_PCMU = 0;
const HEADER_BYTES = 12;
const MAX_SEQUENCE = 0x1_0000;

/**
 * Absolute sample value at which a packet counts as voiced, about −36 dBFS: above line noise, below any
 * speech.
 */
export const VOICED_PEAK = 500;

/** A packet; `payload` is a view of the datagram. */
export interface RtpPacket {
  readonly payloadType: number;
  readonly marker: boolean;
  readonly sequence: number;
  readonly timestamp: number;
  readonly ssrc: number;
  readonly payload: Buffer;
}

/** Parses a datagram; null if it is not an RTP packet. */
export function parseRtp(datagram: Buffer): RtpPacket | null {
  if (datagram.length < HEADER_BYTES || datagram.readUInt8(0) >> 6 !== 2) return null;
  const first = datagram.readUInt8(0);
  const payloadType = datagram.readUInt8(1) & 0x7f;
  // RTCP on the same port (RFC 5761 §4).
  if (payloadType >= 64 && payloadType <= 95) return null;
  let start = HEADER_BYTES + 4 * (first & 0x0f);
  if (first & 0x10) {
    if (datagram.length < start + 4) return null;
    start += 4 + 4 * datagram.readUInt16BE(start + 2);
  }
  const padding = first & 0x20 ? (datagram.at(-1) ?? 0) : 0;
  if (start > datagram.length - padding) return null;
  return {
    payloadType,
    marker: (datagram.readUInt8(1) & 0x80) !== 0,
    sequence: datagram.readUInt16BE(2),
    timestamp: datagram.readUInt32BE(4),
    ssrc: datagram.readUInt32BE(8),
    payload: datagram.subarray(start, datagram.length - padding),
  };
}

/** Writes one packet. */
export function writeRtp(packet: RtpPacket): Buffer {
  const datagram = Buffer.allocUnsafe(HEADER_BYTES + packet.payload.length);
  datagram.writeUInt8(0x80, 0);
  datagram.writeUInt8((packet.marker ? 0x80 : 0) | packet.payloadType, 1);
  datagram.writeUInt16BE(packet.sequence % MAX_SEQUENCE, 2);
  datagram.writeUInt32BE(packet.timestamp >>> 0, 4);
  datagram.writeUInt32BE(packet.ssrc >>> 0, 8);
  datagram.set(packet.payload, HEADER_BYTES);
  return datagram;
}

/** The packet's samples. */
export function samplesOf(payload: Uint8Array): Int16Array {
  const samples = new Int16Array(payload.length);
  for (let index = 0; index < payload.length; index++) samples[index] = decodeUlaw(payload[index] as number);
  return samples;
}

/**
 * 1 for each audible µ-law byte: a table, because the caller checks every packet of every call on the machine
 * it measures.
 */
const AUDIBLE = Uint8Array.from({ length: 256 }, (_, byte) =>
  Math.abs(decodeUlaw(byte)) >= VOICED_PEAK ? 1 : 0,
);

/** True if a PCMU payload contains audible sound. */
export function isVoiced(payload: Uint8Array): boolean {
  for (let index = 0; index < payload.length; index++) if (AUDIBLE[payload[index] as number]) return true;
  return false;
}

/** Digits by their RFC 4733 event number. */
export const DIGIT_EVENTS = '0123456789*#ABCD';
