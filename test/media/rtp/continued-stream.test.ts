import { afterEach, describe, expect, it } from 'vitest';
import type { RestOfSent } from '#media/leg/leg.ts';
import type { RtpLegOptions } from '#media/leg/leg-factory.ts';
import type { SrtpKeys } from '#media/leg/rtp-remote.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { openManualSession } from './manual-session.ts';

const PACKET_TIMESTAMPS = 160;
const VOICE = { do: 'play', replyId: 'r', pieceId: 0, last: true } as const;

/** Two legs of the same peer: the second goes on where the first ends. */
describe('an RTP stream that another leg goes on with', () => {
  const closers: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function open(over: Partial<Pick<RtpLegOptions, 'awaitsStream' | 'recording'>> = {}) {
    const session = await openManualSession('PCMU', undefined, over);
    closers.push(session.close);
    return session;
  }

  /** A leg that has sent for 100 ms, and one that waits to send to the same peer. */
  async function openBoth() {
    const first = await open({ recording: { firstSegment: 0 } });
    const next = await open({ awaitsStream: true });
    next.leg.command({ do: 'setRemote', remote: first.peer.remote });
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 5) {
        await Promise.all([first.clock.advance(5), next.clock.advance(5)]);
        // The order at the peer is that of the legs' clocks.
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    await pass(100);
    const release = () => {
      first.leg.command({ do: 'releaseStream' });
      const released = first.report().find((event) => event.type === 'stream.released');
      return released?.rest as RestOfSent;
    };
    return { first, next, pass, release, heard: () => first.peer.heard };
  }

  const stepsOf = (heard: readonly { readonly sequence: number; readonly timestamp: number }[]) =>
    heard.slice(1).map(({ sequence, timestamp }, index) => ({
      sequence: (sequence - (heard[index]?.sequence ?? 0)) & 0xffff,
      timestamp: (timestamp - (heard[index]?.timestamp ?? 0)) >>> 0,
    }));
  const ONE_PACKET = { sequence: 1, timestamp: PACKET_TIMESTAMPS };

  it('is one stream to the far end: source, sequence and timestamps go on, and no packet comes twice', async () => {
    const { next, pass, release, heard } = await openBoth();
    next.leg.command({ do: 'continueStream', rest: release() });
    await pass(300);
    await expect.poll(() => heard().length).toBeGreaterThan(16);
    expect(new Set(heard().map(({ ssrc }) => ssrc)).size).toBe(1);
    expect(stepsOf(heard())).toEqual(Array.from({ length: heard().length - 1 }, () => ONE_PACKET));
    // A marker would say that a pause was before it (RFC 3551 §4.1).
    expect(heard().filter(({ marker }) => marker)).toHaveLength(1);
    // 400 ms hold 20 packets of both legs together.
    expect(heard().length).toBeLessThanOrEqual(21);
  });

  it('is one source in the reports of both legs, with one canonical name (RFC 3550 §6.5.1)', async () => {
    const { first, next, release } = await openBoth();
    const remote = { ...first.peer.remote, isRtcpMuxed: true };
    for (const { leg } of [first, next]) leg.command({ do: 'setRemote', remote });
    for (const { clock } of [first, next]) await clock.advance(5_000);
    const { reports } = first.peer;
    await expect.poll(() => reports.length).toBeGreaterThan(0);
    const rest = release();
    next.leg.command({ do: 'continueStream', rest });
    for (const { clock } of [first, next]) await clock.advance(5_100);
    // The first leg sends one or more reports, at random intervals. The count of packets goes on as well.
    const ofNext = () => reports.find((report) => report.readUInt32BE(20) > rest.packets);
    await expect.poll(ofNext).toBeDefined();
    const nameIn = (report: Buffer) => /[\da-f]+@parley/.exec(report.toString('latin1'))?.[0];
    expect(nameIn(reports[0] as Buffer)).toBeDefined();
    expect(nameIn(ofNext() as Buffer)).toBe(nameIn(reports[0] as Buffer));
    expect(ofNext()?.readUInt32BE(4)).toBe(reports[0]?.readUInt32BE(4));
  });

  it('is sent for as long as a leg that is left lingers, and ends there without another command', async () => {
    const { clock, leg, peer, report } = await open();
    await clock.advance(100);
    leg.command({ do: 'close', keepsDialog: true, lingerMs: 300 });
    await clock.advance(290);
    expect(report().some(({ type }) => type === 'closed')).toBe(false);
    await expect.poll(() => peer.heard.length).toBeGreaterThan(18);
    await clock.advance(10);
    expect(report().at(-1)).toMatchObject({ type: 'closed', reason: 'local' });
  });

  it('is given up by a leg that lingers, which then ends at once', async () => {
    const { first, pass, release } = await openBoth();
    first.leg.command({ do: 'close', keepsDialog: true, lingerMs: 2_000 });
    await pass(100);
    expect(release()).toMatchObject({ ssrc: first.peer.heard[0]?.ssrc });
    await pass(60);
    expect(first.report().at(-1)).toMatchObject({ type: 'closed', reason: 'local' });
  });

  it('goes on after a pause if the next leg continues it only when the first one has ended', async () => {
    const { first, next, pass, heard } = await openBoth();
    first.leg.command({ do: 'close', keepsDialog: true, lingerMs: 100 });
    await pass(200);
    const events = first.report();
    expect(events.at(-1)).toMatchObject({ type: 'closed', reason: 'local' });
    const rest = events.find((event) => event.type === 'stream.released')?.rest as RestOfSent;
    next.leg.command({ do: 'continueStream', rest });
    await pass(100);
    // Ten packets of the first leg, in 200 ms.
    await expect.poll(() => heard().length).toBeGreaterThan(12);
    expect(new Set(heard().map(({ ssrc }) => ssrc)).size).toBe(1);
    expect(stepsOf(heard()).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: heard().length - 1 }, () => 1),
    );
    const pauses = stepsOf(heard()).filter(({ timestamp }) => timestamp !== PACKET_TIMESTAMPS);
    expect(pauses).toHaveLength(1);
    expect((pauses[0]?.timestamp ?? 0) % PACKET_TIMESTAMPS).toBe(0);
  });

  it('ends the leg that sent it and its recording with its last packet there', async () => {
    const { first, next, pass, release } = await openBoth();
    const rest = release();
    next.leg.command({ do: 'continueStream', rest });
    await pass(300);
    const events = first.report();
    expect(events.at(-1)).toMatchObject({ type: 'closed', reason: 'local' });
    const tracks = events.filter((event) => event.type === 'recording');
    expect(tracks.map(({ track }) => track)).toEqual(['user', 'agent']);
    for (const { startMs, rateHz, samples } of tracks)
      expect(startMs + (samples.length / rateHz) * 1_000).toBe(rest.dueMs);
  });

  it('goes on with the next number and a later timestamp if the next leg is late', async () => {
    const { next, pass, release, heard } = await openBoth();
    const rest = release();
    await pass(160);
    next.leg.command({ do: 'continueStream', rest });
    await pass(100);
    await expect.poll(() => heard().length).toBeGreaterThan(9);
    const leaps = stepsOf(heard()).filter(({ timestamp }) => timestamp !== PACKET_TIMESTAMPS);
    expect(leaps).toHaveLength(1);
    expect(leaps[0]?.sequence).toBe(1);
    // 160 ms later, less the 40 to 60 ms in which the first leg still sent.
    expect((leaps[0]?.timestamp ?? 0) % PACKET_TIMESTAMPS).toBe(0);
    expect(leaps[0]?.timestamp).toBeGreaterThanOrEqual(5 * PACKET_TIMESTAMPS);
    expect(leaps[0]?.timestamp).toBeLessThanOrEqual(8 * PACKET_TIMESTAMPS);
  });

  it('keeps what the next leg has to say until it may send', async () => {
    const { next, pass, release, heard } = await openBoth();
    next.leg.command({
      ...VOICE,
      samples: new Int16Array(800).fill(8_000),
      marks: Int32Array.of(),
    });
    await pass(100);
    next.leg.command({ do: 'continueStream', rest: release() });
    await pass(300);
    await expect.poll(() => heard().filter(({ peak }) => peak > 1_000).length).toBe(5);
  });

  it('is heard by the next leg before that sends', async () => {
    const { first, next, pass } = await openBoth();
    first.peer.send(next.port, 0, new Uint8Array(160));
    await expect.poll(() => next.report().some(({ type }) => type === 'connected')).toBe(true);
    await pass(100);
    expect(next.report().some((event) => event.type === 'audio' && event.kinds.length > 0)).toBe(true);
  });

  it('is a new one if the former leg sends none, or has timestamps of another clock', async () => {
    for (const rest of [
      null,
      {
        ssrc: 7,
        cname: 'former',
        sequence: 7,
        timestamp: 7,
        clockHz: 48_000,
        packets: 1,
        bytes: 1,
        dueMs: 0,
      },
    ]) {
      const next = await open({ awaitsStream: true });
      await next.clock.advance(100);
      next.leg.command({ do: 'continueStream', rest });
      await next.clock.advance(100);
      await expect.poll(() => next.peer.heard.length).toBe(5);
      expect(next.peer.heard.map(({ ssrc }) => ssrc)).not.toContain(7);
    }
  });

  /** Keys of a leg; the rollover counter begins at zero with each of them. */
  const keys = (): SrtpKeys => ({
    suite: 'AES_CM_128_HMAC_SHA1_80',
    ...{ sendKey: newSrtpKey(), receiveKey: newSrtpKey() },
  });

  it('is not given up if it is encrypted, because the next leg cannot know how often its numbers have wrapped', async () => {
    const { first, next, pass, release, heard } = await openBoth();
    first.leg.command({ do: 'setRemote', remote: { ...first.peer.remote, srtp: keys() } });
    await pass(100);
    const rest = release();
    expect(rest).toBeNull();
    // Nobody can read its packets any more: the peer has the keys of the next leg.
    expect(first.report().at(-1)).toMatchObject({ type: 'closed', reason: 'local' });
    const sources = new Set(heard().map(({ ssrc }) => ssrc));
    const before = heard().length;
    next.leg.command({ do: 'continueStream', rest });
    await pass(100);
    await expect.poll(() => heard().length).toBe(before + 5);
    expect(
      heard()
        .slice(before)
        .filter(({ ssrc }) => sources.has(ssrc)),
    ).toEqual([]);
  });

  it('is not gone on with by a leg that encrypts', async () => {
    const { first, next, pass, release, heard } = await openBoth();
    next.leg.command({ do: 'setRemote', remote: { ...first.peer.remote, srtp: keys() } });
    const rest = release();
    next.leg.command({ do: 'continueStream', rest });
    await pass(200);
    await expect.poll(() => heard().length).toBeGreaterThan(10);
    expect(new Set(heard().map(({ ssrc }) => ssrc)).size).toBe(2);
  });

  it('cannot be released by a leg on hold, which sends none', async () => {
    const { clock, leg, peer, report } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, sending: false } });
    await clock.advance(100);
    leg.command({ do: 'releaseStream' });
    expect(report().find(({ type }) => type === 'stream.released')).toMatchObject({ rest: null });
  });
});
