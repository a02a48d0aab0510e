import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { Leg } from '#media/leg/leg.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { dialOutboundCall } from '#telephony/outbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { answerPhone, dial, type Phone } from '#test/fakes/baresip.ts';
import { makeCertificate, type TestCertificate } from '#test/fakes/certificate.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { tone } from '#test/fakes/tone.ts';
import { describeNeeds } from '#test/needs.ts';
import { answeredCall, expectCallBothWays, PHONE_HZ } from './call-both-ways.ts';

const PATIENCE = { timeout: 30_000 };

describeNeeds(['baresip', 'openssl'])(
  'SIP over TLS and SRTP with keys of the description (RFC 3711, RFC 4568), with a real phone',
  () => {
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
      media = await startMediaThread({
        rtpPortMin: 23_200,
        rtpPortMax: 23_239,
        iceServers: [],
        clock: systemClock,
        logger,
      });
    });
    afterAll(async () => {
      await media.close();
      ours.remove();
      theirs.remove();
    });

    beforeEach(async () => {
      phone = null;
      transports = [];
      server = await startTestSignalling({
        tls: { port: 0, certificate: ours.certificate, key: ours.key, authorities: theirs.certificate },
        admit: async ({ transport }) => {
          transports.push(transport);
          return { action: 'route', data: { tag: 'worker-1' } };
        },
      });
      worker = await connectTestWorker(server);
    });
    afterEach(async () => {
      await phone?.close();
      worker.close();
      await server.close();
    });

    const deps = () => ({
      clock: systemClock,
      media,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
    });
    const security = () => ({ certificate: theirs.file, authority: ours.file });

    /** Checks audio and keys in both directions, and that no state remains. */
    async function expectWholeCall(its: Phone, leg: Leg): Promise<void> {
      await expectCallBothWays(its, leg);
      await expect.poll(() => server.metrics().dialogs, PATIENCE).toBe(0);
    }

    it.each(['PCMU', 'opus'] as const)(
      'inbound: %s and keys pass both ways, and the phone sends the BYE',
      async (codec) => {
        const call = answeredCall(worker, deps());
        phone = await dial(`sip:+15550100@127.0.0.1:${server.tlsPort};transport=tls`, tone(PHONE_HZ, 5_000), {
          codec,
          security: security(),
        });
        const { leg, offer } = await call;
        expect(transports).toEqual(['tls']);
        expect(offer).toMatch(/^m=audio \d+ RTP\/SAVP /m);
        await expectWholeCall(phone, leg);
      },
    );

    it('outbound: a URI with TLS gets SRTP only, with audio and keys both ways', async () => {
      phone = await answerPhone(tone(PHONE_HZ, 20_000), { security: security() });
      const request = {
        toUri: phone.uri,
        fromNumber: '+15550100',
        headers: {},
        credentials: null,
        recording: null,
        ringMs: 20_000,
      };
      const call = await dialOutboundCall(
        { ...deps(), signalling: worker },
        request,
        new AbortController().signal,
      );
      if (call.outcome !== 'answered')
        throw new Error(`${call.outcome}: ${'error' in call ? String(call.error) : ''}`);
      expect(call.dialog.remoteSdp).toMatch(/^m=audio \d+ RTP\/SAVP /m);
      await expectWholeCall(phone, call.leg);
    });

    it('outbound: a trunk with an untrusted certificate is not called', async () => {
      const untrusted = makeCertificate();
      try {
        phone = await answerPhone(tone(PHONE_HZ, 1_000), {
          security: { certificate: untrusted.file, authority: ours.file },
        });
        const request = {
          toUri: phone.uri,
          fromNumber: '+15550100',
          headers: {},
          credentials: null,
          recording: null,
          ringMs: 20_000,
        };
        const call = await dialOutboundCall(
          { ...deps(), signalling: worker },
          request,
          new AbortController().signal,
        );
        expect(call).toMatchObject({ outcome: 'failed', error: { status: 503 } });
      } finally {
        untrusted.remove();
      }
    });

    it('outbound: with SIP_SRTP=off a call over TLS carries plain RTP', async () => {
      phone = await answerPhone(tone(PHONE_HZ, 20_000), { security: { ...security(), isMediaPlain: true } });
      const request = {
        toUri: phone.uri,
        fromNumber: '+15550100',
        headers: {},
        credentials: null,
        recording: null,
        ringMs: 20_000,
      };
      const call = await dialOutboundCall(
        { ...deps(), signalling: worker, offersSrtp: false },
        request,
        new AbortController().signal,
      );
      if (call.outcome !== 'answered') throw new Error(call.outcome);
      expect(call.dialog.remoteSdp).toMatch(/^m=audio \d+ RTP\/AVP /m);
      await expectWholeCall(phone, call.leg);
    });
  },
);
