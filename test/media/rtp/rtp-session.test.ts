import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeG711, encodeG711 } from '#media/dsp/g711.ts';
import { fillKeyTone } from '#media/dsp/tones.ts';
import type { TransportLeg } from '#media/leg/transport-leg.ts';
import { RTP_HEADER_BYTES, writeRtpHeader } from '#media/rtp/packet.ts';
import { PortPool } from '#media/rtp/port-pool.ts';
import { isRtcp, parseRtcp, shortTime, writeRtcp } from '#media/rtp/rtcp.ts';
import { bindRtpSockets } from '#media/rtp/rtp-sockets.ts';
import { openRtpPeer, type RtpPeer } from '#test/fakes/rtp-peer.ts';
import { openManualSession } from './manual-session.ts';

/** Power of one frequency in 8 kHz samples. */
function power(samples: Int16Array, hz: number): number {
  let [cosine, sine] = [0, 0];
  for (const [n, sample] of samples.entries()) {
    cosine += sample * Math.cos((2 * Math.PI * hz * n) / 8000);
    sine += sample * Math.sin((2 * Math.PI * hz * n) / 8000);
  }
  return cosine * cosine + sine * sine;
}

describe('an RTP session', () => {
  const closers: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function open() {
    const session = await openManualSession('PCMU', new PortPool(23_250, 23_259));
    closers.push(session.close);
    return session;
  }

  const voiceOf = (peer: RtpPeer) => peer.heard.filter((packet) => packet.peak > 1000).length;
  const play = (leg: TransportLeg) =>
    leg.command({
      do: 'play',
      replyId: 'r',
      pieceId: 0,
      samples: new Int16Array(1600).fill(8000),
      marks: Int32Array.of(),
      last: true,
    });

  it('sends nothing after the time until which it may speak; what it plays waits', async () => {
    const { clock, leg, peer, speech } = await open();
    await clock.advance(100);
    await expect.poll(() => peer.heard.length).toBeGreaterThan(0);
    speech.untilMs = clock.now();
    const before = peer.heard.length;
    play(leg);
    await clock.advance(1_000);
    speech.untilMs = Number.POSITIVE_INFINITY;
    await clock.advance(200);
    await expect.poll(() => voiceOf(peer)).toBe(10);
    // Nothing of the second in between.
    expect(peer.heard.length - before).toBeLessThanOrEqual(12);
  });

  it('closes when nothing has arrived for 30 s', async () => {
    const { clock, peer, port, report } = await open();
    await clock.advance(20_000);
    peer.send(port, 0, new Uint8Array(160));
    await expect.poll(() => report().some((event) => event.type === 'connected')).toBe(true);
    await clock.advance(29_900);
    expect(report().some((event) => event.type === 'closed')).toBe(false);
    await clock.advance(200);
    expect(report().at(-1)).toMatchObject({
      type: 'closed',
      reason: 'media_timeout',
      stats: { packetsReceived: 1 },
    });
  });

  it('neither sends nor times out on hold, and resumes playing where it stopped', async () => {
    const { clock, peer, leg, report } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, sending: false } });
    play(leg);
    await clock.advance(40_000);
    expect(peer.heard).toEqual([]);
    leg.command({ do: 'setRemote', remote: peer.remote });
    await clock.advance(300);
    await expect.poll(() => voiceOf(peer)).toBe(10);
    expect(report().some((event) => event.type === 'closed')).toBe(false);
    expect(report().some((event) => event.type === 'playout.finished')).toBe(true);
  });

  it('sends the codec of the latest answer to its address', async () => {
    const { clock, peer, leg } = await open();
    const second = await openRtpPeer();
    closers.push(() => second.close());
    leg.command({ do: 'setRemote', remote: { ...second.remote, codec: 'PCMA', payloadType: 8 } });
    await clock.advance(100);
    await expect.poll(() => second.heard.length).toBeGreaterThan(2);
    expect(
      second.heard.every(
        (packet) => packet.payloadType === 8 && packet.payload.every((byte) => byte === 0xd5),
      ),
    ).toBe(true);
    expect(peer.heard).toEqual([]);
  });

  it('sends keys as tones when the peer does not support telephone events', async () => {
    const { clock, peer, leg } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, digitPayloadType: null } });
    leg.command({ do: 'sendDigits', digits: '5' });
    await clock.advance(400);
    await expect.poll(() => peer.heard.length).toBeGreaterThan(15);
    const loud = peer.heard.filter((packet) => packet.peak > 1000);
    expect(loud).toHaveLength(5);
    const tone = Int16Array.from(
      loud.flatMap((packet) => {
        const samples = new Int16Array(160);
        decodeG711('PCMU', packet.payload, samples);
        return [...samples];
      }),
    );
    const [key, other] = [
      [770, 1336],
      [852, 1209],
    ].map((pair) => pair.map((hz) => power(tone, hz)));
    expect(Math.min(...(key ?? []))).toBeGreaterThan(20 * Math.max(...(other ?? [])));
  });

  it.each([
    [null, { digit: '5', source: 'inband' }],
    [101, { digit: '9', source: 'rfc4733' }],
  ] as const)(
    'detects keys in the audio only without negotiated telephone events (payload type %s)',
    async (digitPayloadType, heard) => {
      const { clock, peer, leg, port, report } = await open();
      leg.command({ do: 'setRemote', remote: { ...peer.remote, digitPayloadType } });
      const tone = new Int16Array(160);
      const payload = new Uint8Array(160);
      for (let packet = 0; packet < 20; packet++) {
        if (packet < 5) fillKeyTone('5', 8000, packet * 160, tone);
        else tone.fill(0);
        encodeG711('PCMU', tone, payload, 0);
        peer.send(port, 0, payload, { timestamp: packet * 160 });
      }
      // The end of a press of another key, as a telephone event; it arrives last.
      peer.send(port, 101, Uint8Array.of(9, 0x8a, 0x03, 0x20), { timestamp: 21 * 160 });
      const digits = () => report().flatMap((event) => (event.type === 'digit' ? [event] : []));
      await expect.poll(() => digits().length).toBeGreaterThan(0);
      await clock.advance(100);
      expect(digits()).toEqual([expect.objectContaining(heard)]);
    },
  );

  it('takes its own tones, which the line returns, for no keys of the peer', async () => {
    const { clock, peer, leg, port, report } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, digitPayloadType: null } });
    const payload = new Uint8Array(160);
    let sent = 0;
    const hears = async (key: string) => {
      const tone = new Int16Array(160);
      for (let packet = 0; packet < 12; packet++) {
        if (packet < 5) fillKeyTone(key, 8000, packet * 160, tone);
        else tone.fill(0);
        encodeG711('PCMU', tone, payload, 0);
        peer.send(port, 0, payload, { timestamp: 160 * sent++ });
      }
      await clock.advance(20);
      await expect.poll(() => report().filter(({ type }) => type === 'connected').length).toBe(1);
    };
    const digits = () => report().flatMap((event) => (event.type === 'digit' ? [event.digit] : []));
    leg.command({ do: 'sendDigits', digits: '5' });
    await clock.advance(200);
    await hears('5');
    await clock.advance(600);
    await hears('7');
    await expect.poll(digits).toEqual(['7']);
  });

  it('sends nothing to port 0', async () => {
    const { clock, leg, report } = await open();
    leg.command({
      do: 'setRemote',
      remote: {
        address: '127.0.0.1',
        port: 0,
        codec: 'PCMU',
        payloadType: 0,
        digitPayloadType: null,
        sending: true,
      },
    });
    await clock.advance(200);
    leg.command({ do: 'close' });
    expect(report().at(-1)).toMatchObject({ type: 'closed', reason: 'local', stats: { packetsSent: 0 } });
  });

  it('survives any datagrams sent to its port', async () => {
    const { clock, peer, port, report } = await open();
    for (let n = 0; n < 200; n++)
      peer.send(
        port,
        n % 128,
        Uint8Array.from({ length: (n * 37) % 1700 }, (_, at) => at * n),
      );
    await clock.advance(500);
    peer.send(port, 0, new Uint8Array(160));
    await expect.poll(() => report().some((event) => event.type === 'connected')).toBe(true);
    expect(report().some((event) => event.type === 'closed')).toBe(false);
  });

  it('reports every 5 s what it sent and received, and learns the round trip from the answer', async () => {
    const { clock, peer, leg, port, report } = await open();
    const far = await bindRtpSockets('127.0.0.1', new PortPool(23_100, 23_139));
    closers.push(
      () => void far.media.close(),
      () => void far.reports.close(),
    );
    leg.command({ do: 'setRemote', remote: { ...peer.remote, port: far.port } });
    const first = once(far.reports, 'message');
    await clock.advance(5_000);
    const [datagram] = (await first) as [Buffer];
    const ours = parseRtcp(datagram);
    expect(ours?.sentAt).not.toBeNull();
    // The answer spends 80 ms on the wire; the far end held the report for the rest of the time.
    const delayMs = 80;
    const lain = shortTime(clock.wallTime()) - (ours?.sentAt ?? 0);
    await clock.advance(delayMs);
    const ssrc = datagram.readUInt32BE(4);
    const block = {
      ssrc,
      fractionLost: 0,
      packetsLost: 0,
      highestSequence: 1,
      jitter: 0,
      lastReport: ours?.sentAt ?? 0,
      sinceLastReport: lain,
    };
    far.media.send(writeRtcp({ ssrc: 5, sent: null, reception: block }, 'far'), port, '127.0.0.1');
    // Media sent after the report on the same socket: once it has arrived, so has the report.
    const audio = new Uint8Array(RTP_HEADER_BYTES + 160);
    writeRtpHeader(audio, { marker: true, payloadType: 0, sequence: 1, timestamp: 0, ssrc: 5 });
    far.media.send(audio, port, '127.0.0.1');
    await expect.poll(() => report().some((event) => event.type === 'connected')).toBe(true);
    leg.command({ do: 'close' });
    const closed = report().at(-1);
    if (closed?.type !== 'closed') throw new Error('not closed');
    expect(closed.stats.roundTripMs).toBeCloseTo(delayMs, 0);
    expect(closed.stats.mos).toBeGreaterThan(4);
  });

  it('sends RTCP multiplexed with the media when negotiated, and ignores RTCP from other addresses', async () => {
    const { clock, leg, report, port } = await open();
    const [far, unrelated] = [
      await bindRtpSockets('127.0.0.1', new PortPool(23_100, 23_139)),
      await bindRtpSockets('127.0.0.2', new PortPool(23_100, 23_139)),
    ];
    closers.push(() => {
      for (const socket of [far.media, far.reports, unrelated.media, unrelated.reports]) socket.close();
    });
    const codec = { codec: 'PCMU', payloadType: 0, digitPayloadType: null, sending: true } as const;
    leg.command({
      do: 'setRemote',
      remote: { address: '127.0.0.1', port: far.port, ...codec, isRtcpMuxed: true },
    });
    const got: Buffer[] = [];
    far.media.on('message', (datagram) => {
      if (isRtcp(datagram)) got.push(datagram);
    });
    await clock.advance(5_000);
    await expect.poll(() => got.length).toBe(1);
    const block = {
      ssrc: got[0]?.readUInt32BE(4) ?? 0,
      fractionLost: 0,
      packetsLost: 0,
      highestSequence: 1,
      jitter: 0,
      lastReport: 1,
      sinceLastReport: 0,
    };
    unrelated.media.send(writeRtcp({ ssrc: 5, sent: null, reception: block }, 'stranger'), port, '127.0.0.1');
    const audio = new Uint8Array(RTP_HEADER_BYTES + 160);
    writeRtpHeader(audio, { marker: true, payloadType: 0, sequence: 1, timestamp: 0, ssrc: 5 });
    far.media.send(audio, port, '127.0.0.1');
    await expect.poll(() => report().some((event) => event.type === 'connected')).toBe(true);
    leg.command({ do: 'close' });
    expect(report().at(-1)).toMatchObject({ type: 'closed', stats: { roundTripMs: null } });
  });

  it('releases its port once, after the socket is closed', async () => {
    const { leg, report, ports } = await open();
    expect(ports.freePorts).toBe(4);
    leg.command({ do: 'close' });
    leg.command({ do: 'close' });
    await leg.close();
    await expect.poll(() => ports.freePorts).toBe(5);
    expect(report().filter((event) => event.type === 'closed')).toHaveLength(1);
  });
});
