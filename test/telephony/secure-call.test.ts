import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#config/clock.ts';
import { createLogger } from '#config/log.ts';
import type { Leg } from '#media/leg.ts';
import { startMediaThread } from '#media/media-thread.ts';
import { type EmbeddedSignalling, startEmbeddedSignalling } from '#telephony/embedded/server.ts';
import { answerInboundCall } from '#telephony/inbound-call.ts';
import { dialOutboundCall } from '#telephony/outbound-call.ts';
import { connectSignalling, type Signalling } from '#telephony/signalling.ts';
import { answerPhone, dial, type Phone } from '#test/fakes/baresip.ts';
import { makeCertificate, type TestCertificate } from '#test/fakes/certificate.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { describeNeeds } from '#test/needs.ts';

const PATIENCE = { timeout: 30_000 };
const RATE_HZ = 8_000;

describeNeeds(['baresip', 'openssl'])('SIP over TLS and SRTP with keys of the description (RFC 3711, RFC 4568), with a real phone', () => {
  const logger = createLogger({ level: 'silent', name: 'test' });
  let ours: TestCertificate;
  let theirs: TestCertificate;
  let media: Awaited<ReturnType<typeof startMediaThread>>;
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let phone: Phone | null;
  let transports: string[];

  beforeAll(async () => {
    [ours, theirs] = [makeCertificate(), makeCertificate()];
    media = await startMediaThread({ rtpPortMin: 23_200, rtpPortMax: 23_239, iceServers: [], clock: systemClock, logger });
  });
  afterAll(async () => {
    await media.close();
    ours.remove();
    theirs.remove();
  });

  beforeEach(async () => {
    phone = null;
    transports = [];
    server = await startEmbeddedSignalling({
      sipHost: '127.0.0.1',
      sipPort: 0,
      publicIp: undefined,
      tls: { port: 0, certificate: ours.certificate, key: ours.key, authorities: theirs.certificate },
      appHost: '127.0.0.1',
      appPort: 0,
      secret: 'secret',
      clock: systemClock,
      logger,
      admit: async ({ transport }) => {
        transports.push(transport);
        return { action: 'route', data: { tag: 'worker-1' } };
      },
    });
    worker = await connectSignalling({ host: '127.0.0.1', port: server.appPort, secret: 'secret', tag: 'worker-1', logger });
  });
  afterEach(async () => {
    await phone?.close();
    worker.close();
    await server.close();
  });

  const deps = () => ({ clock: systemClock, media, sipHost: '127.0.0.1', sipPublicIp: undefined, random: Math.random });
  const security = () => ({ certificate: theirs.file, authority: ours.file });

  /** The next call that comes in, answered; and what it offered. */
  function answered(): Promise<{ readonly leg: Leg; readonly offer: string }> {
    return new Promise((resolve, reject) => {
      worker.onInvite((invite) => {
        answerInboundCall(deps(), invite, Promise.resolve({ recordAudio: false })).then(
          (call) => (call.outcome === 'answered' ? resolve({ leg: call.leg, offer: invite.sdpOffer ?? '' }) : reject(new Error(call.outcome))),
          reject,
        );
      });
    });
  }

  /** Each side hears the tone of the other, and nothing of its own. */
  async function expectAudioBothWays(leg: Leg, log: LegLog): Promise<void> {
    leg.send({ do: 'play', replyId: 'greeting', pieceId: 1, samples: tone(440, 1_000), marks: new Int32Array(0), last: true });
    const heardByUs = () => Int16Array.from(log.all('audio').flatMap((event) => [...event.samples]));
    await expect.poll(() => power(heardByUs(), 700), PATIENCE).toBeGreaterThan(100_000);
    expect(power(heardByUs(), 440)).toBeLessThan(power(heardByUs(), 700) / 100);
    await log.next('playout.finished');
    await phone?.press('5');
    expect(await log.next('digit')).toMatchObject({ digit: '5', source: 'rfc4733' });
    await phone?.hangUp();
    expect((await log.next('closed')).reason).toBe('remote');
    await expect.poll(() => phone?.heard().length, PATIENCE).toBeGreaterThan(RATE_HZ);
    expect(power(phone?.heard() ?? new Int16Array(0), 440)).toBeGreaterThan(100_000);
    await expect.poll(() => server.metrics().dialogs, PATIENCE).toBe(0);
  }

  it('in: audio and keys both ways, and the phone’s BYE', async () => {
    const call = answered();
    phone = await dial(`sip:+15550100@127.0.0.1:${server.tlsPort};transport=tls`, tone(700, 5_000), { security: security() });
    const { leg, offer } = await call;
    expect(transports).toEqual(['tls']);
    expect(offer).toMatch(/^m=audio \d+ RTP\/SAVP /m);
    await expectAudioBothWays(leg, new LegLog(leg));
  });

  it('out: a URI that asks for TLS is offered SRTP and nothing else, audio and keys both ways', async () => {
    phone = await answerPhone(tone(700, 20_000), { security: security() });
    const request = { toUri: phone.uri, fromNumber: '+15550100', headers: {}, credentials: null, recording: null, ringMs: 20_000 };
    const call = await dialOutboundCall({ ...deps(), signalling: worker }, request, new AbortController().signal);
    if (call.outcome !== 'answered') throw new Error(`${call.outcome}: ${'error' in call ? String(call.error) : ''}`);
    expect(call.dialog.remoteSdp).toMatch(/^m=audio \d+ RTP\/SAVP /m);
    await expectAudioBothWays(call.leg, new LegLog(call.leg));
  });

  it('out: a trunk whose certificate nobody vouches for is not called', async () => {
    const stranger = makeCertificate();
    try {
      phone = await answerPhone(tone(700, 1_000), { security: { certificate: stranger.file, authority: ours.file } });
      const request = { toUri: phone.uri, fromNumber: '+15550100', headers: {}, credentials: null, recording: null, ringMs: 20_000 };
      const call = await dialOutboundCall({ ...deps(), signalling: worker }, request, new AbortController().signal);
      expect(call).toMatchObject({ outcome: 'failed', error: { status: 503 } });
    } finally {
      stranger.remove();
    }
  });

  it('out: with SIP_SRTP=off a call over TLS carries plain RTP', async () => {
    phone = await answerPhone(tone(700, 20_000), { security: { ...security(), isMediaPlain: true } });
    const request = { toUri: phone.uri, fromNumber: '+15550100', headers: {}, credentials: null, recording: null, ringMs: 20_000 };
    const call = await dialOutboundCall({ ...deps(), signalling: worker, offersSrtp: false }, request, new AbortController().signal);
    if (call.outcome !== 'answered') throw new Error(call.outcome);
    expect(call.dialog.remoteSdp).toMatch(/^m=audio \d+ RTP\/AVP /m);
    await expectAudioBothWays(call.leg, new LegLog(call.leg));
  });
});
