/**
 * Measures a call from the packet capture alone: answer, greeting, replies, interruptions, and how evenly the
 * agent's packets were spaced.
 */

import { addVoice, type Stretch, type Timeline } from '#protocol/audible-timeline.ts';
import type { CallRecord } from './caller.ts';
import type { CapturedDatagram } from './pcap.ts';
import { isVoiced, PACKET_MS, PACKET_SAMPLES, PAYLOAD_PCMU, parseRtp, type RtpPacket } from './rtp.ts';
import { parseSip } from './sip-message.ts';
import { quantile } from './statistics.ts';

const TIMESTAMPS_PER_MS = PACKET_SAMPLES / PACKET_MS;

/** Measurements of one call. Times are ms, moments (`…AtMs`) ms since 1970; null if it did not happen. */
export interface CallMeasures {
  readonly invitedAtMs: number | null;
  readonly answeredAtMs: number | null;
  readonly inviteToAnswerMs: number | null;
  /** From the 200 to the agent's first voiced packet. */
  readonly answerToGreetingMs: number | null;
  readonly turns: readonly {
    readonly text: string;
    /** Last voiced packet of the line. */
    readonly saidAtMs: number | null;
    /** From it to the agent's first voiced packet of the reply. */
    readonly replyAfterMs: number | null;
  }[];
  readonly bargeIns: readonly {
    readonly text: string;
    /** The packet that completes the expected voice. */
    readonly dueAtMs: number | null;
    /** From it to the agent's last voiced packet; negative if the agent was silent before. */
    readonly stoppedAfterMs: number | null;
  }[];
  readonly pacing: Pacing | null;
}

/** The agent's packets compared with a fitted 20 ms grid. */
export interface Pacing {
  readonly packets: number;
  /** Arrival time of each packet. */
  readonly atMs: readonly number[];
  /** Distance of each packet from its position on the grid, ms. */
  readonly offGridMs: readonly number[];
  readonly longestGapMs: number;
  /** Missing sequence numbers. */
  readonly lost: number;
}

/** Options of a measurement. */
export interface MeasureOptions {
  /** Voiced audio after which the agent is expected to stop, ms. */
  readonly bargeInWaitMs: number;
}

/** An RTP packet of the capture. */
interface SeenPacket extends RtpPacket {
  readonly atMs: number;
  readonly isVoiced: boolean;
}

/** Measures one call of a capture. */
export function measureCall(
  datagrams: readonly CapturedDatagram[],
  record: CallRecord,
  options: MeasureOptions,
): CallMeasures {
  const { signalling, media } = record.ports;
  const dialog = datagrams.filter(
    (datagram) => datagram.sourcePort === signalling || datagram.destinationPort === signalling,
  );
  const { invitedMs, answeredMs } = readDialog(dialog, record.callId);
  const sent = seenOn(datagrams.filter((datagram) => datagram.sourcePort === media));
  const received = seenOn(datagrams.filter((datagram) => datagram.destinationPort === media));
  const stretches = stretchesOf(received);
  const said = record.lines.map((line) => ({
    line,
    voiced: sent.filter(
      (packet) => packet.isVoiced && isBetween(packet.timestamp, line.firstTimestamp, line.lastTimestamp),
    ),
  }));
  const greetingMs = stretches[0]?.firstMs;
  return {
    invitedAtMs: invitedMs ?? null,
    answeredAtMs: answeredMs ?? null,
    inviteToAnswerMs: difference(invitedMs, answeredMs),
    answerToGreetingMs: difference(answeredMs, greetingMs),
    turns: said.map(({ line, voiced }, index) => ({
      text: line.text,
      saidAtMs: voiced.at(-1)?.atMs ?? null,
      replyAfterMs: replyAfter({
        stretches,
        lastMs: voiced.at(-1)?.atMs,
        untilMs: said[index + 1]?.voiced[0]?.atMs,
      }),
    })),
    bargeIns: said
      .filter(({ line }) => line.means === 'interruption')
      .map(({ line, voiced }) => {
        const dueAtMs = voiced[Math.ceil(options.bargeInWaitMs / PACKET_MS) - 1]?.atMs ?? null;
        return {
          text: line.text,
          dueAtMs,
          stoppedAfterMs: stoppedAfter(stretches, voiced[0]?.atMs, dueAtMs),
        };
      }),
    pacing: pacingOf(received),
  };
}

function readDialog(
  datagrams: readonly CapturedDatagram[],
  callId: string,
): { readonly invitedMs?: number; readonly answeredMs?: number } {
  let invitedMs: number | undefined;
  for (const { atMs, payload } of datagrams) {
    const message = parseSip(payload);
    if (message?.method !== 'INVITE' || message.headers.get('call-id')?.[0] !== callId) continue;
    if (message.status === null) invitedMs ??= atMs;
    else if (message.status >= 200 && message.status < 300)
      return { ...(invitedMs === undefined ? {} : { invitedMs }), answeredMs: atMs };
  }
  return invitedMs === undefined ? {} : { invitedMs };
}

function seenOn(datagrams: readonly CapturedDatagram[]): SeenPacket[] {
  return datagrams.flatMap(({ atMs, payload }) => {
    const packet = parseRtp(payload);
    return packet
      ? [{ ...packet, atMs, isVoiced: packet.payloadType === PAYLOAD_PCMU && isVoiced(packet.payload) }]
      : [];
  });
}

