/**
 * SRTP and SRTCP (RFC 3711), keyed in the session description (RFC 4568): AES in counter mode, HMAC-SHA1, one
 * master key per direction. Packets without a valid tag and replayed ones are dropped.
 */
import { createCipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SrtpKeys, SrtpSuite } from '../leg/rtp-remote.ts';
import { RTP_HEADER_BYTES, rtpPayloadStart, unwrap } from './packet.ts';

/** Supported suites, each with the size of its RTP tag in bytes; strongest first. */
export const SRTP_SUITES: Readonly<Record<SrtpSuite, number>> = {
  AES_CM_128_HMAC_SHA1_80: 10,
  AES_CM_128_HMAC_SHA1_32: 4,
};

/** Most bytes that protection adds to a packet. */
export const SRTP_GROWTH_BYTES = 16;
/** Length of a master key with its salt, bytes. */
export const SRTP_KEY_BYTES = 30;
const MASTER_KEY_BYTES = 16;
const SALT_BYTES = 14;
const AUTH_KEY_BYTES = 20;
const REPORT_TAG_BYTES = 10;
const REPORT_HEADER_BYTES = 8;
const INDEX_BYTES = 4;
const ENCRYPTED = 0x8000_0000;
const WINDOW = 64;
/** Most wraps of the sequence number before we joined a stream: 12 hours of 20 ms packets. */
const MAX_WRAPS = 32;
/** Most sources tracked per peer; packets of further ones are dropped. */
const MAX_SOURCES = 8;
const WRAP = 65_536;

/** Generates a master key and salt, base64. */
export function newSrtpKey(): string {
  return randomBytes(SRTP_KEY_BYTES).toString('base64');
}

/** Session keys of RTP, or of RTCP (RFC 3711 §4.3.2). */
class SessionKeys {
  readonly #cipherKey: Buffer;
  readonly #salt: Buffer;
  readonly #authKey: Buffer;
  readonly #iv = Buffer.alloc(16);

  constructor(master: string, firstLabel: number) {
    const bytes = Buffer.from(master, 'base64');
    const derive = (label: number, length: number) => {
      const iv = Buffer.alloc(16);
      bytes.copy(iv, 0, MASTER_KEY_BYTES);
      iv[7] = (iv[7] ?? 0) ^ label;
      return createCipheriv('aes-128-ctr', bytes.subarray(0, MASTER_KEY_BYTES), iv).update(
        Buffer.alloc(length),
      );
    };
    this.#cipherKey = derive(firstLabel, MASTER_KEY_BYTES);
    this.#authKey = derive(firstLabel + 1, AUTH_KEY_BYTES);
    this.#salt = derive(firstLabel + 2, SALT_BYTES);
  }

