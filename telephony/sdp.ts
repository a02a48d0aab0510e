/**
 * Session descriptions of phone calls (RFC 8866) in the offer/answer model (RFC 3264): one of our codecs and
 * telephone-event. Input is bounds-checked; addresses must be literals, as the media thread never resolves
 * names.
 */
import { isIP } from 'node:net';
import { fault } from '#config/errors.ts';
import type { RtpCodec, RtpRemote } from '#media/leg/rtp-remote.ts';
import { CODECS, codecNames, staticCodec } from '#media/rtp/codec-table.ts';
import { chooseCrypto, cryptoLine, type OfferedCrypto } from './sdes.ts';

/** Our side of the audio, as written into an offer or an answer. */
export interface LocalAudio {
  readonly address: string;
  readonly port: number;
  /** Origin of the session (RFC 8866 §5.2): constant for the life of a dialog. */
  readonly sessionId: number;
  /** Incremented with every description that differs from the previous one. */
  readonly version: number;
  /** Our SRTP key if the streams are protected: one for the life of a dialog (`newSrtpKey`). */
  readonly srtpKey: string;
  /** Our offers require protected streams. */
  readonly isSecure: boolean;
}

type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** One `m=` section. */
interface Section {
  readonly media: string;
  readonly port: number;
  readonly protocol: string;
  readonly formats: readonly string[];
  /** The lines below it. */
  readonly lines: readonly string[];
}

interface Description {
  readonly timing: string;
  /** The lines above the first section. */
  readonly lines: readonly string[];
  readonly sections: readonly Section[];
}

/** A usable audio section, and its position among the sections. */
interface UsableAudio {
  readonly index: number;
  readonly section: Section;
  readonly direction: Direction;
  readonly remote: RtpRemote;
  /** Null if the streams are unencrypted. */
  readonly crypto: OfferedCrypto | null;
}

const MAX_CHARS = 65_535;
const MAX_LINES = 1_000;
const MAX_SECTIONS = 32;
const MAX_FORMATS = 64;
/** Dynamic payload types of our own offers: the customary ones. */
const OPUS_PAYLOAD_TYPE = 111;
const DIGIT_PAYLOAD_TYPE = 101;
const DIGIT_CLOCK_HZ = 8_000;
/** RTCP on the media port (RFC 5761); we use it only if it is offered. */
const RTCP_MUX = 'a=rtcp-mux';
/** Plain RTP; the AVPF profile differs in RTCP timing only (RFC 4585). */
const PROTOCOLS = ['RTP/AVP', 'RTP/AVPF'];
/** The same with SRTP, keyed in the description (RFC 4568). */
const SECURE_PROTOCOLS = ['RTP/SAVP', 'RTP/SAVPF'];
/** The suite we offer: mandatory for every implementation (RFC 4568 §6.2.1). */
const OWN_CRYPTO = { tag: 1, suite: 'AES_CM_128_HMAC_SHA1_80' } as const;
/** The answerer's side of a direction (RFC 3264 §6.1). */
const MIRRORED = {
  sendrecv: 'sendrecv',
  sendonly: 'recvonly',
  recvonly: 'sendonly',
  inactive: 'inactive',
} as const;

/** The origin of a new session. */
export function newSession(random: () => number): Pick<LocalAudio, 'sessionId' | 'version'> {
  return { sessionId: Math.floor(random() * 2 ** 31), version: 1 };
}

/**
 * Answers an offer: each section in its place, the first usable audio section accepted, the others refused
 * with port 0. Throws `Fault('no_common_codec')` if it has none of our codecs, `Fault('sdp_unusable')` if it
 * is malformed or has no audio.
 */
export function answerAudio(
  offerSdp: string,
  local: LocalAudio,
): { readonly sdp: string; readonly remote: RtpRemote } {
  const offer = parseDescription(offerSdp);
  const audio = findAudio(offer, local);
  const sections = offer.sections.flatMap((section, index) =>
    index === audio.index ? acceptedSection(audio, local) : refusedSection(section),
  );
  return { sdp: joined([...sessionLines(local, offer.timing), ...sections]), remote: audio.remote };
}

