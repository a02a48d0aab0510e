/**
 * Reads pcap files (the classic format of libpcap, as tcpdump writes it) into UDP datagrams with the kernel's
 * timestamps.
 */

/** A UDP datagram as captured. */
export interface CapturedDatagram {
  /** Capture time in ms since 1970, with microseconds as decimals. */
  readonly atMs: number;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly payload: Buffer;
}

const FILE_HEADER_BYTES = 24;
const RECORD_HEADER_BYTES = 16;
const MAGIC_MICROSECONDS = 0xa1b2c3d4;
const MAGIC_NANOSECONDS = 0xa1b23c4d;
const ETHERTYPE_IPV4 = 0x0800;
const ETHERTYPE_IPV6 = 0x86dd;
const PROTOCOL_UDP = 17;
const IPV6_HEADER_BYTES = 40;
const UDP_HEADER_BYTES = 8;

/** Offset of the IP header, and position of the EtherType, by link type (www.tcpdump.org/linktypes.html). */
const LINKS: Readonly<Record<number, { readonly bytes: number; readonly etherTypeAt: number | null }>> = {
  1: { bytes: 14, etherTypeAt: 12 },
  101: { bytes: 0, etherTypeAt: null },
  113: { bytes: 16, etherTypeAt: 14 },
  276: { bytes: 20, etherTypeAt: 0 },
};

/**
 * All UDP datagrams of a capture, in order. Ignores a record cut off at the end of the file. Throws if it is
 * not a pcap file.
 */
export function readPcap(file: Buffer): CapturedDatagram[] {
  if (file.length < FILE_HEADER_BYTES) throw new Error('the capture is empty');
  const isLittle = [MAGIC_MICROSECONDS, MAGIC_NANOSECONDS].includes(file.readUInt32LE(0));
  const read32 = (at: number) => (isLittle ? file.readUInt32LE(at) : file.readUInt32BE(at));
  const magic = read32(0);
  if (magic !== MAGIC_MICROSECONDS && magic !== MAGIC_NANOSECONDS) throw new Error('not a pcap file');
  const unitsPerMs = magic === MAGIC_NANOSECONDS ? 1e6 : 1e3;
  const linkType = read32(20) & 0xffff;
  const link = LINKS[linkType];
  if (!link) throw new Error(`captures of link type ${linkType} are not supported`);
  const datagrams: CapturedDatagram[] = [];
  for (let at = FILE_HEADER_BYTES; at + RECORD_HEADER_BYTES <= file.length; ) {
    const bytes = read32(at + 8);
    const start = at + RECORD_HEADER_BYTES;
    if (start + bytes > file.length) break;
    const datagram = readFrame(file.subarray(start, start + bytes), link);
    if (datagram) datagrams.push({ atMs: read32(at) * 1000 + read32(at + 4) / unitsPerMs, ...datagram });
    at = start + bytes;
  }
  return datagrams;
}

type Datagram = Omit<CapturedDatagram, 'atMs'>;

function readFrame(
  frame: Buffer,
  link: { readonly bytes: number; readonly etherTypeAt: number | null },
): Datagram | null {
  const packet = frame.subarray(link.bytes);
  if (packet.length < 1) return null;
  const version = packet.readUInt8(0) >> 4;
  if (
    link.etherTypeAt !== null &&
    ![ETHERTYPE_IPV4, ETHERTYPE_IPV6].includes(frame.readUInt16BE(link.etherTypeAt))
  )
    return null;
  if (version === 4) return readIpv4(packet);
  return version === 6 ? readIpv6(packet) : null;
}

function readIpv4(packet: Buffer): Datagram | null {
  const headerBytes = 4 * (packet.readUInt8(0) & 0x0f);
  if (packet.length < headerBytes + UDP_HEADER_BYTES || packet.readUInt8(9) !== PROTOCOL_UDP) return null;
  return readUdp(packet.subarray(headerBytes));
}

function readIpv6(packet: Buffer): Datagram | null {
  if (packet.length < IPV6_HEADER_BYTES + UDP_HEADER_BYTES || packet.readUInt8(6) !== PROTOCOL_UDP)
    return null;
  return readUdp(packet.subarray(IPV6_HEADER_BYTES));
}

function readUdp(udp: Buffer): Datagram {
  const bytes = Math.min(udp.length, udp.readUInt16BE(4));
  return {
    sourcePort: udp.readUInt16BE(0),
    destinationPort: udp.readUInt16BE(2),
    payload: udp.subarray(UDP_HEADER_BYTES, bytes),
  };
}
