import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { speak } from '#caller/spoken.ts';
import { decodeG711, encodeG711 } from '#media/dsp/g711.ts';
import { G722Decoder } from '#media/dsp/g722.ts';
import { resample } from '#media/dsp/pcm.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { LegLog } from '../../fakes/leg-log.ts';
import { openRtpPeer, type RtpPeer } from '../../fakes/rtp-peer.ts';
import { power } from '../../fakes/tone.ts';

const tone = (ms: number, hz = 440) =>
  Int16Array.from({ length: ms * 8 }, (_, n) => 8000 * Math.sin((2 * Math.PI * hz * n) / 8000));
const play = (leg: Leg, replyId: string, samples: Int16Array, marks: readonly number[] = []) =>
  leg.send({ do: 'play', replyId, pieceId: 1, samples, marks: Int32Array.from(marks), last: true });

/** A busy machine may delay events by this long. */
const PATIENTLY = { timeout: 60_000 };

/** What a peer received, without silence, which grows while a test waits. */
const loudIn = (peer: RtpPeer) =>
  Int16Array.from(
    peer.heard.flatMap(({ payload, peak }) => {
      if (peak < 100) return [];
      const samples = new Int16Array(payload.length);
      decodeG711('PCMU', payload, samples);
      return [...samples];
    }),
  );

