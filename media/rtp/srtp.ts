/**
 * SRTP and SRTCP (RFC 3711) with the keys of a session description (RFC 4568): AES in counter mode,
 * HMAC-SHA1, one master key each way. What does not carry a valid tag, or came before, is dropped.
 */
import { createCipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { RTP_HEADER_BYTES, rtpPayloadStart, unwrap } from './packet.ts';

/** The suites that are spoken, each with the bytes of its RTP tag; strongest first. */
export const SRTP_SUITES = { AES_CM_128_HMAC_SHA1_80: 10, AES_CM_128_HMAC_SHA1_32: 4 } as const;
export type SrtpSuite = keyof typeof SRTP_SUITES;

/** What a protected stream is read and written with. */
export interface SrtpKeys {
  readonly suite: SrtpSuite;
  /** Master key and salt of what we send, 30 bytes in base64. */
  readonly sendKey: string;
  /** Of what the far end sends. */
  readonly receiveKey: string;
  /** Length of the key identifier in each packet of the far end, bytes; absent when it sends none. */
  readonly receiveMkiBytes?: number;
}

/** A protected packet is at most this much longer than it was, bytes. */
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
/** A stream that is joined in its middle has wrapped at most this often: 12 hours of 20 ms packets. */
const MOST_WRAPS = 32;
/** Sources of one far end that are followed; more are nobody we know. */
const MOST_SOURCES = 8;
const WRAP = 65_536;

/** A master key and salt of our own, base64. */
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

  /** Encrypts or decrypts in place; `index` counts packets of the source `ssrc`. */
  crypt(bytes: Uint8Array, ssrc: number, index: number): void {
    const iv = this.#iv.fill(0);
    this.#salt.copy(iv);
    iv.writeUInt32BE((iv.readUInt32BE(4) ^ ssrc) >>> 0, 4);
    iv.writeUInt32BE((iv.readUInt32BE(8) ^ Math.floor(index / WRAP)) >>> 0, 8);
    iv.writeUInt16BE(iv.readUInt16BE(12) ^ (index % WRAP), 12);
    bytes.set(createCipheriv('aes-128-ctr', this.#cipherKey, iv).update(bytes));
  }

  /** HMAC over `bytes`, and over how often the sequence has wrapped where that is part of it. */
  tag(bytes: Uint8Array, wraps: number | null): Buffer {
    const hmac = createHmac('sha1', this.#authKey).update(bytes);
    if (wraps === null) return hmac.digest();
    const counter = Buffer.alloc(INDEX_BYTES);
    counter.writeUInt32BE(wraps);
    return hmac.update(counter).digest();
  }
}

/** Protects what is sent. */
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
   * Protects the packet (with a plain 12-byte header) in place; returns its new length. `buffer` has
   * `SRTP_GROWTH_BYTES` behind it.
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

  /** A compound report, protected. */
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

/** The newest packet of one source, and which of the last ones came. */
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

/** Reads what the far end protected. */
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

  /**
   * The packet as it was before it was protected, decrypted where it stands; null when it is not the far
   * end's, or came before.
   */
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

  /** A compound report as it was; null as above. */
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

  /** The index of a packet of a source that is known (RFC 3711 §3.3.1). */
  #next(
    datagram: Uint8Array,
    source: Replay,
    { sequence, end }: { sequence: number; end: number },
  ): number | null {
    const index = unwrap(source.highest, sequence, 16);
    return index >= 0 && source.isNew(index) && this.#isAuthentic(datagram, end, index) ? index : null;
  }

  /**
   * The first packet of a source: nobody says how often its sequence has wrapped when a call is taken over,
   * but its tag does.
   */
  #first(datagram: Uint8Array, { sequence, end }: { sequence: number; end: number }): number | null {
    // Only the very first source is worth the search: anybody may send packets of others.
    const most = this.#sources.size === 0 ? MOST_WRAPS : 1;
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

/** True once an authentic packet is written down; false when there are too many sources. */
function noted(sources: Map<number, Replay>, ssrc: number, index: number): boolean {
  const known = sources.get(ssrc);
  if (!known && sources.size >= MOST_SOURCES) return false;
  const source = known ?? new Replay();
  sources.set(ssrc, source);
  source.note(index);
  return true;
}

function isSame(tag: Buffer, given: Uint8Array): boolean {
  return timingSafeEqual(tag.subarray(0, given.length), given);
}
