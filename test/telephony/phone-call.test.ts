import { expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { resample } from '#media/dsp/pcm.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { dial } from '#test/fakes/baresip.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { itNeeds } from '#test/needs.ts';
import { answeredCall } from './call-both-ways.ts';

const RATE_HZ = 8_000;

itNeeds(['baresip']).each([
  ['PCMU', 8_000],
  ['G722', 16_000],
  ['opus', 16_000],
] as const)(
  'a real phone that talks %s hears the agent, is heard at %i Hz, presses keys, and hangs up',
  async (codec, rateHz) => {
    const logger = createLogger({ level: 'silent', name: 'test' });
    const media = await startMediaThread({
      rtpPortMin: 23_000,
      rtpPortMax: 23_019,
      iceServers: [],
      clock: systemClock,
      logger,
    });
    const server = await startTestSignalling();
    const worker = await connectTestWorker(server);
    const deps = {
      clock: systemClock,
      media,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
    };
    const answered = answeredCall(worker, deps);
    const phone = await dial(`sip:+15550100@127.0.0.1:${server.sipPort}`, tone(700, 3_000), { codec });
    try {
      const { leg } = await answered;
      const log = new LegLog(leg);
      expect([leg.inRateHz, leg.outRateHz]).toEqual([rateHz, rateHz]);
      leg.send({
        do: 'play',
        replyId: 'greeting',
        pieceId: 1,
        samples: resample(tone(440, 1_000), RATE_HZ, rateHz),
        marks: new Int32Array(0),
        last: true,
      });
      await log.next('playout.finished');
      await phone.press('5');
      expect(await log.next('digit')).toMatchObject({ digit: '5', source: 'rfc4733' });
      const heardByUs = () =>
        resample(Int16Array.from(log.all('audio').flatMap((event) => [...event.samples])), rateHz, RATE_HZ);
      await expect.poll(() => power(heardByUs(), 700), { timeout: 5_000 }).toBeGreaterThan(100_000);
      expect(power(heardByUs(), 440)).toBeLessThan(power(heardByUs(), 700) / 100);
      await phone.hangUp();
      expect((await log.next('closed')).reason).toBe('remote');
      await expect.poll(() => server.metrics().dialogs).toBe(0);
      await expect.poll(() => phone.heard().length, { timeout: 5_000 }).toBeGreaterThan(RATE_HZ);
      const heardByPhone = phone.heard();
      expect(power(heardByPhone, 440)).toBeGreaterThan(100_000);
      expect(power(heardByPhone, 700)).toBeLessThan(power(heardByPhone, 440) / 100);
    } finally {
      await phone.close();
      worker.close();
      await server.close();
      await media.close();
    }
  },
  30_000,
);
