import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { resample } from '#media/dsp/pcm.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { answerInboundCall } from '#telephony/inbound-call.ts';
import { dialOutboundCall } from '#telephony/outbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { type Kamailio, startKamailio } from '#test/fakes/kamailio.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { type Linphone, startLinphone } from '#test/fakes/linphone.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { describeWhereThere } from '#test/needs.ts';

const RATE_HZ = 8_000;
const [OUR_HZ, PHONE_HZ] = [440, 700];
const AUDIBLE = 100_000;
/** Generous: programs of two vendors and a media thread on a busy machine. */
const PATIENCE_MS = 30_000;

describeWhereThere(['kamailio', 'linphonec'])(
  'Linphone at a Kamailio in front of two servers',
  { timeout: 120_000 },
  () => {
    const logger = createLogger({ level: 'silent', name: 'test' });
    let media: Awaited<ReturnType<typeof startMediaThread>>;
    let servers: EmbeddedSignalling[];
    let workers: Signalling[];
    let kamailio: Kamailio;
    let phone: Linphone;
    let answered: { readonly by: number; readonly leg: Leg }[];

    const dependencies = (): {
      clock: typeof systemClock;
      media: LegFactory;
      sipHost: string;
      sipPublicIp: undefined;
      random: () => number;
    } => ({
      clock: systemClock,
      media,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
    });

    beforeEach(async () => {
      answered = [];
      media = await startMediaThread({
        rtpPortMin: 23_040,
        rtpPortMax: 23_059,
        iceServers: [],
        clock: systemClock,
        logger,
      });
      servers = await Promise.all([0, 1].map(startServer));
      workers = await Promise.all(servers.map(startWorker));
      kamailio = await startKamailio(servers.map((server) => server.sipPort));
      phone = await startLinphone('alice', kamailio.address, tone(PHONE_HZ, 60_000));
    });
    afterEach(async () => {
      await phone?.close();
      await kamailio?.close();
      for (const worker of workers) worker.close();
      for (const server of servers) await server.close();
      await media.close();
    });

    function startServer(): Promise<EmbeddedSignalling> {
      return startTestSignalling({
        admit: async () => ({ action: 'route', data: { tag: 'worker' } }),
      });
    }

    async function startWorker(server: EmbeddedSignalling, by: number): Promise<Signalling> {
      const worker = await connectTestWorker(server, 'worker');
      worker.onInvite((invite) => {
        answerInboundCall(dependencies(), invite, Promise.resolve({ recordAudio: false })).then((call) => {
          if (call.outcome === 'answered') answered.push({ by, leg: call.leg });
        }, console.error);
      });
      return worker;
    }

    /** Plays a tone to the phone until it is received, and expects the phone's tone. */
    async function expectAudioBothWays(leg: Leg): Promise<LegLog> {
      const log = new LegLog(leg);
      const samples = resample(tone(OUR_HZ, 2_000), RATE_HZ, leg.outRateHz);
      leg.send({ do: 'play', replyId: 'tone', pieceId: 1, samples, marks: new Int32Array(0), last: true });
      await log.next('playout.finished', undefined, PATIENCE_MS);
      const heard = () =>
        resample(
          Int16Array.from(log.all('audio').flatMap((event) => [...event.samples])),
          leg.inRateHz,
          RATE_HZ,
        );
      await expect.poll(() => power(heard(), PHONE_HZ), { timeout: PATIENCE_MS }).toBeGreaterThan(AUDIBLE);
      expect(power(heard(), OUR_HZ)).toBeLessThan(power(heard(), PHONE_HZ) / 100);
      return log;
    }

    /** Checks the phone's recording after its call. */
    async function expectPhoneHeardUs(): Promise<void> {
      await expect
        .poll(() => power(phone.heard(), OUR_HZ), { timeout: PATIENCE_MS })
        .toBeGreaterThan(AUDIBLE);
      expect(power(phone.heard(), PHONE_HZ)).toBeLessThan(power(phone.heard(), OUR_HZ) / 100);
      await expect
        .poll(() => servers.map((server) => server.metrics().dialogs), { timeout: PATIENCE_MS })
        .toEqual([0, 0]);
    }

    it('has audio both ways when it calls, and the other server takes its next call', async () => {
      for (const calls of [1, 2]) {
        phone.dial(`sip:+15550100@${kamailio.address}`);
        await expect.poll(() => answered.length, { timeout: PATIENCE_MS }).toBe(calls);
        const log = await expectAudioBothWays(answered[calls - 1]!.leg);
        phone.hangUp();
        expect((await log.next('closed', undefined, PATIENCE_MS)).reason).toBe('remote');
        await expectPhoneHeardUs();
      }
      expect(answered.map(({ by }) => by).sort()).toEqual([0, 1]);
    });

    it('is found by its registration when it is called, and receives the hang-up', async () => {
      const call = await dialOutboundCall(
        { ...dependencies(), signalling: workers[0]! },
        {
          toUri: `sip:alice@${kamailio.address}`,
          fromNumber: '+15550100',
          headers: {},
          credentials: null,
          recording: null,
          ringMs: PATIENCE_MS,
        },
        new AbortController().signal,
      );
      if (call.outcome !== 'answered') throw new Error(call.outcome);
      await expectAudioBothWays(call.leg);
      call.leg.send({ do: 'close' });
      await expectPhoneHeardUs();
    });
  },
);
