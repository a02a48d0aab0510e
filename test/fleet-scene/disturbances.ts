/**
 * What a caller noticed of a fault, from the times at which its packets passed: an agent that fell silent, a
 * question that was not answered, and how long it took until the agent's voice was there again.
 */
import type { CapturedDatagram } from '#caller/pcap.ts';
import { isVoiced, PAYLOAD_PCMU, parseRtp } from '#caller/rtp.ts';

/** The agent of an undisturbed call sends a packet every 20 ms. */
const INTERRUPTED_MS = 1_000;
/** An answer that takes longer was disturbed. */
const ANSWERED_MS = 3_000;
/** The sentence of a caller is over. */
const QUIET_MS = 500;
/** A caller whose question is so young when the call ends can expect no answer. */
const YOUNG_MS = 4_000;

/** A call as its caller heard it. Times are ms since 1970. */
export interface HeardCall {
  readonly name: string;
  /** Every packet, or block, with the agent's voice. */
  readonly voicedAtMs: readonly number[];
  readonly questionEndsMs: readonly number[];
  /** Times without the agent's sound: the last packet before and the first one after. */
  readonly interruptions: readonly { readonly fromMs: number; readonly overMs: number }[];
  /** The longest time without a packet of the agent, ms. */
  readonly longestPauseMs: number;
}

/**
 * The calls of a capture, one for each of the callers' media ports. Pauses that are over before `fromMs` do
 * not count.
 */
export function heardCalls(
  datagrams: readonly CapturedDatagram[],
  ports: { readonly first: number; readonly last: number },
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): HeardCall[] {
  const isOurs = (port: number) => port >= ports.first && port <= ports.last;
  const byPort = Map.groupBy(datagrams, ({ sourcePort, destinationPort }) =>
    isOurs(sourcePort) ? sourcePort : destinationPort,
  );
  return [...byPort].flatMap(([port, all]) => {
    const packets = all.flatMap((datagram) => {
      const packet = parseRtp(datagram.payload);
      const isAudio = packet?.payloadType === PAYLOAD_PCMU && datagram.atMs <= untilMs;
      return isAudio
        ? [{ atMs: datagram.atMs, isVoice: isVoiced(packet.payload), isOurs: datagram.sourcePort === port }]
        : [];
    });
    const agent = packets.filter((packet) => !packet.isOurs);
    if (agent.length === 0) return [];
    const voiced = (own: boolean) =>
      packets.filter((packet) => packet.isOurs === own && packet.isVoice).map(({ atMs }) => atMs);
    return [
      {
        name: `port ${port}`,
        voicedAtMs: voiced(false),
        questionEndsMs: endsOf(voiced(true)),
        ...pausesOf(
          agent.map(({ atMs }) => atMs),
          { fromMs, untilMs },
        ),
      },
    ];
  });
}

/** The pauses between the arrivals of an agent's packets or blocks, up to the end of the call. */
export function pausesOf(
  arrivedAtMs: readonly number[],
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): Pick<HeardCall, 'interruptions' | 'longestPauseMs'> {
  const heardAtMs = [...arrivedAtMs.filter((atMs) => atMs <= untilMs), untilMs];
  const pauses = heardAtMs
    .slice(1)
    .map((atMs, index) => ({ fromMs: heardAtMs[index] ?? atMs, overMs: atMs }))
    .filter(({ overMs }) => overMs >= fromMs);
  const lengthOf = (pause: (typeof pauses)[number]) => pause.overMs - pause.fromMs;
  return {
    interruptions: pauses.filter((pause) => lengthOf(pause) > INTERRUPTED_MS),
    longestPauseMs: pauses.reduce((longest, pause) => Math.max(longest, lengthOf(pause)), 0),
  };
}

/** A time without the agent's voice that the caller noticed; `ms` is infinite if it was not heard again. */
export interface Gap {
  readonly fromMs: number;
  readonly ms: number;
}

/** The gaps of a call within a stretch of time. */
export function gapsOf(
  { voicedAtMs, questionEndsMs, interruptions }: HeardCall,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): Gap[] {
  const voiceAfter = (sinceMs: number) =>
    voicedAtMs.find((atMs) => atMs >= sinceMs) ?? Number.POSITIVE_INFINITY;
  const isOld = (atMs: number) => atMs < untilMs - YOUNG_MS;
  const unanswered = questionEndsMs
    .filter((atMs) => atMs >= fromMs && isOld(atMs))
    .map((atMs) => ({ fromMs: atMs, ms: voiceAfter(atMs) - atMs }))
    .filter(({ ms }) => ms > ANSWERED_MS);
  const broken = interruptions
    .filter((pause) => isOld(pause.fromMs))
    .map((pause) => ({ fromMs: pause.fromMs, ms: voiceAfter(pause.overMs) - pause.fromMs }));
  return [...broken, ...unanswered];
}

/** The ends of stretches of voice. */
function endsOf(voicedAtMs: readonly number[]): number[] {
  return voicedAtMs.filter(
    (atMs, index) => (voicedAtMs[index + 1] ?? Number.POSITIVE_INFINITY) - atMs > QUIET_MS,
  );
}