describe('the media thread', () => {
  let host: LegFactory;

  beforeAll(async () => {
    const logger = createLogger({ level: 'silent', name: 'test' });
    host = await startMediaThread({
      rtpPortMin: 21_000,
      rtpPortMax: 21_099,
      iceServers: [],
      clock: systemClock,
      logger,
    });
  });
  afterAll(() => host.close());

  async function openLeg(options: { recording?: true | 'human' } = {}) {
    const peer = await openRtpPeer();
    const recording = options.recording
      ? { firstSegment: 3, ...(options.recording === 'human' ? { of: 'human' as const } : {}) }
      : null;
    const { leg, localPort } = await host.openRtpLeg({
      localAddress: '127.0.0.1',
      remote: peer.remote,
      recording,
    });
    const log = new LegLog(leg);
    const close = async () => {
      leg.send({ do: 'close' });
      peer.close();
      return await log.next('closed');
    };
    return { peer, leg, localPort, log, close };
  }

  it('carries played audio to the peer, every sample once and in order', async () => {
    const { peer, leg, log, close } = await openLeg();
    const samples = tone(300);
    play(leg, 'greeting', samples, [800, 2400]);
    const finished = await log.next('playout.finished');
    const started = await log.next('playout.started');
    await expect.poll(() => peer.heard.filter((packet) => packet.peak > 1000).length, PATIENTLY).toBe(15);
    const voiced = peer.heard.filter((packet) => packet.peak > 1000);
    const payload = new Uint8Array(samples.length);
    encodeG711('PCMU', samples, payload, 0);
    expect(Buffer.concat(voiced.map((packet) => packet.payload))).toEqual(Buffer.from(payload));
    // A slot missed by a wide margin is skipped in the stream together with its timestamp: reported times
    // follow the timestamps.
    const sentAfterMs = (count: number) =>
      ((voiced[count - 1]?.timestamp ?? 0) + 160 - (voiced[0]?.timestamp ?? 0)) / 8;
    const sequences = voiced.map((packet) => packet.sequence - (voiced[0]?.sequence ?? 0));
    expect(sequences.map((sequence) => (sequence + 0x1_0000) % 0x1_0000)).toEqual(voiced.map((_, n) => n));
    expect(sentAfterMs(15)).toBeGreaterThanOrEqual(300);
    expect(finished.atMs - started.atMs).toBeCloseTo(sentAfterMs(15), 1);
    const marks = log.all('playout.mark').map((mark) => mark.atMs - started.atMs);
    expect(marks).toEqual([expect.closeTo(sentAfterMs(5), 1), expect.closeTo(sentAfterMs(15), 1)]);
    expect((await close()).stats.packetsSent).toBeGreaterThanOrEqual(15);
  });

  it('bridged far ends hear each other and their own prompts; the agent’s track has only the agent', async () => {
    const [caller, human] = [await openLeg({ recording: true }), await openLeg({ recording: 'human' })];
    caller.leg.send({ do: 'holdMusic', isOn: true });
    await expect
      .poll(() => caller.peer.heard.filter((packet) => packet.peak > 500).length, PATIENTLY)
      .toBeGreaterThan(10);
    caller.leg.send({ do: 'holdMusic', isOn: false });
    caller.leg.send({ do: 'bridge', otherLegId: human.leg.id });
    play(caller.leg, 'goodbye', tone(400, 700));
    await Promise.all([
      caller.peer.speak(caller.localPort, tone(1_200, 440)),
      human.peer.speak(human.localPort, tone(1_200, 1_000)),
    ]);
    await expect.poll(() => power(loudIn(caller.peer), 1_000), PATIENTLY).toBeGreaterThan(100_000);
    await expect.poll(() => power(loudIn(human.peer), 440), PATIENTLY).toBeGreaterThan(100_000);
    expect(power(loudIn(caller.peer), 700)).toBeGreaterThan(1_000);
    // Concealing a gap blurs a tone slightly.
    for (const [peer, other, own] of [
      [caller.peer, 1_000, 440],
      [human.peer, 440, 1_000],
      [human.peer, 440, 700],
    ] as const)
      expect(power(loudIn(peer), own)).toBeLessThan(power(loudIn(peer), other) / 100);
    await human.close();
    // The bridge ends when the other leg ends; audio sent earlier may still be in transit.
    const isQuiet = ({ peer }: typeof caller) => peer.heard.slice(-10).every((packet) => packet.peak < 100);
    await expect.poll(() => isQuiet(caller), PATIENTLY).toBe(true);
    await caller.close();
    const track = (of: typeof caller, name: string) =>
      Int16Array.from(
        of.log.all('recording').flatMap((segment) => (segment.track === name ? [...segment.samples] : [])),
      );
    expect(power(track(human, 'human'), 1_000)).toBeGreaterThan(100_000);
    expect(human.log.all('recording').map(({ track: name }) => name)).toEqual(['human']);
    expect(power(track(caller, 'agent'), 700)).toBeGreaterThan(10_000);
    expect(power(track(caller, 'agent'), 1_000)).toBeLessThan(100);
    expect(track(caller, 'agent').filter((sample) => Math.abs(sample) > 500).length).toBeLessThan(
      0.5 * 8_000,
    );
  });

  it('a bridged wideband phone hears a narrowband phone', async () => {
    const caller = await openLeg();
    const peer = await openRtpPeer();
    const remote = { ...peer.remote, codec: 'G722', payloadType: 9 } as const;
    const { leg } = await host.openRtpLeg({ localAddress: '127.0.0.1', remote, recording: null });
    expect([caller.leg.inRateHz, leg.inRateHz]).toEqual([8_000, 16_000]);
    caller.leg.send({ do: 'bridge', otherLegId: leg.id });
    void caller.peer.speak(caller.localPort, tone(1_200, 440));
    const heard = () => {
      const payload = Buffer.concat(peer.heard.map((packet) => packet.payload));
      const samples = new Int16Array(2 * payload.length);
      new G722Decoder().decode(payload, samples);
      return resample(samples, 16_000, 8_000);
    };
    await expect.poll(() => power(heard(), 440), PATIENTLY).toBeGreaterThan(100_000);
    leg.send({ do: 'close' });
    peer.close();
    await caller.close();
  });

  it('sends no speech more than 60 ms after a pause, and resumes at the same sample', async () => {
    const { peer, leg, log, close } = await openLeg();
    play(leg, 'reply', tone(600));
    await expect
      .poll(() => peer.heard.filter((packet) => packet.peak > 1000).length, { ...PATIENTLY, interval: 5 })
      .toBeGreaterThan(5);
    const pausedAtMs = systemClock.now();
    leg.send({ do: 'pause' });
    const { position } = await log.next('playout.paused');
    await systemClock.sleep(150);
    const lastVoiceMs = Math.max(
      ...peer.heard.filter((packet) => packet.peak > 1000).map((packet) => packet.atMs),
    );
    expect(lastVoiceMs - pausedAtMs).toBeLessThan(60);
    expect(peer.heard.filter((packet) => packet.peak > 1000).length * 160).toBe(position.sample);
    leg.send({ do: 'resume' });
    await log.next('playout.finished');
    await expect.poll(() => peer.heard.filter((packet) => packet.peak > 1000).length, PATIENTLY).toBe(30);
    await close();
  });

  it('reports keys received as telephone events, and sends them', async () => {
    const { peer, leg, localPort, log, close } = await openLeg();
    const event = (end: number, duration: number) =>
      Uint8Array.of(5, end | 10, duration >> 8, duration & 0xff);
    for (const [end, duration] of [
      [0, 160],
      [0, 320],
      [0x80, 480],
      [0x80, 480],
      [0x80, 480],
    ] as const) {
      peer.send(localPort, 101, event(end, duration), { timestamp: 1000 });
    }
    expect(await log.next('digit')).toMatchObject({ digit: '5', durationMs: 60, source: 'rfc4733' });
    leg.send({ do: 'sendDigits', digits: '9' });
    await expect
      .poll(() => peer.heard.filter((packet) => packet.payloadType === 101).length, PATIENTLY)
      .toBe(7);
    const sent = peer.heard.filter((packet) => packet.payloadType === 101);
    expect(new Set(sent.map((packet) => packet.timestamp)).size).toBe(1);
    expect(sent.map((packet) => packet.marker)).toEqual([true, false, false, false, false, false, false]);
    expect([...(sent.at(-1)?.payload ?? [])]).toEqual([9, 0x8a, 800 >> 8, 800 & 0xff]);
    await close();
    expect(log.all('digit')).toHaveLength(1);
  });

  it('accepts audio only from the negotiated peer', async () => {
    const { peer, localPort, log, close } = await openLeg();
    const intruder = await openRtpPeer();
    await peer.speak(localPort, tone(100));
    await log.next('connected');
    const heardBefore = log.frames().length;
    await intruder.speak(localPort, tone(400, 1000));
    const since = log.frames().slice(heardBefore + 8);
    // Concealment continues the peer's own voice until it has faded.
    const loud = since.filter(
      ({ kind, samples }) => kind !== 'concealed' && samples.some((sample) => Math.abs(sample) > 500),
    );
    intruder.close();
    expect(since.length).toBeGreaterThan(5);
    expect(loud).toEqual([]);
    expect(intruder.heard).toEqual([]);
    await close();
  });

  it('stamps onset and offset of real speech within 100 ms, and reports the speech threshold', async () => {
    const { peer, leg, localPort, log, close } = await openLeg();
    const spoken = speak('Good morning.', { rateHz: 8000, beforeMs: 600, afterMs: 600 });
    leg.send({ do: 'watchVoice', reachMs: 256 });
    const startMs = await peer.speak(localPort, spoken.samples);
    const onset = await log.next('voice.onset');
    const offset = await log.next('voice.offset');
    // A packet carries the 20 ms of speech before it is sent.
    expect(Math.abs(onset.atMs - (startMs - 20 + spoken.startMs))).toBeLessThan(100);
    const lastOffset = log.all('voice.offset').at(-1) ?? offset;
    expect(Math.abs(lastOffset.atMs - (startMs - 20 + spoken.endMs))).toBeLessThan(100);
    const reached = await log.next('voice.reached');
    expect(reached.atMs - onset.atMs).toBeGreaterThanOrEqual(250);
    // While the caller still speaks.
    expect(reached.atMs).toBeLessThan(lastOffset.atMs);
    expect(onset.decidedAtMs - onset.atMs).toBeLessThan(160);
    await close();
  });

  it('records both sides on one timeline and numbers segments consecutively', async () => {
    const { peer, leg, localPort, log, close } = await openLeg({ recording: true });
    const startMs = await peer.speak(localPort, Int16Array.from([...new Int16Array(1600), ...tone(200)]));
    play(leg, 'reply', tone(200));
    const started = await log.next('playout.started');
    await log.next('playout.finished');
    await close();
    const [user, agent] = [
      log.all('recording').find((event) => event.track === 'user'),
      log.all('recording').find((event) => event.track === 'agent'),
    ];
    const firstLoudMs = (event: typeof user) =>
      event ? event.startMs + event.samples.findIndex((sample) => Math.abs(sample) > 1000) / 8 : Number.NaN;
    expect(user?.startMs).toBe(agent?.startMs);
    expect([user?.segment, agent?.segment]).toEqual([3, 3]);
    expect(Math.abs(firstLoudMs(agent) - started.atMs)).toBeLessThanOrEqual(20);
    // The caller's track is delayed by the jitter buffer, here by at most two slots.
    expect(firstLoudMs(user) - (startMs + 200)).toBeGreaterThanOrEqual(-20);
    expect(firstLoudMs(user) - (startMs + 200)).toBeLessThan(80);
  });

  it('outputs one frame per slot, whether packets arrive or not', async () => {
    const { peer, localPort, log, close } = await openLeg();
    await peer.speak(localPort, tone(200));
    peer.stop();
    await log.next('audio', (event) => event.kinds.includes(3) && event.slot > 20);
    const frames = log.frames();
    const [first, last] = [frames[0], frames.at(-1)];
    expect(frames.map((frame) => frame.slot)).toEqual(frames.map((_, n) => (first?.slot ?? 0) + n));
    expect(frames.every((frame) => frame.samples.length === 160)).toBe(true);
    expect(last?.kind).toBe('absent');
    expect((last?.atMs ?? 0) - (first?.atMs ?? 0)).toBeCloseTo((frames.length - 1) * 20, 3);
    await close();
  });

  it('refuses a leg when all ports are in use, and accepts one again after a port is released', async () => {
    const small = await startMediaThread({
      // Below the system's ephemeral port range.
      rtpPortMin: 21_200,
      rtpPortMax: 21_203,
      iceServers: [],
      clock: systemClock,
      logger: createLogger({ level: 'silent', name: 'test' }),
    });
    const open = () => small.openRtpLeg({ localAddress: '127.0.0.1', remote: null, recording: null });
    const first = await open();
    await open();
    await expect(open()).rejects.toMatchObject({ code: 'no_media_port' });
    first.leg.send({ do: 'close' });
    await new LegLog(first.leg).next('closed');
    await expect
      .poll(
        () =>
          open().then(
            ({ localPort }) => localPort,
            () => null,
          ),
        PATIENTLY,
      )
      .toBe(first.localPort);
    await small.close();
  });
});