function stretchesOf(packets: readonly SeenPacket[]): Stretch[] {
  const stretches: { firstMs: number; lastMs: number }[] = [];
  for (const packet of packets) if (packet.isVoiced) addVoice(stretches, packet.atMs);
  return stretches;
}

/**
 * The timeline of one call of a capture. A line lasts from its first to its last packet, audible or not.
 */
export function timelineOf(datagrams: readonly CapturedDatagram[], record: CallRecord): Timeline {
  const { media } = record.ports;
  const sent = seenOn(datagrams.filter((datagram) => datagram.sourcePort === media));
  const agent = stretchesOf(seenOn(datagrams.filter((datagram) => datagram.destinationPort === media)));
  const lines = record.lines.map(({ text, means, firstTimestamp, lastTimestamp }) => {
    const packets = sent.filter(({ timestamp }) => isBetween(timestamp, firstTimestamp, lastTimestamp));
    return {
      text,
      means,
      firstMs: packets[0]?.atMs ?? Number.NaN,
      lastMs: packets.at(-1)?.atMs ?? Number.NaN,
    };
  });
  return { agent, lines };
}

/** When a line was spoken, even if its first packet was late or lost. Null if nothing was sent. */
export function spokenAt(
  line: CallRecord['lines'][number],
  datagrams: readonly CapturedDatagram[],
  { ports }: CallRecord,
): number | null {
  const sent = seenOn(datagrams.filter(({ sourcePort }) => sourcePort === ports.media));
  return sent.length === 0 ? null : clockOf(sent)(line.firstTimestamp);
}

/**
 * The clock of a non-empty stream: maps an RTP timestamp to the time its packet passes, according to the
 * least delayed packets (ms since 1970).
 */
export function clockOf(
  stream: readonly { readonly atMs: number; readonly timestamp: number }[],
): (timestamp: number) => number {
  const origin = stream[0]?.timestamp ?? 0;
  const sinceMs = (timestamp: number) => ((timestamp - origin) | 0) / TIMESTAMPS_PER_MS;
  const originMs = stream.reduce(
    (least, { atMs, timestamp }) => Math.min(least, atMs - sinceMs(timestamp)),
    Number.POSITIVE_INFINITY,
  );
  return (timestamp) => originMs + sinceMs(timestamp);
}

/**
 * The reply is the first speech of the agent that begins after the line and before the caller's next line.
 */
function replyAfter(turn: {
  readonly stretches: readonly Stretch[];
  readonly lastMs: number | undefined;
  readonly untilMs: number | undefined;
}): number | null {
  const { lastMs, untilMs } = turn;
  if (lastMs === undefined) return null;
  const reply = turn.stretches.find(
    ({ firstMs }) => firstMs > lastMs && (untilMs === undefined || firstMs < untilMs),
  );
  return reply ? reply.firstMs - lastMs : null;
}

function stoppedAfter(
  stretches: readonly Stretch[],
  onsetMs: number | undefined,
  dueAtMs: number | null,
): number | null {
  if (onsetMs === undefined || dueAtMs === null) return null;
  const spokenOver = stretches.find(({ firstMs, lastMs }) => firstMs < onsetMs && lastMs >= onsetMs);
  return spokenOver ? spokenOver.lastMs - dueAtMs : null;
}

/**
 * Fits `time = offset + slope × timestamp` to the stream: the slope by least squares (clocks of two machines
 * differ), the offset by the median.
 */
function pacingOf(received: readonly SeenPacket[]): Pacing | null {
  const ssrc = received.find((packet) => packet.payloadType === PAYLOAD_PCMU)?.ssrc;
  const packets = received.filter((packet) => packet.ssrc === ssrc && packet.payloadType === PAYLOAD_PCMU);
  const [first] = packets;
  if (!first || packets.length < 2) return null;
  const points = packets.map((packet) => ({
    x: ((packet.timestamp - first.timestamp) | 0) / TIMESTAMPS_PER_MS,
    y: packet.atMs - first.atMs,
  }));
  const slope = slopeOf(points);
  const offset = quantile(
    points.map(({ x, y }) => y - slope * x),
    0.5,
  );
  const span = ((packets.at(-1)?.sequence ?? 0) - first.sequence + 0x1_0000) % 0x1_0000;
  return {
    packets: packets.length,
    atMs: packets.map(({ atMs }) => atMs),
    offGridMs: points.map(({ x, y }) => Math.abs(y - offset - slope * x)),
    longestGapMs: packets
      .slice(1)
      .reduce((longest, packet, index) => Math.max(longest, packet.atMs - (packets[index]?.atMs ?? 0)), 0),
    lost: Math.max(0, span + 1 - (packets.length % 0x1_0000)),
  };
}

function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (pick: (point: { readonly x: number; readonly y: number }) => number) =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const x = mean((point) => point.x);
  const y = mean((point) => point.y);
  const covariance = mean((point) => (point.x - x) * (point.y - y));
  const variance = mean((point) => (point.x - x) ** 2);
  return variance === 0 ? 1 : covariance / variance;
}

/** True if a timestamp is in a span, including across the wrap at 2^32. */
function isBetween(timestamp: number, first: number, last: number): boolean {
  return ((timestamp - first) | 0) >= 0 && ((last - timestamp) | 0) >= 0;
}

function difference(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : to - from;
}
