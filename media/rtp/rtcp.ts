/**
 * RTCP packets (RFC 3550 §6): a bounds-checked parser that never throws, and a writer of our compound report.
 */

const SENDER_REPORT = 200;
const RECEIVER_REPORT = 201;
const SOURCE_DESCRIPTION = 202;
const CNAME = 1;
const VERSION = 0x80;
const REPORT_BLOCK_BYTES = 24;
/** Header and sender SSRC. */
const HEADER_BYTES = 8;
const SENDER_INFO_BYTES = 20;
/** Seconds between the NTP epoch (1900) and 1970. */
const NTP_EPOCH_SECONDS = 2_208_988_800;
/** Units of the short times in reports: 1/65536 s. */
const SHORT_PER_MS = 65.536;

/** Reception report of one stream. */
export interface ReceptionReport {
  /** The reported stream. */
  readonly ssrc: number;
  /** Loss since the last report, in 1/256. */
  readonly fractionLost: number;
  readonly packetsLost: number;
  readonly highestSequence: number;
  /** In units of the stream's clock. */
  readonly jitter: number;
  /** Short time of the last sender report received, and the time since then; 0 before the first. */
  readonly lastReport: number;
  readonly sinceLastReport: number;
}

/** Contents of a compound packet. */
export interface Reports {
  /** Short time at which it was written, if its sender sends media. */
  readonly sentAt: number | null;
  readonly receptions: readonly ReceptionReport[];
}

/** What our report contains. */
export interface OwnReport {
  readonly ssrc: number;
  /** Null before anything was sent. */
  readonly sent: {
    readonly wallMs: number;
    readonly timestamp: number;
    readonly packets: number;
    readonly bytes: number;
  } | null;
  /** Null before anything was received. */
  readonly reception: ReceptionReport | null;
}

/** True if a datagram on a port shared with RTP is RTCP (RFC 5761 §4). */
export function isRtcp(datagram: Uint8Array): boolean {
  const type = datagram[1] ?? 0;
  return datagram.length >= HEADER_BYTES && (datagram[0] ?? 0) >> 6 === 2 && type >= 192 && type <= 223;
}

/** Parses the reports of a compound packet; null if it is malformed. */
export function parseRtcp(datagram: Uint8Array): Reports | null {
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
  const receptions: ReceptionReport[] = [];
  let sentAt: number | null = null;
  for (let at = 0; at < datagram.length; ) {
    const end = packetEnd(view, at);
    if (end === null) return null;
    const type = view.getUint8(at + 1);
    if (type === SENDER_REPORT) sentAt = view.getUint32(at + HEADER_BYTES + 2);
    for (
      let block = blocksStart(at, type);
      block + REPORT_BLOCK_BYTES <= blocksEnd(view, at);
      block += REPORT_BLOCK_BYTES
    ) {
      receptions.push(parseBlock(view, block));
    }
    at = end;
  }
  return { sentAt, receptions };
}

/** End of the packet that begins at `at`; null if it exceeds the datagram, or its contents exceed it. */
function packetEnd(view: DataView, at: number): number | null {
  if (!isRtcp(new Uint8Array(view.buffer, view.byteOffset + at, view.byteLength - at))) return null;
  const end = at + 4 * (view.getUint16(at + 2) + 1);
  return end <= view.byteLength && blocksEnd(view, at) <= end ? end : null;
}

function blocksStart(at: number, type: number): number {
  return at + HEADER_BYTES + (type === SENDER_REPORT ? SENDER_INFO_BYTES : 0);
}

/** End of the report blocks; for packets other than reports, end of the header. */
function blocksEnd(view: DataView, at: number): number {
  const type = view.getUint8(at + 1);
  const isReport = type === SENDER_REPORT || type === RECEIVER_REPORT;
  return blocksStart(at, type) + (isReport ? (view.getUint8(at) & 0x1f) * REPORT_BLOCK_BYTES : 0);
}

function parseBlock(view: DataView, at: number): ReceptionReport {
  return {
    ssrc: view.getUint32(at),
    fractionLost: view.getUint8(at + 4),
    packetsLost: (view.getUint8(at + 5) << 16) | view.getUint16(at + 6),
    highestSequence: view.getUint32(at + 8),
    jitter: view.getUint32(at + 12),
    lastReport: view.getUint32(at + 16),
    sinceLastReport: view.getUint32(at + 20),
  };
}

