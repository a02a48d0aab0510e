import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { Leg } from '#media/leg/leg.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { header } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { failOverSipCall } from '#telephony/failover-call.ts';
import { answerInboundCall } from '#telephony/inbound-call.ts';
import { dialOutboundCall } from '#telephony/outbound-call.ts';
import { createMediaRelay } from '#telephony/relay/media-relay.ts';
import { createNgClient } from '#telephony/relay/ng-client.ts';
import { relayedSignalling } from '#telephony/relay/relayed-signalling.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { answerPhone, dial, type Phone } from '#test/fakes/baresip.ts';
import { makeCertificate, type TestCertificate } from '#test/fakes/certificate.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { openRtpPeer, type RtpPeer } from '#test/fakes/rtp-peer.ts';
import { type Rtpengine, startRtpengine } from '#test/fakes/rtpengine.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { startSippPhone } from '#test/fakes/sipp-phone.ts';
import { tone } from '#test/fakes/tone.ts';
import { freeUdpPort } from '#test/free-port.ts';
import { describeWhereThere } from '#test/needs.ts';
import { answeredCall, expectCallBothWays, expectPhoneHeard, PHONE_HZ } from '../call-both-ways.ts';
import { openRawCaller, type RawCaller } from '../embedded/raw-caller.ts';

const PATIENCE = { timeout: 30_000 };

