import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { encodeG711 } from '#media/dsp/g711.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { header } from '#telephony/embedded/message.ts';
import { answerInboundCall, type InboundCall } from '#telephony/inbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { type Link, openLink } from '#test/fakes/link.ts';
import { openRtpPeer } from '#test/fakes/rtp-peer.ts';
import { SilentMedia } from '#test/fakes/silent-media.ts';
import { runSippSteps, type SippResult } from '#test/fakes/sipp.ts';
import { tone } from '#test/fakes/tone.ts';
import { openRawCaller } from '../embedded/raw-caller.ts';
import { audioAt, expectRequest, expectResponse, send } from '../sipp-steps.ts';
import { connectWorker, describeServers, expectDialogs, type SuiteServer } from './servers.ts';

/** A-law silence as encoded on the wire. */
const ALAW_SILENCE = 0xd5;
const PATIENCE = { timeout: 30_000 };
const logger = createLogger({ level: 'silent', name: 'test' });

describeServers(['sipp'], 'what a caller asks for inside a call', (start, beyond) => {
  let server: SuiteServer;
  /** Link between the server and its worker. */
  let link: Link;
  let worker: Signalling;
  let silent: SilentMedia;
  let media: LegFactory;
  let calls: InboundCall[];

  beforeEach(async () => {
    calls = [];
    silent = new SilentMedia(systemClock);
    media = silent;
    server = await start();
    link = await openLink(server.appPort);
    worker = await connectWorker(server, { port: link.port });
    worker.onInvite((invite) => {
      const deps = {
        clock: systemClock,
        media,
        sipHost: '127.0.0.1',
        sipPublicIp: undefined,
        random: Math.random,
      };
      void answerInboundCall(deps, invite, Promise.resolve({ recordAudio: false })).then((call) =>
        calls.push(call),
      );
    });
  });

  afterEach(async () => {
    worker.close();
    await link.close();
    await server.close();
  });

  const expectSuccess = (result: SippResult) => expect(result.code, result.screen).toBe(0);
  const begun = [
    send('INVITE', { cseq: 1, sdp: audioAt(4_000) }),
    expectResponse(200),
    send('ACK', { cseq: 1 }),
  ];
  const ended = (cseq: number) => [send('BYE', { cseq }), expectResponse(200)];

  it('a REFER is declined (RFC 3515 §2.4.2), and the call continues', async () => {
    const refer = send('REFER', {
      cseq: 2,
      lines: ['Refer-To: <sip:somebody@127.0.0.1:9>', 'Referred-By: <sip:sipp@127.0.0.1>'],
    });
    const info = send('INFO', { cseq: 3 });
    expectSuccess(
      await runSippSteps(
        [...begun, refer, expectResponse(603), info, expectResponse(200), ...ended(4)],
        server.sipPort,
      ),
    );
  });

  it.each(['MESSAGE', 'PUBLISH'])(
    'a %s is rejected with the supported methods (RFC 3261 §21.4.6), and the call continues',
    async (method) => {
      const taken = ['[Aa]llow: INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, PRACK, NOTIFY'];
      const unread = [send(method, { cseq: 2, lines: ['Event: presence'] }), expectResponse(405, taken)];
      const options = [send('OPTIONS', { cseq: 3 }), expectResponse(200)];
      expectSuccess(await runSippSteps([...begun, ...unread, ...options, ...ended(4)], server.sipPort));
    },
  );

  beyond(
    'a change asked for while another one has no answer yet is for later (RFC 3261 §14.2), and changes ' +
      'nothing',
    async () => {
      const caller = await openRawCaller(server.sipPort);
      const sdp = (port: number) => audioAt(port).replaceAll('\n', '\r\n');
      const responseTo = (cseq: string) =>
        caller.next(
          ({ start, headers }) =>
            start.kind === 'response' && start.status >= 200 && header({ headers }, 'cseq') === cseq,
          PATIENCE.timeout,
        );
      try {
        caller.request({ body: sdp(4_000) });
        const toTag = /tag=(.+)/.exec(header(await responseTo('1 INVITE'), 'to') ?? '')?.[1] ?? '';
        caller.request({ method: 'ACK', toTag });
        await expect.poll(() => calls.length, PATIENCE).toBe(1);
        link.hold();
        caller.request({ toTag, cseq: 2, body: sdp(4_100) });
        caller.request({ method: 'UPDATE', toTag, cseq: 3, body: sdp(4_200) });
        caller.request({ toTag, cseq: 4, body: sdp(4_300), branch: 'z9hG4bK-second' });
        for (const cseq of ['3 UPDATE', '4 INVITE']) {
          const later = await responseTo(cseq);
          expect([later.start, header(later, 'retry-after')]).toMatchObject([{ status: 500 }, '2']);
        }
        caller.request({ method: 'ACK', toTag, cseq: 4, branch: 'z9hG4bK-second' });
        link.release();
        expect(await responseTo('2 INVITE')).toMatchObject({ start: { status: 200 } });
        caller.request({ method: 'ACK', toTag, cseq: 2 });
        caller.request({ method: 'UPDATE', toTag, cseq: 5, body: sdp(4_400) });
        expect(await responseTo('5 UPDATE')).toMatchObject({ start: { status: 200 } });
        expect(silent.legs[0]?.remotes.map(({ port }) => port)).toEqual([4_000, 4_100, 4_400]);
      } finally {
        caller.close();
      }
    },
  );

  it('a re-INVITE with another codec and address redirects audio in both directions (RFC 3264 §8)', async () => {
    const thread = await startMediaThread({
      rtpPortMin: 23_200,
      rtpPortMax: 23_219,
      iceServers: [],
      clock: systemClock,
      logger,
    });
    media = thread;
    const [first, second] = [await openRtpPeer(), await openRtpPeer()];
    const change = [
      send('INVITE', { cseq: 2, sdp: audioAt(second.port, '8 PCMA/8000') }),
      expectResponse(200, ['m=audio [0-9]+ RTP/AVP 8', 'a=rtpmap:8 PCMA/8000']),
      send('ACK', { cseq: 2 }),
    ];
    const begin = [
      send('INVITE', { cseq: 1, sdp: audioAt(first.port) }),
      expectResponse(200, ['m=audio [0-9]+ RTP/AVP 0']),
      send('ACK', { cseq: 1 }),
    ];
    const sipp = runSippSteps([...begin, ...change, expectRequest('BYE')], server.sipPort);
    try {
      await expect.poll(() => calls.length, PATIENCE).toBe(1);
      const { leg, dialog } = answered(calls[0]);
      const log = new LegLog(leg);
      leg.send({
        do: 'play',
        replyId: 'long',
        pieceId: 1,
        samples: tone(440, 20_000),
        marks: new Int32Array(0),
        last: true,
      });
      const loud = () =>
        second.heard.filter(
          (packet) => packet.payloadType === 8 && packet.payload.some((byte) => byte !== ALAW_SILENCE),
        ).length;
      await expect.poll(loud, PATIENCE).toBeGreaterThan(10);
      const toFirst = first.heard.length;
      await expect.poll(loud, PATIENCE).toBeGreaterThan(25);
      expect(first.heard.length).toBe(toFirst);
      const voice = new Uint8Array(160);
      encodeG711('PCMA', tone(700, 20), voice, 0);
      const ourPort = Number(/^m=audio (\d+)/m.exec(dialog.localSdp)?.[1]);
      let timestamp = 0;
      const heard = () => log.all('audio').reduce((most, { samples }) => Math.max(most, ...samples), 0);
      await expect
        .poll(() => {
          second.send(ourPort, 8, voice, { timestamp });
          timestamp += voice.length;
          return heard();
        }, PATIENCE)
        .toBeGreaterThan(1_000);
      leg.send({ do: 'close' });
      expectSuccess(await sipp);
    } finally {
      first.close();
      second.close();
      await thread.close();
    }
  });

  it('an UPDATE redirects audio (RFC 3311); an unsupported offer is rejected and changes nothing', async () => {
    const moved = [
      send('UPDATE', { cseq: 2, sdp: audioAt(4_100, '8 PCMA/8000') }),
      expectResponse(200, ['RTP/AVP 8']),
    ];
    const refused = [send('UPDATE', { cseq: 3, sdp: audioAt(4_200, '18 G729/8000') }), expectResponse(488)];
    const empty = [send('UPDATE', { cseq: 4 }), expectResponse(200, ['Content-Length: 0'])];
    expectSuccess(
      await runSippSteps([...begun, ...moved, ...refused, ...empty, ...ended(5)], server.sipPort),
    );
    expect(silent.legs[0]?.remotes.map(({ port, codec }) => [port, codec])).toEqual([
      [4_000, 'PCMU'],
      [4_100, 'PCMA'],
    ]);
  });

  it('RFC 4028 an interval is agreed and refreshed by UPDATE and re-INVITE; a shorter one is rejected', async () => {
    const asks = (seconds: number) => [
      'Supported: timer',
      `Session-Expires: ${seconds};refresher=uac`,
      'Min-SE: 90',
      'Allow: INVITE, BYE, UPDATE',
    ];
    const agreed = ['Session-Expires: *120;refresher=uac'];
    const sdp = audioAt(4_000);
    const begin = [
      send('INVITE', { cseq: 1, sdp, lines: asks(120) }),
      expectResponse(200, agreed),
      send('ACK', { cseq: 1 }),
    ];
    const byUpdate = [send('UPDATE', { cseq: 2, lines: asks(120) }), expectResponse(200, agreed)];
    const byInvite = [
      send('INVITE', { cseq: 3, sdp, lines: asks(120) }),
      expectResponse(200, agreed),
      send('ACK', { cseq: 3 }),
    ];
    const tooShort = [send('UPDATE', { cseq: 4, lines: asks(60) }), expectResponse(422, ['Min-SE: *90'])];
    expectSuccess(
      await runSippSteps([...begin, ...byUpdate, ...byInvite, ...tooShort, ...ended(5)], server.sipPort),
    );
    await expectDialogs(server, 0);
  });

  it('a call without an offer gets ours, and the ACK answers it (RFC 3261 §13.2.1)', async () => {
    const begin = [
      send('INVITE', { cseq: 1 }),
      expectResponse(200, ['m=audio [0-9]+ RTP/AVP', 'a=sendrecv']),
      send('ACK', { cseq: 1, sdp: audioAt(4_300, '8 PCMA/8000') }),
    ];
    // The response to an INFO proves that the ACK before it was processed; a BYE would overtake it.
    const info = [send('INFO', { cseq: 2 }), expectResponse(200)];
    expectSuccess(await runSippSteps([...begin, ...info, ...ended(3)], server.sipPort));
    expect(silent.legs[0]?.remotes.map(({ port, codec }) => [port, codec])).toEqual([[4_300, 'PCMA']]);
  });
});

function answered(call: InboundCall | undefined): Extract<InboundCall, { outcome: 'answered' }> {
  if (call?.outcome !== 'answered') throw new Error(call?.outcome);
  return call;
}