/**
 * Our offer: every codec and telephone-event. Used for INVITEs and re-INVITEs without an offer (RFC 3261
 * §14.2).
 */
export function offerAudio(local: LocalAudio): string {
  const codecs = codecNames().map((codec) => ({
    codec,
    payloadType: CODECS[codec].staticType ?? OPUS_PAYLOAD_TYPE,
  }));
  return joined([
    ...sessionLines(local, '0 0'),
    `m=audio ${local.port} ${local.isSecure ? 'RTP/SAVP' : 'RTP/AVP'} ` +
      `${codecs.map(({ payloadType }) => payloadType).join(' ')} ${DIGIT_PAYLOAD_TYPE}`,
    ...(local.isSecure ? [cryptoLine(OWN_CRYPTO, local.srtpKey)] : []),
    ...codecs.map(({ codec, payloadType }) => codecLine(codec, payloadType)),
    ...digitLines(DIGIT_PAYLOAD_TYPE, DIGIT_CLOCK_HZ),
    'a=ptime:20',
    'a=sendrecv',
  ]);
}

/** The peer's media as its offer describes it. Throws like `answerAudio`. */
export function readRemote(sdp: string, local: Pick<LocalAudio, 'srtpKey'>): RtpRemote {
  return findAudio(parseDescription(sdp), local).remote;
}

/**
 * The peer's media as its answer describes it. Throws like `answerAudio`, and if the answer is unencrypted
 * although the offer was protected.
 */
export function readAnswer(sdp: string, local: Pick<LocalAudio, 'srtpKey' | 'isSecure'>): RtpRemote {
  const remote = readRemote(sdp, local);
  if (local.isSecure !== (remote.srtp !== undefined)) throw fault('sdp_unusable');
  return remote;
}

/** True for an offer we can answer. */
export function isAnswerable(offerSdp: string): boolean {
  try {
    readRemote(offerSdp, { srtpKey: '' });
    return true;
  } catch {
    return false;
  }
}

/** True for a description of protected audio (RFC 4568). */
export function isProtected(sdp: string): boolean {
  return /^m=audio \d+(?:\/\d+)? RTP\/SAVPF? /im.test(sdp);
}

/** True for an answer with supported, protected audio. */
export function isProtectedAnswer(answerSdp: string): boolean {
  try {
    return readRemote(answerSdp, { srtpKey: '' }).srtp !== undefined;
  } catch {
    return false;
  }
}

/** True if the peer's media is unchanged: a session refresh, not a hold or a new address. */
export function isSameAudio(a: RtpRemote, b: RtpRemote): boolean {
  return (
    a.address === b.address &&
    a.port === b.port &&
    a.codec === b.codec &&
    a.payloadType === b.payloadType &&
    a.maxBitRate === b.maxBitRate &&
    a.digitPayloadType === b.digitPayloadType &&
    a.digitClockHz === b.digitClockHz &&
    a.isRtcpMuxed === b.isRtcpMuxed &&
    a.srtp?.receiveKey === b.srtp?.receiveKey &&
    a.srtp?.suite === b.srtp?.suite &&
    a.sending === b.sending
  );
}

function sessionLines(local: LocalAudio, timing: string): string[] {
  const address = addressLine(local.address);
  return [
    'v=0',
    `o=parley ${local.sessionId} ${local.version} ${address}`,
    's=-',
    `c=${address}`,
    `t=${timing}`,
  ];
}

function acceptedSection({ section, direction, remote, crypto }: UsableAudio, local: LocalAudio): string[] {
  const digits = remote.digitPayloadType;
  // An offer with 0.0.0.0 holds the call, whatever its direction attribute (RFC 3264 §8.4).
  const ours = remote.sending || direction !== 'sendrecv' ? MIRRORED[direction] : 'recvonly';
  return [
    `m=audio ${local.port} ${section.protocol} ${remote.payloadType}${digits === null ? '' : ` ${digits}`}`,
    ...(crypto === null ? [] : [cryptoLine(crypto, local.srtpKey)]),
    codecLine(remote.codec, remote.payloadType),
    ...(digits === null ? [] : digitLines(digits, remote.digitClockHz ?? DIGIT_CLOCK_HZ)),
    'a=ptime:20',
    ...(remote.isRtcpMuxed ? [RTCP_MUX] : []),
    `a=${ours}`,
  ];
}