/** Writes a report and the CNAME that must accompany it (RFC 3550 §6.1). */
export function writeRtcp(report: OwnReport, cname: string): Uint8Array {
  const name = Buffer.from(cname, 'utf8').subarray(0, 255);
  const reportBytes =
    HEADER_BYTES + (report.sent ? SENDER_INFO_BYTES : 0) + (report.reception ? REPORT_BLOCK_BYTES : 0);
  // The list of items ends with at least one zero, padded to four bytes.
  const descriptionBytes = HEADER_BYTES + 4 * Math.ceil((name.length + 3) / 4);
  const packet = new Uint8Array(reportBytes + descriptionBytes);
  const view = new DataView(packet.buffer);
  writeHeader(view, 0, {
    type: report.sent ? SENDER_REPORT : RECEIVER_REPORT,
    count: report.reception ? 1 : 0,
    bytes: reportBytes,
    ssrc: report.ssrc,
  });
  if (report.sent) {
    const { seconds, fraction } = ntpTime(report.sent.wallMs);
    for (const [n, value] of [
      seconds,
      fraction,
      report.sent.timestamp,
      report.sent.packets,
      report.sent.bytes,
    ].entries()) {
      view.setUint32(HEADER_BYTES + 4 * n, value >>> 0);
    }
  }
  if (report.reception) writeBlock(view, reportBytes - REPORT_BLOCK_BYTES, report.reception);
  writeHeader(view, reportBytes, {
    type: SOURCE_DESCRIPTION,
    count: 1,
    bytes: descriptionBytes,
    ssrc: report.ssrc,
  });
  packet[reportBytes + HEADER_BYTES] = CNAME;
  packet[reportBytes + HEADER_BYTES + 1] = name.length;
  packet.set(name, reportBytes + HEADER_BYTES + 2);
  return packet;
}

function writeHeader(
  view: DataView,
  at: number,
  header: { type: number; count: number; bytes: number; ssrc: number },
): void {
  view.setUint8(at, VERSION | header.count);
  view.setUint8(at + 1, header.type);
  view.setUint16(at + 2, header.bytes / 4 - 1);
  view.setUint32(at + 4, header.ssrc >>> 0);
}

function writeBlock(view: DataView, at: number, block: ReceptionReport): void {
  view.setUint32(at, block.ssrc >>> 0);
  view.setUint32(at + 4, Math.min(0x7fffff, block.packetsLost));
  view.setUint8(at + 4, block.fractionLost);
  view.setUint32(at + 8, block.highestSequence >>> 0);
  view.setUint32(at + 12, Math.round(block.jitter) >>> 0);
  view.setUint32(at + 16, block.lastReport >>> 0);
  view.setUint32(at + 20, block.sinceLastReport >>> 0);
}

function ntpTime(wallMs: number): { readonly seconds: number; readonly fraction: number } {
  return {
    seconds: Math.floor(wallMs / 1000) + NTP_EPOCH_SECONDS,
    fraction: Math.floor(((wallMs % 1000) / 1000) * 2 ** 32),
  };
}

/** The middle 32 bits of NTP time (RFC 3550 §4). */
export function shortTime(wallMs: number): number {
  const { seconds, fraction } = ntpTime(wallMs);
  return (((seconds & 0xffff) << 16) | (fraction >>> 16)) >>> 0;
}

/** Conversion of a duration to and from short units. */
export function shortSpan(spanMs: number): number {
  return Math.round(spanMs * SHORT_PER_MS);
}

/**
 * Time from our report to the one that answers it, less the peer's own delay, ms (RFC 3550 §6.4.1); null
 * before the peer has received one of ours.
 */
export function roundTripMs(report: ReceptionReport, wallMs: number): number | null {
  if (report.lastReport === 0) return null;
  const units = (shortTime(wallMs) - report.lastReport - report.sinceLastReport) | 0;
  return Math.max(0, units) / SHORT_PER_MS;
}
