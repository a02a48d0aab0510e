/** Journey: a part stops in a call over a media stream: a worker as in a deploy, a control plane at once. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dialByStream, StreamPhone } from '#caller/stream-phone.ts';
import { startTwilioServer, TWILIO_ACCOUNT, type TwilioServer } from '#test/fakes/twilio-server.ts';
import { ASKED_AND_ANSWERED, listenOn } from './asked-by-phone.ts';
import { Parts } from './parts.ts';
import type { Program } from './program.ts';
import { demoAgentId, greetWith } from './tenant.ts';
import { GREETING } from './web-conversation.ts';

const NUMBER = '+14155550188';

let twilio: TwilioServer;
let parts: Parts;
let control: Program;
let first: Program;

beforeAll(async () => {
  twilio = await startTwilioServer();
  twilio.owned.push({ sid: `PN${'1'.repeat(32)}`, phone_number: NUMBER, voice_url: '' });
  parts = await Parts.open({
    RTP_PORT_MIN: '39700',
    RTP_PORT_MAX: '39799',
    HEALTH_PORT: '0',
    TWILIO_BASE_URL: twilio.url,
  });
  [control, , first] = await Promise.all([
    parts.start('control-plane', 'control-plane'),
    parts.start('signalling', 'signalling'),
    parts.start('worker', 'first'),
  ]);
  await greetWith(parts, GREETING);
}, 120_000);
afterAll(async () => {
  await parts?.close();
  await twilio?.close();
});

/** Calls the agent; resolves once it has greeted. */
async function callFrom(from: string) {
  const { media_stream } = await parts.ask('POST', '/v1/agent/phone-numbers/connect-twilio', {
    account_sid: TWILIO_ACCOUNT.accountSid,
    auth_token: TWILIO_ACCOUNT.authToken,
    phone_number: NUMBER,
    agent_id: await demoAgentId(parts),
  });
  const phone = await dialByStream({
    vendor: 'twilio',
    account: TWILIO_ACCOUNT.accountSid,
    secret: TWILIO_ACCOUNT.authToken,
    voiceUrl: media_stream.voice_url,
    at: parts.url,
    from,
    to: NUMBER,
  });
  if (!(phone instanceof StreamPhone)) throw new Error(`the call was rejected: ${phone.rejected}`);
  const call = await listenOn(parts, from, {
    packets: phone.played,
    speak: (samples) => phone.speak(samples),
    hangUp: () => phone.hangUp(),
  });
  return { phone, call };
}

it('another worker goes on with it, and the caller notices nothing', { timeout: 180_000 }, async () => {
  const { call } = await callFrom('+15557660030');
  await parts.start('worker', 'second');
  await parts.stop(first);
  await call.ask();
  await call.hangUp();
  await parts.until('the call is settled', async () => (await call.call()).status === 'completed');
  const { end_reason, said } = await call.call();
  expect(end_reason).toBe('user_hangup');
  expect(said).toEqual([`assistant: ${GREETING}`, ...ASKED_AND_ANSWERED]);
});

it('ends and is settled if the control plane with its stream is killed', { timeout: 180_000 }, async () => {
  const { phone, call } = await callFrom('+15557660031');
  control.signal('SIGKILL');
  expect(await phone.over).toBe(true);
  await control.ended();
  await parts.start('control-plane', 'control-plane');
  await parts.until('the call is settled', async () => (await call.call()).status === 'completed');
  const { end_reason, said } = await call.call();
  expect([end_reason, said[0]]).toEqual(['user_hangup', `assistant: ${GREETING}`]);
});
