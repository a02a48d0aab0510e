/**
 * Fuzzes the media parsers: session descriptions as text, and an RTP session on its socket with mutated RTP
 * and RTCP.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { systemClock } from '#base/clock.ts';
import { Fault } from '#config/errors.ts';
import { encodeG711 } from '#media/dsp/g711.ts';
import { EventBatcher, unpackEvents } from '#media/leg/event-batch.ts';
import type { LegEvent } from '#media/leg/leg.ts';
import { Pacer } from '#media/leg/pacer.ts';
import { RTP_HEADER_BYTES, writeRtpHeader } from '#media/rtp/packet.ts';
import { PortPool } from '#media/rtp/port-pool.ts';
import { writeRtcp } from '#media/rtp/rtcp.ts';
import { openRtpSession } from '#media/rtp/rtp-session.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { SpeechDetector } from '#media/voice-activity/vad.ts';
import { answerAudio, readRemote } from '#telephony/sdp.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { manualThread } from '#test/fakes/manual-thread.ts';
import { mediaShared } from '#test/fakes/media-shared.ts';
import { tone } from '#test/fakes/tone.ts';
import { createRandom } from '#test/simulation/random.ts';
import { type HeapUse, heapBytes } from './heap.ts';
import { mutate } from './mutate.ts';
import { DESCRIPTIONS } from './sip-corpus.ts';

const LOCAL = {
  address: '127.0.0.1',
  port: 4000,
  sessionId: 1,
  version: 1,
  srtpKey: newSrtpKey(),
  isSecure: false,
};
const BATCH = 50;
const FRAME_SAMPLES = 160;
const PATIENCE_MS = 30_000;

/**
 * Returns the number of answered descriptions; throws if an answer does not match its offer (RFC 3264 §6), or
 * on any error but a refusal.
 */
export async function fuzzDescriptions({
  seed,
  runs,
}: {
  seed: number;
  runs: number;
}): Promise<{ readonly answered: number; readonly heap: HeapUse }> {
  const random = createRandom(seed);
  let answered = 0;
  let early = 0;
  for (let n = 0; n < runs; n++) {
    if (n === Math.floor(runs / 5)) early = await heapBytes();
    const offer = mutate(random.pick(DESCRIPTIONS), DESCRIPTIONS, random).toString();
    try {
      const { sdp, remote } = answerAudio(offer, LOCAL);
      answered += 1;
      if (sections(sdp) !== sections(offer)) throw new Error('as many sections in an answer as in its offer');
      if (readRemote(sdp, LOCAL).codec !== remote.codec)
        throw new Error('an answer names the codec it accepts');
    } catch (error) {
      if (!(error instanceof Fault))
        throw new Error(`${String(error)} for ${JSON.stringify(offer)}`, { cause: error });
    }
  }
  return { answered, heap: { early, late: await heapBytes() } };
}

function sections(sdp: string): number {
  return sdp.split(/\r\n|\r|\n/).filter((line) => line.startsWith('m=')).length;
}

/**
 * Sends `runs` datagrams to one session from its negotiated peer; throws if the session closes, or ignores
 * well-formed packets afterwards.
 */
