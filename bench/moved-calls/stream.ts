/** The agent's stream of one call, from a packet capture at its caller. */
import type { CapturedDatagram } from '#caller/pcap.ts';
import { isVoiced, PACKET_SAMPLES, PAYLOAD_PCMU, parseRtp } from '#caller/rtp.ts';
import { wordsIn } from './counting-voice.ts';

/** The agent's packets to one caller, and figures of their stream. Times are ms since 1970. */
export interface AgentStream {
  readonly atMs: readonly number[];
  readonly voicedAtMs: readonly number[];
  readonly words: readonly string[];
  /** Ports of this machine that it came from, in order of their first packet. */
  readonly fromPorts: readonly number[];
  /** Time between the last packet of one port and the first of the next, for each change. */
  readonly seamsMs: readonly number[];
  readonly ssrcs: number;
  /** Sequence numbers that never came, or came twice. */
  readonly lost: number;
  readonly repeated: number;
  /** Steps to the next sequence number at which the timestamp does not grow by one packet. */
  readonly timestampLeaps: number;
}

/** Reads the packets of one call; its caller receives on this port. */
export function agentStreamOf(datagrams: readonly CapturedDatagram[], port: number): AgentStream {
  const packets = datagrams.flatMap(({ atMs, destinationPort, sourcePort, payload }) => {
    const packet = destinationPort === port ? parseRtp(payload) : null;
    return packet?.payloadType === PAYLOAD_PCMU ? [{ ...packet, atMs, sourcePort }] : [];
  });
  const steps = packets.slice(1).map((packet, index) => {
    const before = packets[index] ?? packet;
    return {
      // A new source begins anew.
      isSameSource: packet.ssrc === before.ssrc,
      sequence: ((packet.sequence - before.sequence) << 16) >> 16,
      timestamp: (packet.timestamp - before.timestamp) | 0,
    };
  });
  const inSource = steps.filter(({ isSameSource }) => isSameSource);
  return {
    atMs: packets.map(({ atMs }) => atMs),
    voicedAtMs: packets.filter(({ payload }) => isVoiced(payload)).map(({ atMs }) => atMs),
    words: wordsIn(packets.map(({ payload }) => payload)),
    seamsMs: packets.slice(1).flatMap((packet, index) => {
      const before = packets[index] ?? packet;
      return packet.sourcePort === before.sourcePort ? [] : [packet.atMs - before.atMs];
    }),
    fromPorts: [...new Set(packets.map(({ sourcePort }) => sourcePort))],
    ssrcs: new Set(packets.map(({ ssrc }) => ssrc)).size,
    lost: inSource.reduce((sum, { sequence }) => sum + Math.max(0, sequence - 1), 0),
    repeated: inSource.filter(({ sequence }) => sequence <= 0).length,
    timestampLeaps: inSource.filter(
      ({ sequence, timestamp }) => sequence === 1 && timestamp !== PACKET_SAMPLES,
    ).length,
  };
}

/** The longest time between two packets from `fromMs` on; infinite if there is none. */
export function longestGapMs({ atMs }: AgentStream, fromMs: number): number {
  const since = atMs.filter((time) => time >= fromMs);
  if (since.length < 2) return Number.POSITIVE_INFINITY;
  return since.slice(1).reduce((longest, time, index) => Math.max(longest, time - (since[index] ?? time)), 0);
}
