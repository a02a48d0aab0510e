/**
 * A phone's call, answered as the worker answers it, with audio checked at both ends: the agent sends 440 Hz,
 * the phone 700.
 */
import { expect } from 'vitest';
import { resample } from '#media/dsp/pcm.ts';
import type { Leg } from '#media/leg/leg.ts';
import { answerInboundCall, type InboundCall, type InboundCallDeps } from '#telephony/inbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import type { Phone } from '#test/fakes/baresip.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { power, tone } from '#test/fakes/tone.ts';

const PATIENCE = { timeout: 30_000 };
const RATE_HZ = 8_000;
const AGENT_HZ = 440;
/** Frequency of the phone's tone. */
export const PHONE_HZ = 700;
const AUDIBLE = 100_000;

/** An answered call. */
export type AnsweredCall = Extract<InboundCall, { outcome: 'answered' }> & { readonly offer: string | null };

/**
 * Answers the next inbound call and returns it with its offer. If the call ends otherwise, rejects with its
 * outcome.
 */
export function answeredCall(worker: Signalling, deps: InboundCallDeps): Promise<AnsweredCall> {
  return new Promise((resolve, reject) => {
    worker.onInvite((invite) => {
      answerInboundCall(deps, invite, Promise.resolve({ recordAudio: false })).then(
        (call) =>
          call.outcome === 'answered'
            ? resolve({ ...call, offer: invite.sdpOffer })
            : reject(new Error(call.outcome)),
        reject,
      );
    });
  });
}

/** Plays the agent's tone; expects the phone's tone and no echo. */
export async function expectPhoneHeard(leg: Leg, log: LegLog): Promise<void> {
  leg.send({
    do: 'play',
    replyId: 'greeting',
    pieceId: 1,
    samples: resample(tone(AGENT_HZ, 1_000), RATE_HZ, leg.outRateHz),
    marks: new Int32Array(0),
    last: true,
  });
  const heard = () =>
    resample(Int16Array.from(log.all('audio').flatMap((event) => [...event.samples])), leg.inRateHz, RATE_HZ);
  await expect.poll(() => power(heard(), PHONE_HZ), PATIENCE).toBeGreaterThan(AUDIBLE);
  expect(power(heard(), AGENT_HZ)).toBeLessThan(power(heard(), PHONE_HZ) / 100);
  await log.next('playout.finished');
}

/** Each side receives the other's tone, keys are received, and the phone hangs up. */
export async function expectCallBothWays(phone: Phone, leg: Leg): Promise<void> {
  const log = new LegLog(leg);
  await expectPhoneHeard(leg, log);
  await phone.press('5');
  expect(await log.next('digit')).toMatchObject({ digit: '5', source: 'rfc4733' });
  await phone.hangUp();
  expect((await log.next('closed')).reason).toBe('remote');
  await expect.poll(() => phone.heard().length, PATIENCE).toBeGreaterThan(RATE_HZ);
  expect(power(phone.heard(), AGENT_HZ)).toBeGreaterThan(AUDIBLE);
}
