/** A number of one tenant with text messages: real routes and store, and a local Twilio server. */
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { startSms } from '#control-plane/jobs/sms/sms-loop.ts';
import { startTextSessions } from '#control-plane/jobs/text-sessions/text-session-loop.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { TextTurnResult } from '#protocol/text-turn.ts';
import { createTwilioCarrier } from '#telephony/carriers/twilio.ts';
import { offeredNumber, startTwilioServer, TWILIO_ACCOUNT } from '#test/fakes/twilio-server.ts';
import { openTestCalls } from '../../test-calls.ts';
import { answer } from '../text-sessions/open-text-sessions.ts';

export const NUMBER = '+14155550101';
export const PERSON = '+14155550111';
export const PUBLIC_URL = 'https://voice.example.com';

let lastSid = 0;

/** Opens the API with a bought number; its agent for messages is bound by `bind`. */
export async function openSms(config: Record<string, unknown> = {}) {
  const twilio = await startTwilioServer();
  twilio.available.push(offeredNumber(NUMBER));
  const carrier = createTwilioCarrier({ ...TWILIO_ACCOUNT, baseUrl: twilio.url, timeoutMs: 400 });
  const api = await openTestCalls({ PUBLIC_URL }, { carrier });
  const start = () => [startTextSessions(api.context), startSms(api.context)];
  let loops: BackgroundLoop[] = start();
  const user = await api.createUser();
  const agentId = await api.publishAgent(user, config);
  const request = (method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) =>
    api.request(method, url, { key: user.key, ...(body && { body }) });
  const bought = await request('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: NUMBER,
  });
  const numberId: string = bought.body.phone_number_id;
  const dueNow = () => ({ state: 'due' as const, state_at: { $lte: new Date(api.clock.wallTime()) } });
  /** Waits until nothing is left to do before time passes, a worker answers or Twilio does. */
  const idle = async () => {
    const { smsMessages, textTurns } = api.context.models;
    // Twice: a message that is being sent is in neither state.
    for (let quiet = 0; quiet < 2; ) {
      for (const loop of loops) await loop.idle();
      const isBusy =
        (await smsMessages.exists({ $or: [{ state: 'received' }, dueNow()] })) ??
        (await textTurns.exists({ $or: [{ status: 'queued' }, { is_unsettled: true }] }));
      quiet = isBusy === null ? quiet + 1 : 0;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const deliver = async (path: string, form: Record<string, string>) => {
    const signature = getExpectedTwilioSignature(TWILIO_ACCOUNT.authToken, `${PUBLIC_URL}${path}`, form);
    const response = await api.request('POST', path, {
      raw: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature },
    });
    await idle();
    return response;
  };
  /** The agent answers the newest turn. */
  const answers = async (reply: string, changes: Partial<TextTurnResult> = {}) => {
    const { key } = api.dispatch.textTurns.at(-1) ?? { key: { sessionId: '', epoch: 0 } };
    const report = { type: 'text_turn' as const, result: answer(reply, changes) };
    await api.sink.apply([{ session_id: key.sessionId, epoch: key.epoch, seq: 1, report }], 'worker-1');
    await idle();
  };
  return {
    twilio,
    api,
    user,
    agentId,
    numberId,
    request,
    idle,
    deliver,
    answers,
    bind: (sms: object | null = { agent_id: agentId }) =>
      request('PATCH', `/v1/agent/phone-numbers/${numberId}`, { sms }),
    /** Twilio delivers a message, signed by its own package. */
    arrives: (Body: string, fields: Record<string, string> = {}) => {
      lastSid += 1;
      const sid = `SM${lastSid.toString(16).padStart(32, '0')}`;
      const form = { MessageSid: sid, From: PERSON, To: NUMBER, Body, NumMedia: '0', ...fields };
      return deliver('/carriers/message', form);
    },
    sent: () => twilio.messages.map(({ body }) => body),
    sessions: async () => (await request('GET', '/v1/agent/text-sessions')).body.text_sessions,
    /** The background work of another process takes over. */
    restart: async () => {
      for (const loop of loops) await loop.close();
      loops = start();
      await api.clock.advance(6_000);
      await idle();
    },
    close: async () => {
      for (const loop of loops) await loop.close();
      await api.close();
      await twilio.close();
    },
  };
}

export type Sms = Awaited<ReturnType<typeof openSms>>;