  /** Encrypts or decrypts in place; `index` counts the packets of source `ssrc`. */
  crypt(bytes: Uint8Array, ssrc: number, index: number): void {
    const iv = this.#iv.fill(0);
    this.#salt.copy(iv);
    iv.writeUInt32BE((iv.readUInt32BE(4) ^ ssrc) >>> 0, 4);
    iv.writeUInt32BE((iv.readUInt32BE(8) ^ Math.floor(index / WRAP)) >>> 0, 8);
    iv.writeUInt16BE(iv.readUInt16BE(12) ^ (index % WRAP), 12);
    bytes.set(createCipheriv('aes-128-ctr', this.#cipherKey, iv).update(bytes));
  }

  /** HMAC over `bytes`, and over the rollover counter where it is included. */
  tag(bytes: Uint8Array, wraps: number | null): Buffer {
    const hmac = createHmac('sha1', this.#authKey).update(bytes);
    if (wraps === null) return hmac.digest();
    const counter = Buffer.alloc(INDEX_BYTES);
    counter.writeUInt32BE(wraps);
    return hmac.update(counter).digest();
  }
}

/** Protects outgoing packets. */
export class SrtpSender {
  readonly #rtp: SessionKeys;
  readonly #rtcp: SessionKeys;
  readonly #tagBytes: number;
  #ssrc: number | null = null;
  #index = 0;
  #reports = 0;

  constructor(suite: SrtpSuite, key: string) {
    this.#rtp = new SessionKeys(key, 0);
    this.#rtcp = new SessionKeys(key, 3);
    this.#tagBytes = SRTP_SUITES[suite];
  }

  /**
   * Encrypts the packet (with a plain 12-byte header) in place; returns its new length. `buffer` needs
   * `SRTP_GROWTH_BYTES` after the packet.
   */
  protect(buffer: Uint8Array, length: number): number {
    const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    const [sequence, ssrc] = [view.getUint16(2), view.getUint32(8)];
    this.#index = this.#ssrc === ssrc ? unwrap(this.#index, sequence, 16) : sequence;
    this.#ssrc = ssrc;
    this.#rtp.crypt(buffer.subarray(RTP_HEADER_BYTES, length), ssrc, this.#index);
    const tag = this.#rtp.tag(buffer.subarray(0, length), Math.floor(this.#index / WRAP));
    buffer.set(tag.subarray(0, this.#tagBytes), length);
    return length + this.#tagBytes;
  }

  /** Encrypts a compound report. */
  protectReport(report: Uint8Array): Uint8Array {
    this.#reports += 1;
    const end = report.length + INDEX_BYTES;
    const out = Buffer.alloc(end + REPORT_TAG_BYTES);
    out.set(report);
    this.#rtcp.crypt(out.subarray(REPORT_HEADER_BYTES, report.length), out.readUInt32BE(4), this.#reports);
    out.writeUInt32BE((ENCRYPTED | this.#reports) >>> 0, report.length);
    out.set(this.#rtcp.tag(out.subarray(0, end), null).subarray(0, REPORT_TAG_BYTES), end);
    return out;
  }
}

/** The newest packet of one source, and which of the last ones arrived. */
class Replay {
  #highest = -1;
  readonly #seen = new Float64Array(WINDOW).fill(-1);

  get highest(): number {
    return this.#highest;
  }

  isNew(index: number): boolean {
    return index > this.#highest - WINDOW && this.#seen[index % WINDOW] !== index;
  }

  note(index: number): void {
    this.#highest = Math.max(this.#highest, index);
    this.#seen[index % WINDOW] = index;
  }
}

/** Decrypts incoming packets. */
export class SrtpReceiver {
  readonly #rtp: SessionKeys;
  readonly #rtcp: SessionKeys;
  readonly #tagBytes: number;
  readonly #mkiBytes: number;
  readonly #sources = new Map<number, Replay>();
  readonly #reportSources = new Map<number, Replay>();

  constructor({ suite, receiveKey, receiveMkiBytes = 0 }: SrtpKeys) {
    this.#rtp = new SessionKeys(receiveKey, 0);
    this.#rtcp = new SessionKeys(receiveKey, 3);
    this.#tagBytes = SRTP_SUITES[suite];
    this.#mkiBytes = receiveMkiBytes;
  }

  /** Decrypts a packet in place and returns it; null if it is not authentic or a replay. */
  open(datagram: Uint8Array): Uint8Array | null {
    const end = datagram.length - this.#tagBytes - this.#mkiBytes;
    if (end < RTP_HEADER_BYTES) return null;
    const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
    const start = rtpPayloadStart(datagram);
    if (start === null || start > end) return null;
    const [sequence, ssrc] = [view.getUint16(2), view.getUint32(8)];
    const source = this.#sources.get(ssrc);
    const index = source
      ? this.#next(datagram, source, { sequence, end })
      : this.#first(datagram, { sequence, end });
    if (index === null || !noted(this.#sources, ssrc, index)) return null;
    const packet = datagram.subarray(0, end);
    this.#rtp.crypt(packet.subarray(start), ssrc, index);
    return packet;
  }

  /** Decrypts a compound report; null as above. */
  openReport(datagram: Uint8Array): Uint8Array | null {
    const end = datagram.length - REPORT_TAG_BYTES - this.#mkiBytes;
    const bodyEnd = end - INDEX_BYTES;
    if (bodyEnd < REPORT_HEADER_BYTES) return null;
    const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
    const [ssrc, word] = [view.getUint32(4), view.getUint32(bodyEnd)];
    const index = word & ~ENCRYPTED;
    const source = this.#reportSources.get(ssrc);
    if (source && !source.isNew(index)) return null;
    if (
      !isSame(
        this.#rtcp.tag(datagram.subarray(0, end), null),
        datagram.subarray(datagram.length - REPORT_TAG_BYTES),
      )
    )
      return null;
    if (!noted(this.#reportSources, ssrc, index)) return null;
    const report = datagram.subarray(0, bodyEnd);
    if (word & ENCRYPTED) this.#rtcp.crypt(report.subarray(REPORT_HEADER_BYTES), ssrc, index);
    return report;
  }

  /** Index of a packet of a known source (RFC 3711 §3.3.1). */
  #next(
    datagram: Uint8Array,
    source: Replay,
    { sequence, end }: { sequence: number; end: number },
  ): number | null {
    const index = unwrap(source.highest, sequence, 16);
    return index >= 0 && source.isNew(index) && this.#isAuthentic(datagram, end, index) ? index : null;
  }

  /**
   * The first packet of a source: when a call is taken over, its rollover counter is unknown; the tag shows
   * which value is right.
   */
  #first(datagram: Uint8Array, { sequence, end }: { sequence: number; end: number }): number | null {
    // Searches only for the very first source: anyone may send packets of others.
    const most = this.#sources.size === 0 ? MAX_WRAPS : 1;
    for (let wraps = 0; wraps < most; wraps++) {
      const index = wraps * WRAP + sequence;
      if (this.#isAuthentic(datagram, end, index)) return index;
    }
    return null;
  }

  #isAuthentic(datagram: Uint8Array, end: number, index: number): boolean {
    const tag = this.#rtp.tag(datagram.subarray(0, end), Math.floor(index / WRAP));
    return isSame(tag, datagram.subarray(datagram.length - this.#tagBytes));
  }
}

/** Records an authentic packet; false if there are too many sources. */
function noted(sources: Map<number, Replay>, ssrc: number, index: number): boolean {
  const known = sources.get(ssrc);
  if (!known && sources.size >= MAX_SOURCES) return false;
  const source = known ?? new Replay();
  sources.set(ssrc, source);
  source.note(index);
  return true;
}

function isSame(tag: Buffer, given: Uint8Array): boolean {
  return timingSafeEqual(tag.subarray(0, given.length), given);
}
