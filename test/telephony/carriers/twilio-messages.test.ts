import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Carrier } from '#telephony/carriers/carrier.ts';
import { createTwilioCarrier } from '#telephony/carriers/twilio.ts';
import {
  offeredNumber,
  startTwilioServer,
  TWILIO_ACCOUNT,
  type TwilioServer,
  type TwilioTrouble,
} from '#test/fakes/twilio-server.ts';

const NUMBER = '+14155550101';
let twilio: TwilioServer;
let carrier: Carrier;

beforeEach(async () => {
  twilio = await startTwilioServer();
  twilio.available.push(offeredNumber(NUMBER));
  carrier = createTwilioCarrier({ ...TWILIO_ACCOUNT, baseUrl: twilio.url, timeoutMs: 400 });
});
afterEach(() => twilio.close());

describe('text messages', () => {
  const publicUrl = 'https://voice.example.com';
  const url = `${publicUrl}/carriers/message`;
  const sid = `SM${'ab'.repeat(16)}`;
  const form = { MessageSid: sid, From: '+14155550111', To: NUMBER, Body: 'Hello?', NumMedia: '0' };
  const messages = () => {
    if (!carrier.messages) throw new Error('no messages');
    return carrier.messages;
  };

  it('are accepted if their signature, made by Twilio’s own package, fits account, URL and fields', () => {
    const signature = getExpectedTwilioSignature(TWILIO_ACCOUNT.authToken, url, form);
    const headers = { 'x-twilio-signature': signature };
    expect(messages().readMessage({ url, headers, form })).toEqual({
      carrierMessageId: sid,
      from: '+14155550111',
      to: NUMBER,
      text: 'Hello?',
      hasMedia: false,
      answeredKeyword: null,
    });
    const forged = [
      { url: 'https://other.example.com/carriers/message', headers, form },
      { url, headers, form: { ...form, Body: 'Goodbye' } },
      { url, headers: {}, form },
      { url, headers: { 'x-twilio-signature': 'x' }, form },
    ];
    for (const request of forged)
      expect(() => messages().readMessage(request)).toThrow(
        'does not match this deployment’s carrier account',
      );
  });

  it('say that Twilio has answered a keyword itself', () => {
    const stop = { ...form, Body: 'STOP', OptOutType: 'STOP' };
    const headers = { 'x-twilio-signature': getExpectedTwilioSignature(TWILIO_ACCOUNT.authToken, url, stop) };
    expect(messages().readMessage({ url, headers, form: stop }).answeredKeyword).toBe('STOP');
  });

  it.each([
    ['delivered', 'delivered'],
    ['undelivered', 'failed'],
    ['sent', null],
  ])('are reported as %s: %s', (MessageStatus, fate) => {
    const status = { MessageSid: sid, MessageStatus, ErrorCode: '30003' };
    const headers = {
      'x-twilio-signature': getExpectedTwilioSignature(TWILIO_ACCOUNT.authToken, url, status),
    };
    expect(messages().readStatus({ url, headers, form: status })).toEqual({
      carrierMessageId: sid,
      fate,
      error: 'Twilio error 30003',
    });
  });

  const text = { from: NUMBER, to: '+14155550111', text: 'Good day!', statusUrl: `${publicUrl}/status` };

  it('are sent with the address for their status', async () => {
    expect(await messages().send(text)).toEqual({ outcome: 'sent', carrierMessageId: expect.any(String) });
    expect(twilio.messages).toMatchObject([
      { from: NUMBER, to: '+14155550111', body: 'Good day!', status_callback: `${publicUrl}/status` },
    ]);
  });

  it.each<[TwilioTrouble, string]>([
    [{ status: 400, code: 21610, message: 'Attempt to send to unsubscribed recipient' }, 'refused'],
    [{ status: 429 }, 'unsent'],
    ['done-then-hang-up', 'unknown'],
    ['silent', 'unknown'],
  ])('after %j the outcome is %s', async (trouble, outcome) => {
    twilio.troubles['POST Messages'] = [trouble];
    expect((await messages().send(text)).outcome).toBe(outcome);
  });

  it('whose answer was lost are found by their text', async () => {
    twilio.troubles['POST Messages'] = ['done-then-hang-up'];
    await messages().send(text);
    const since = new Date(Date.now() - 60_000);
    expect(await messages().findSent({ ...text, since })).toEqual({
      carrierMessageId: twilio.messages[0]?.['sid'],
    });
    expect(await messages().findSent({ ...text, text: 'another', since })).toBeNull();
  });

  it('to a number are sent where the deployment wants them until it wants none', async () => {
    const { carrierNumberId } = await carrier.buy(NUMBER);
    await messages().deliverTo(carrierNumberId, url, { replace: false });
    await messages().deliverTo(carrierNumberId, url, { replace: false });
    expect(twilio.owned).toMatchObject([{ sms_url: url }]);
    await messages().stopDelivery(carrierNumberId, url);
    expect(twilio.owned).toMatchObject([{ sms_url: '' }]);
  });

  it.each([
    { sms_url: 'https://desk.example.com/sms' },
    { sms_url: '', sms_application_sid: `AP${'1'.repeat(32)}` },
  ])('to a number that go elsewhere, $sms_url, still do unless that is to be replaced', async (elsewhere) => {
    const { carrierNumberId } = await carrier.buy(NUMBER);
    twilio.owned.splice(0, 1, { ...twilio.owned[0], ...elsewhere });
    await expect(messages().deliverTo(carrierNumberId, url, { replace: false })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('sms.replace'),
    });
    await messages().stopDelivery(carrierNumberId, url);
    expect(twilio.owned).toMatchObject([elsewhere]);
    await messages().deliverTo(carrierNumberId, url, { replace: true });
    expect(twilio.owned).toMatchObject([{ sms_url: url, sms_application_sid: '' }]);
  });

  it('to a number with Twilio’s own example go nowhere yet', async () => {
    const { carrierNumberId } = await carrier.buy(NUMBER);
    twilio.owned.splice(0, 1, { ...twilio.owned[0], sms_url: 'https://demo.twilio.com/welcome/sms/reply' });
    await messages().deliverTo(carrierNumberId, url, { replace: false });
    expect(twilio.owned).toMatchObject([{ sms_url: url }]);
  });
});
