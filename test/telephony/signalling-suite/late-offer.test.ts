import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { Leg } from '#media/leg/leg.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { header } from '#telephony/embedded/message.ts';
import { answerInboundCall } from '#telephony/inbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { openRtpPeer, type RtpPeer } from '#test/fakes/rtp-peer.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { openRawCaller, type RawCaller } from '../embedded/raw-caller.ts';
import { connectWorker, describeServers, expectDialogs, type SuiteServer } from './servers.ts';

const PATIENCE = { timeout: 15_000 };

describeServers([], 'calls that come without an offer (RFC 3261 §13.2.1, §14.2)', (start) => {
  let media: Awaited<ReturnType<typeof startMediaThread>>;
  let server: SuiteServer;
  let worker: Signalling;
  let caller: RawCaller;
  let peer: RtpPeer;
  let legs: Leg[];

  beforeEach(async () => {
    const logger = createLogger({ level: 'silent', name: 'test' });
    legs = [];
    media = await startMediaThread({
      rtpPortMin: 23_100,
      rtpPortMax: 23_139,
      iceServers: [],
      clock: systemClock,
      logger,
    });
    server = await start();
    worker = await connectWorker(server);
    const deps = {
      clock: systemClock,
      media,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
    };
    worker.onInvite((invite) => {
      void answerInboundCall(deps, invite, Promise.resolve({ recordAudio: false })).then((call) => {
        if (call.outcome === 'answered') legs.push(call.leg);
      });
    });
    caller = await openRawCaller(server.sipPort);
    peer = await openRtpPeer();
  });

  afterEach(async () => {
    peer.close();
    caller.close();
    worker.close();
    await server.close();
    await media.close();
  });

  const description = (port: number) =>
    `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${port} RTP/AVP 0 ` +
    '101\r\na=rtpmap:101 telephone-event/8000\r\n';

  /** Sends an INVITE without a description; resolves with the offer of its 200 and our tag. */
  async function invite(
    cseq: number,
    toTag: string | null = null,
  ): Promise<{ readonly offer: string; readonly toTag: string }> {
    caller.request({ cseq, toTag });
    const ok = await caller.next(({ start, headers }) => {
      const isOk = start.kind === 'response' && start.status === 200;
      return isOk && header({ headers }, 'cseq') === `${cseq} INVITE`;
    }, PATIENCE.timeout);
    return { offer: ok.body, toTag: /tag=([^;\s]+)/.exec(header(ok, 'to') ?? '')?.[1] ?? '' };
  }

  const portOf = (sdp: string) => Number(/^m=audio (\d+)/m.exec(sdp)?.[1]);

  async function expectAudioBothWays(leg: Leg, log: LegLog, ourPort: number, replyId: string): Promise<void> {
    const [before, from] = [peer.heard.length, log.all('audio').length];
    void peer.speak(ourPort, tone(700, 10_000));
    leg.send({
      do: 'play',
      replyId,
      pieceId: 1,
      samples: tone(440, 500),
      marks: new Int32Array(0),
      last: true,
    });
    await expect
      .poll(
        () => peer.heard.slice(before).some((packet) => packet.payloadType === 0 && packet.peak > 1_000),
        PATIENCE,
      )
      .toBe(true);
    const heard = () =>
      Int16Array.from(
        log
          .all('audio')
          .slice(from)
          .flatMap((event) => [...event.samples]),
      );
    await expect.poll(() => power(heard(), 700), PATIENCE).toBeGreaterThan(100_000);
    peer.stop();
  }

  it('our offer goes out in the 200, the ACK carries the answer, and audio flows both ways', async () => {
    const { offer, toTag } = await invite(1);
    expect(offer).toMatch(/^m=audio \d+ RTP\/AVP .*\b0\b.* 101/m);
    expect(offer).toContain('a=sendrecv');
    caller.request({ method: 'ACK', cseq: 1, toTag, body: description(peer.port) });
    await expect.poll(() => legs.length, PATIENCE).toBe(1);
    const log = new LegLog(legs[0]!);
    await expectAudioBothWays(legs[0]!, log, portOf(offer), 'first');

    // A re-INVITE without an offer gets our offer again; its answer names another port, and the old port gets
    // no more audio.
    const moved = await openRtpPeer();
    peer.close();
    peer = moved;
    const again = await invite(2, toTag);
    expect(again.offer).toContain('a=sendrecv');
    expect(portOf(again.offer)).toBe(portOf(offer));
    const version = (sdp: string) => Number(/^o=\S+ \d+ (\d+)/m.exec(sdp)?.[1]);
    expect(version(again.offer)).toBeGreaterThan(version(offer));
    caller.request({ method: 'ACK', cseq: 2, toTag, body: description(moved.port) });
    await expectAudioBothWays(legs[0]!, log, portOf(offer), 'second');

    caller.request({ method: 'BYE', cseq: 3, toTag });
    expect((await log.next('closed')).reason).toBe('remote');
  });

  it.each([
    ['nothing', ''],
    [
      'unsupported audio',
      'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 18\r\n',
    ],
  ])('an ACK that answers with %s ends the call with a BYE', async (_, body) => {
    const { toTag } = await invite(1);
    caller.request({ method: 'ACK', cseq: 1, toTag, body });
    caller.answer(await caller.incoming('BYE', PATIENCE.timeout), 200);
    await expectDialogs(server, 0);
  });
});