describeWhereThere(['rtpengine', 'baresip', 'openssl', 'sipp'])(
  'phone calls whose audio goes through rtpengine',
  { timeout: 60_000 },
  () => {
    const logger = createLogger({ level: 'silent', name: 'test' });
    let ours: TestCertificate;
    let theirs: TestCertificate;
    let media: Awaited<ReturnType<typeof startMediaThread>>;
    let rtpengine: Rtpengine;
    let server: EmbeddedSignalling;
    let workers: Signalling[];
    let phone: Phone | null;
    let caller: RawCaller;
    let peer: RtpPeer;

    beforeAll(async () => {
      [ours, theirs] = [makeCertificate(), makeCertificate()];
      media = await openMedia(23_240);
      rtpengine = await startRtpengine();
    });
    afterAll(async () => {
      await rtpengine?.close();
      await media.close();
      ours.remove();
      theirs.remove();
    });

    beforeEach(async () => {
      phone = null;
      workers = [];
      server = await startTestSignalling({
        tls: { port: 0, certificate: ours.certificate, key: ours.key, authorities: theirs.certificate },
      });
      caller = await openRawCaller(server.sipPort);
      peer = await openRtpPeer();
    });
    afterEach(async () => {
      await phone?.close();
      peer.close();
      caller.close();
      for (const worker of workers) worker.close();
      await server.close();
    });

    const openMedia = (rtpPortMin: number) =>
      startMediaThread({
        rtpPortMin,
        rtpPortMax: rtpPortMin + 19,
        iceServers: [],
        clock: systemClock,
        logger,
      });
    const deps = () => ({
      clock: systemClock,
      media,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
    });
    const security = () => ({ certificate: theirs.file, authority: ours.file });
    const request = (toUri: string) => ({
      toUri,
      fromNumber: '+15550100',
      headers: { 'X-Service-Session-Id': 's1' },
      credentials: null,
      recording: null,
      ringMs: 20_000,
    });

    /** A worker whose calls use these relays; by default only ours. */
    async function openWorker(tag = 'worker-1', relays = [rtpengine.address]): Promise<Signalling> {
      const signalling = await connectTestWorker(server, tag);
      const clients = relays.map((address) =>
        createNgClient(address, { clock: systemClock, cookie: randomUUID }),
      );
      const relay = createMediaRelay({
        relays: clients,
        interfaces: rtpengine.interfaces,
        clock: systemClock,
        logger,
        callId: randomUUID,
      });
      const worker = relayedSignalling(signalling, relay);
      workers.push(worker);
      return worker;
    }

    async function dialled(worker: Signalling, toUri: string) {
      const call = await dialOutboundCall(
        { ...deps(), signalling: worker },
        request(toUri),
        new AbortController().signal,
      );
      if (call.outcome !== 'answered')
        throw new Error(`${call.outcome}: ${'error' in call ? String(call.error) : ''}`);
      return call;
    }

    /** Checks audio and keys in both directions, and that no state remains. */
    async function expectWholeCall(its: Phone, leg: Leg): Promise<void> {
      await expectCallBothWays(its, leg);
      await expectNothingLeft();
    }

    async function expectNothingLeft(): Promise<void> {
      await expect.poll(() => server.metrics().dialogs, PATIENCE).toBe(0);
      await expect.poll(() => rtpengine.calls(), PATIENCE).toBe(0);
    }

    it('inbound: worker and phone each get the relay’s address on their own side', async () => {
      const call = answeredCall(await openWorker(), deps());
      phone = await dial(`sip:+15550100@127.0.0.1:${server.sipPort}`, tone(PHONE_HZ, 5_000));
      const { leg, offer, dialog } = await call;
      expect(addressOf(offer)).toBe(rtpengine.addresses.worker);
      expect(addressOf(dialog.localSdp)).toBe(rtpengine.addresses.network);
      expect(originOf(dialog.localSdp)).toBe(rtpengine.addresses.network);
      await expectWholeCall(phone, leg);
    });

    it('outbound: worker and phone each get the relay’s address on their own side', async () => {
      const worker = await openWorker();
      phone = await answerPhone(tone(PHONE_HZ, 20_000));
      const { leg, dialog } = await dialled(worker, phone.uri);
      expect(addressOf(dialog.localSdp)).toBe(rtpengine.addresses.network);
      expect(addressOf(dialog.remoteSdp)).toBe(rtpengine.addresses.worker);
      await expectWholeCall(phone, leg);
    });

    it.each(['in', 'out'] as const)(
      '%s, over TLS: audio stays encrypted on both sides of the relay',
      async (direction) => {
        const worker = await openWorker();
        if (direction === 'in') {
          const call = answeredCall(worker, deps());
          phone = await dial(
            `sip:+15550100@127.0.0.1:${server.tlsPort};transport=tls`,
            tone(PHONE_HZ, 5_000),
            { security: security() },
          );
          const { leg, offer } = await call;
          expect(offer).toMatch(/^m=audio \d+ RTP\/SAVP /m);
          await expectWholeCall(phone, leg);
          return;
        }
        phone = await answerPhone(tone(PHONE_HZ, 20_000), { security: security() });
        const { leg, dialog } = await dialled(worker, phone.uri);
        expect(dialog.remoteSdp).toMatch(/^m=audio \d+ RTP\/SAVP /m);
        // Of all suites rtpengine supports, only those we support are offered; one of the others is no
        // encryption at all.
        expect(
          dialog.localSdp
            .match(/(?<=^a=crypto:\d+ )\S+/gm)
            ?.every((suite) => /^AES_CM_128_HMAC_SHA1_(80|32)$/.test(suite)),
        ).toBe(true);
        expect(dialog.localSdp).not.toContain('fingerprint');
        await expectWholeCall(phone, leg);
      },
    );

    it('early media passes through the relay, and an answer that changes nothing keeps its port', async () => {
      const worker = await openWorker();
      const trunk = await startSippPhone({ does: 'earlyMedia', ringMs: 500 });
      const early: string[] = [];
      const invite = worker.dial({
        ...request(`sip:+4930123456@${trunk.address}`),
        sdpOffer: sdp(peer.port),
      });
      invite.onEarlyMedia((description) => early.push(description));
      const dialog = await invite.answered;
      expect(early.map(addressOf)).toEqual([rtpengine.addresses.worker]);
      expect(portOf(dialog.facts.remoteSdp)).toBe(portOf(early[0]));
      await dialog.hangUp();
      const { code, screen } = await trunk.ended;
      expect(code, screen).toBe(0);
      await expectNothingLeft();
    });

    it('an unencrypted answer to an encrypted offer reaches the worker as plain RTP, not hidden', async () => {
      const worker = await openWorker();
      const trunk = await startSippPhone({ does: 'answer' });
      const invite = worker.dial({
        ...request(`sip:+4930123456@${trunk.address}`),
        sdpOffer: PROTECTED_OFFER,
      });
      const dialog = await invite.answered;
      expect(dialog.facts.remoteSdp).toMatch(/^m=audio \d+ RTP\/AVP /m);
      await dialog.hangUp();
      await trunk.ended;
      await expectNothingLeft();
    });

    it('a call without an offer gets the relay’s offer, and the answer in the ACK starts audio', async () => {
      const call = answeredCall(await openWorker(), deps());
      const ok = await invited('');
      expect(addressOf(ok.body)).toBe(rtpengine.addresses.network);
      caller.request({ method: 'ACK', toTag: ok.tag, body: sdp(peer.port) });
      const { leg } = await call;
      const log = new LegLog(leg);
      speak(peer, ok.body);
      await expectPhoneHeard(leg, log);
      await expect.poll(() => peer.heard.some(({ peak }) => peak > 1_000), PATIENCE).toBe(true);
      caller.request({ method: 'BYE', toTag: ok.tag, cseq: 2 });
      await expectNothingLeft();
    });

    it('a re-INVITE with a new address is left to the relay; unsupported audio changes nothing', async () => {
      const call = answeredCall(await openWorker(), deps());
      const ok = await invited(sdp(peer.port));
      caller.request({ method: 'ACK', toTag: ok.tag });
      const { leg } = await call;
      const log = new LegLog(leg);
      caller.request({ toTag: ok.tag, cseq: 2, body: sdp(peer.port, 18) });
      await caller.response(488, PATIENCE.timeout);
      caller.request({ method: 'ACK', toTag: ok.tag, cseq: 2 });
      const moved = await openRtpPeer();
      caller.request({ toTag: ok.tag, cseq: 3, body: sdp(moved.port, 0, 2) });
      const changed = await caller.next(
        ({ start, headers }) =>
          start.kind === 'response' && start.status === 200 && header({ headers }, 'cseq') === '3 INVITE',
        PATIENCE.timeout,
      );
      caller.request({ method: 'ACK', toTag: ok.tag, cseq: 3 });
      speak(moved, changed.body);
      await expectPhoneHeard(leg, log);
      await expect.poll(() => moved.heard.some(({ peak }) => peak > 1_000), PATIENCE).toBe(true);
      moved.close();
      leg.send({ do: 'close' });
      caller.answer(await caller.incoming('BYE', PATIENCE.timeout), 200);
      await expectNothingLeft();
    });

    it('a worker that continues a call after a failover sends it through the relay again', async () => {
      const [first, itsMedia] = [await openWorker(), await openMedia(23_260)];
      const call = answeredCall(first, { ...deps(), media: itsMedia });
      phone = await dial(`sip:+15550100@127.0.0.1:${server.sipPort}`, tone(PHONE_HZ, 20_000));
      const { dialog } = await call;
      const second = await openWorker('worker-2');
      first.close();
      await itsMedia.close();
      const resumed = await failOverSipCall({ ...deps(), signalling: second }, dialog, { recording: null });
      if (resumed.outcome !== 'answered') throw resumed.error;
      expect(portOf(resumed.dialog.localSdp)).not.toBe(portOf(dialog.localSdp));
      const log = new LegLog(resumed.leg);
      await expectPhoneHeard(resumed.leg, log);
      await phone.hangUp();
      expect((await log.next('closed')).reason).toBe('remote');
      // The lost worker's state at the relay expires by itself.
      await expectNothingLeft();
    });

    it('a call that is handed over is one stream at the phone, with silence until the next worker sends', async () => {
      const call = answeredCall(await openWorker(), deps());
      const ok = await invited(sdp(peer.port));
      caller.request({ method: 'ACK', toTag: ok.tag });
      const { leg, dialog } = await call;
      const log = new LegLog(leg);
      const heardMore = async (packets: number) => {
        const before = peer.heard.length;
        await expect.poll(() => peer.heard.length, PATIENCE).toBeGreaterThanOrEqual(before + packets);
      };
      await heardMore(5);
      leg.send({ do: 'close', keepsDialog: true, lingerMs: 20_000 });
      await heardMore(20);
      const moved = failOverSipCall({ ...deps(), signalling: await openWorker('worker-2') }, dialog, {
        recording: null,
        takeStream: async () => {
          leg.send({ do: 'releaseStream' });
          return (await log.next('stream.released')).rest;
        },
      });
      caller.answer(await caller.incoming('INVITE', PATIENCE.timeout), 200, sdp(peer.port, 0, 2));
      const resumed = await moved;
      if (resumed.outcome !== 'answered') throw resumed.error;
      await log.next('closed');
      await heardMore(20);
      const [first, ...later] = peer.heard;
      expect(new Set(later.map(({ ssrc }) => ssrc))).toEqual(new Set([first?.ssrc]));
      expect(later.map(({ sequence }) => (sequence - (first?.sequence ?? 0)) & 0xffff)).toEqual(
        later.map((_, index) => index + 1),
      );
      resumed.leg.send({ do: 'close' });
      caller.answer(await caller.incoming('BYE', PATIENCE.timeout), 200);
      await expectNothingLeft();
    });

    it('an unreachable relay is skipped', async () => {
      const worker = await openWorker('worker-1', [
        { host: '127.0.0.1', port: await freeUdpPort() },
        rtpengine.address,
      ]);
      const call = answeredCall(worker, deps());
      phone = await dial(`sip:+15550100@127.0.0.1:${server.sipPort}`, tone(PHONE_HZ, 20_000));
      await expectWholeCall(phone, (await call).leg);
    });

    it('a call without any relay gets 503, so the carrier retries elsewhere, and no agent is called', async () => {
      const worker = await openWorker('worker-1', [{ host: '127.0.0.1', port: await freeUdpPort() }]);
      const outcome = new Promise((resolve) => {
        worker.onInvite(
          (invite) =>
            void answerInboundCall(deps(), invite, Promise.resolve({ recordAudio: false })).then(resolve),
        );
      });
      caller.request({ body: sdp(peer.port) });
      await caller.response(503, PATIENCE.timeout);
      expect(await outcome).toEqual({ outcome: 'refused', status: 503 });
      expect(caller.responses).not.toContain('180 INVITE');
      const called = await dialOutboundCall(
        { ...deps(), signalling: worker },
        request(`sip:+4930123456@127.0.0.1:${caller.port}`),
        new AbortController().signal,
      );
      expect(called).toMatchObject({ outcome: 'failed', error: { code: 'media_relay_unreachable' } });
    });

    /** Calls with this offer; returns the answer and the tag of our side. */
    async function invited(body: string): Promise<{ readonly body: string; readonly tag: string }> {
      caller.request({ body });
      const ok = await caller.response(200, PATIENCE.timeout);
      return { body: ok.body, tag: /tag=([^;]+)/.exec(header(ok, 'to') ?? '')?.[1] ?? '' };
    }

    /** Sends audio to the relay until it is stopped. */
    function speak(by: RtpPeer, answer: string): void {
      by.farAddress = rtpengine.addresses.network;
      void by.speak(portOf(answer), tone(PHONE_HZ, 20_000));
    }
  },
);

const addressOf = (description: string | null | undefined) => /^c=IN IP4 (\S+)/m.exec(description ?? '')?.[1];
const originOf = (description: string) => /^o=.* IN IP4 (\S+)/m.exec(description)?.[1];
const portOf = (description: string | undefined) => Number(/^m=audio (\d+)/m.exec(description ?? '')?.[1]);

function sdp(port: number, payloadType = 0, version = 1): string {
  return [
    'v=0',
    `o=caller 1 ${version} IN IP4 127.0.0.1`,
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/AVP ${payloadType}`,
    '',
  ].join('\r\n');
}

const PROTECTED_OFFER = sdp(40_000)
  .replace('RTP/AVP', 'RTP/SAVP')
  .concat('a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj\r\n');