export async function fuzzRtp({
  seed,
  runs,
}: {
  seed: number;
  runs: number;
}): Promise<{ readonly heap: HeapUse }> {
  const random = createRandom(seed);
  const clock = new ManualClock();
  const events = new EventBatcher();
  const detector = new SpeechDetector(clock, () => undefined);
  // As in the media thread, speech detection runs on each turn of the wheel.
  const pacer = new Pacer(clock, () => detector.flush(clock.now()), manualThread(clock));
  const shared = mediaShared({ clock, pacer, events, detector });
  const peer = createSocket('udp4');
  peer.bind(0, '127.0.0.1');
  await once(peer, 'listening');
  const remote = {
    address: '127.0.0.1',
    port: peer.address().port,
    codec: 'PCMU',
    payloadType: 0,
    digitPayloadType: 101,
    sending: true,
  } as const;
  const ports = new PortPool(31_000, 31_019);
  const { leg, opened } = await openRtpSession(
    { leg: 1, localAddress: '127.0.0.1', remote, recording: null, ports, onClosed: () => undefined },
    shared,
  );
  let heard: LegEvent[] = [];
  const collect = () => {
    const taken = events.take(Number.POSITIVE_INFINITY);
    if (taken) heard.push(...(unpackEvents(taken.batch).get(1) ?? []));
  };
  const turn = async () => {
    await systemClock.sleep(1);
    await clock.advance(20);
    collect();
    if (heard.some((event) => event.type === 'closed')) throw new Error('a datagram ended the call');
  };
  try {
    let early = 0;
    for (let sent = 0; sent < runs; sent += BATCH) {
      if (early === 0 && sent >= runs / 5) early = await heapBytes();
      heard = [];
      for (let n = sent; n < Math.min(sent + BATCH, runs); n++)
        peer.send(mutate(random.pick(DATAGRAMS), DATAGRAMS, random), opened.localPort ?? 0, '127.0.0.1');
      await turn();
    }
    heard = [];
    const heap = { early, late: await heapBytes() };
    const speech = tone(700, 20_000);
    const untilMs = systemClock.now() + PATIENCE_MS;
    for (
      let frame = 0;
      !heard.some((event) => event.type === 'audio' && event.samples.some((sample) => sample > 4_000));
      frame++
    ) {
      if (systemClock.now() > untilMs) throw new Error('well-formed packets are no longer received');
      const at = (frame * FRAME_SAMPLES) % (speech.length - FRAME_SAMPLES);
      peer.send(
        audio(frame, 0x7777_0001, speech.subarray(at, at + FRAME_SAMPLES)),
        opened.localPort ?? 0,
        '127.0.0.1',
      );
      await turn();
    }
    return { heap };
  } finally {
    await leg.close();
    pacer.close();
    await detector.close();
    peer.close();
  }
}

function audio(n: number, ssrc: number, samples: Int16Array): Buffer {
  const packet = Buffer.alloc(RTP_HEADER_BYTES + FRAME_SAMPLES);
  writeRtpHeader(packet, {
    marker: n === 0,
    payloadType: 0,
    sequence: n,
    timestamp: n * FRAME_SAMPLES,
    ssrc,
  });
  encodeG711('PCMU', samples, packet, RTP_HEADER_BYTES);
  return packet;
}

function withHeader(first: number, payloadType: number, rest: readonly number[]): Buffer {
  const packet = Buffer.alloc(RTP_HEADER_BYTES);
  writeRtpHeader(packet, { marker: false, payloadType, sequence: 7, timestamp: 1_120, ssrc: 0x1234_5678 });
  packet[0] = first;
  return Buffer.concat([packet, Buffer.from(rest)]);
}

const reception = {
  ssrc: 1,
  fractionLost: 3,
  packetsLost: 9,
  highestSequence: 70_000,
  jitter: 12,
  lastReport: 99,
  sinceLastReport: 65_536,
};
/** Audio, comfort noise, digits, CSRCs, an extension, padding, and reports. */
const DATAGRAMS: readonly Buffer[] = [
  audio(0, 0x1234_5678, new Int16Array(FRAME_SAMPLES).fill(3_000)),
  withHeader(0x80, 13, [40]),
  withHeader(0x80, 101, [5, 0x8a, 3, 32]),
  withHeader(0x82, 0, [0, 0, 0, 1, 0, 0, 0, 2, 9, 9, 9]),
  withHeader(0x90, 0, [0xbe, 0xde, 0, 1, 0x10, 1, 0, 0, 9, 9, 9]),
  withHeader(0xa0, 8, [9, 9, 9, 0, 0, 3]),
  Buffer.from(
    writeRtcp(
      { ssrc: 5, sent: { wallMs: 1_000, timestamp: 8_000, packets: 50, bytes: 8_000 }, reception },
      'phone@host',
    ),
  ),
  Buffer.from(writeRtcp({ ssrc: 5, sent: null, reception: null }, 'phone@host')),
];