function refusedSection(section: Section): string[] {
  return [`m=${section.media} 0 ${section.protocol} ${section.formats.join(' ')}`];
}

/**
 * No parameters: Opus with `useinbandfec` would carry redundancy that our decoder does not use (RFC 7587
 * §6.1).
 */
function codecLine(codec: RtpCodec, payloadType: number): string {
  return `a=rtpmap:${payloadType} ${CODECS[codec].encoding}`;
}

function digitLines(payloadType: number, clockHz: number): string[] {
  return [`a=rtpmap:${payloadType} telephone-event/${clockHz}`, `a=fmtp:${payloadType} 0-15`];
}

function joined(lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n`;
}

function addressLine(address: string): string {
  return `IN ${isIP(address) === 6 ? 'IP6' : 'IP4'} ${address}`;
}

function parseDescription(sdp: string): Description {
  if (sdp.length > MAX_CHARS) throw fault('sdp_unusable');
  const lines = sdp.split(/\r\n|\r|\n/).filter((line) => line !== '');
  if (lines.length > MAX_LINES || lines[0] !== 'v=0') throw fault('sdp_unusable');
  const starts = lines.flatMap((line, index) => (line.startsWith('m=') ? [index] : []));
  if (starts.length > MAX_SECTIONS) throw fault('sdp_unusable');
  const head = lines.slice(0, starts[0] ?? lines.length);
  const sections = starts.map((start, index) =>
    parseSection(lines[start] ?? '', lines.slice(start + 1, starts[index + 1] ?? lines.length)),
  );
  const timing = head.find((line) => /^t=\d{1,20} \d{1,20}$/.test(line));
  return { timing: timing?.slice(2) ?? '0 0', lines: head, sections };
}

function parseSection(line: string, lines: readonly string[]): Section {
  const match =
    /^m=([A-Za-z0-9.-]{1,32}) (\d{1,5})(?:\/\d{1,5})? ([A-Za-z0-9./-]{1,64})((?: [\w.*+-]{1,64})+) *$/.exec(
      line,
    );
  const port = Number(match?.[2]);
  const formats = (match?.[4] ?? '').trim().split(' ');
  if (!match || port > 65_535 || formats.length > MAX_FORMATS) throw fault('sdp_unusable');
  return { media: match[1] ?? '', port, protocol: match[3] ?? '', formats, lines };
}

/** The first usable audio section. */
function findAudio(description: Description, { srtpKey }: Pick<LocalAudio, 'srtpKey'>): UsableAudio {
  let hasAudio = false;
  for (const [index, section] of description.sections.entries()) {
    const carried = carriage(description, section);
    if (carried === null) continue;
    hasAudio = true;
    const codec = chooseCodec(section);
    if (codec === null) continue;
    const { address, crypto } = carried;
    const direction = directionOf(section.lines) ?? directionOf(description.lines) ?? 'sendrecv';
    const isHeld = direction === 'sendonly' || direction === 'inactive' || isUnspecified(address);
    const mux = section.lines.some((line) => line.trim() === RTCP_MUX) ? { isRtcpMuxed: true } : {};
    const srtp = crypto && {
      srtp: {
        suite: crypto.suite,
        sendKey: srtpKey,
        receiveKey: crypto.key,
        receiveMkiBytes: crypto.mkiBytes,
      },
    };
    const remote: RtpRemote = {
      address,
      port: section.port,
      ...codec,
      ...bitRateOf(section, codec),
      ...digitsOf(section, codec.codec),
      sending: !isHeld,
      ...mux,
      ...srtp,
    };
    return { index, section, direction, remote, crypto };
  }
  throw fault(hasAudio ? 'no_common_codec' : 'sdp_unusable');
}

/** Address and protection of an audio section; null if it is refused, not audio, or unsupported. */
function carriage(
  description: Description,
  section: Section,
): { readonly address: string; readonly crypto: OfferedCrypto | null } | null {
  const protocol = section.protocol.toUpperCase();
  const isSecure = SECURE_PROTOCOLS.includes(protocol);
  if (section.media !== 'audio' || section.port === 0 || !(isSecure || PROTOCOLS.includes(protocol)))
    return null;
  const address = connectionAddress(
    section.lines.some((line) => line.startsWith('c=')) ? section.lines : description.lines,
  );
  const crypto = isSecure ? chooseCrypto(section.lines) : null;
  return address === null || (isSecure && crypto === null) ? null : { address, crypto };
}

/** The offerer's first choice among our codecs (RFC 3264 §6.1: formats are in order of preference). */
function chooseCodec(section: Section): { codec: RtpCodec; payloadType: number } | null {
  for (const format of section.formats) {
    const payloadType = parsePayloadType(format);
    if (payloadType === null) continue;
    const encoding = encodingOf(section, payloadType);
    const codec = encoding === null ? staticCodec(payloadType) : named(encoding);
    if (codec !== undefined) return { codec, payloadType };
  }
  return null;
}

/** Telephone events at the codec's clock rate (RFC 4733 §2.1), or else at the customary 8000 Hz. */
function digitsOf(section: Section, codec: RtpCodec): Pick<RtpRemote, 'digitPayloadType' | 'digitClockHz'> {
  const offered = section.formats.map(parsePayloadType).filter((payloadType) => payloadType !== null);
  for (const digitClockHz of new Set([CODECS[codec].clockHz, DIGIT_CLOCK_HZ])) {
    const digitPayloadType = offered.find(
      (each) => encodingOf(section, each)?.toLowerCase() === `telephone-event/${digitClockHz}`,
    );
    if (digitPayloadType !== undefined)
      return digitClockHz === DIGIT_CLOCK_HZ ? { digitPayloadType } : { digitPayloadType, digitClockHz };
  }
  return { digitPayloadType: null };
}

/** The peer's limit of Opus; a value outside the range of RFC 7587 §6.1 is ignored. */
function bitRateOf(
  section: Section,
  { codec, payloadType }: Pick<RtpRemote, 'codec' | 'payloadType'>,
): Pick<RtpRemote, 'maxBitRate'> {
  const line = section.lines.find((each) => each.startsWith(`a=fmtp:${payloadType} `)) ?? '';
  const bitRate = Number(/[ ;]maxaveragebitrate=(\d{1,7})(?=[; ]|$)/i.exec(line)?.[1]);
  return codec === 'opus' && bitRate >= 6_000 && bitRate <= 510_000 ? { maxBitRate: bitRate } : {};
}

function named(encoding: string): RtpCodec | undefined {
  return codecNames().find((codec) => CODECS[codec].encoding.toLowerCase() === encoding.toLowerCase());
}

/** `name/rate` of a payload type, without a channel count of one; null if it has no rtpmap. */
function encodingOf(section: Section, payloadType: number): string | null {
  const prefix = `a=rtpmap:${payloadType} `;
  const line = section.lines.find((candidate) => candidate.startsWith(prefix));
  return line === undefined ? null : line.slice(prefix.length).trim().replace(/\/1$/, '');
}

function parsePayloadType(format: string): number | null {
  return /^\d{1,3}$/.test(format) && Number(format) < 128 ? Number(format) : null;
}

function directionOf(lines: readonly string[]): Direction | null {
  const line = lines.findLast((candidate) => /^a=(sendrecv|sendonly|recvonly|inactive) *$/.test(candidate));
  return line === undefined ? null : (line.slice(2).trim() as Direction);
}

/** A unicast address literal; null if it is absent, a host name or a group. */
function connectionAddress(lines: readonly string[]): string | null {
  const address =
    /^c=IN IP[46] (\S{1,64}) *$/.exec(lines.find((line) => line.startsWith('c=')) ?? '')?.[1] ?? '';
  const family = isIP(address);
  const isGroup = family === 4 ? Number(address.split('.')[0]) >= 224 : /^ff/i.test(address);
  return family === 0 || isGroup || address.includes('%') ? null : address;
}

function isUnspecified(address: string): boolean {
  return address === '0.0.0.0' || /^[0:]+$/.test(address);
}
