import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { maintainNumbers } from '#control-plane/catalogue/numbers/maintain-numbers.ts';
import type { Carrier } from '#telephony/carriers/carrier.ts';
import { createTwilioCarrier } from '#telephony/carriers/twilio.ts';
import {
  offeredNumber,
  signTwilioRequest,
  startTwilioServer,
  TWILIO_ACCOUNT,
  type TwilioServer,
} from '../../../fakes/twilio-server.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

const numbers = '/v1/agent/phone-numbers';
const NUMBER = '+14155550101';
const BUY = 'POST IncomingPhoneNumbers';
const FIND = 'GET IncomingPhoneNumbers';
const REFUSED = { status: 400, code: 21649, message: 'Bundle required' };
let twilio: TwilioServer;
let carrier: Carrier;
let api: TestApi;
let user: TestUser;

beforeAll(async () => {
  // All tests share one API; each has its own Twilio.
  const current: Carrier = {
    name: 'Twilio',
    lostCalls: createTwilioCarrier({ ...TWILIO_ACCOUNT, baseUrl: 'http://127.0.0.1:1' }).lostCalls,
    messages: null,
    search: (query) => carrier.search(query),
    buy: (phoneNumber) => carrier.buy(phoneNumber),
    findBought: (phoneNumber) => carrier.findBought(phoneNumber),
    release: (carrierNumberId) => carrier.release(carrierNumberId),
  };
  api = await openTestApi({ PUBLIC_URL: 'https://voice.example.com' }, { carrier: current });
});
beforeEach(async () => {
  twilio = await startTwilioServer();
  twilio.available.push(offeredNumber(NUMBER), offeredNumber('+12125550102'));
  carrier = createTwilioCarrier({
    ...TWILIO_ACCOUNT,
    baseUrl: twilio.url,
    sipAddress: 'sip.example.com:5060',
    timeoutMs: 400,
  });
  user = await api.createUser({ credit: '1.00' });
});
afterEach(async () => {
  await api.context.models.numbers.deleteMany({ phone_number: { $in: [NUMBER, '+12125550102'] } });
  await twilio.close();
});
afterAll(() => api.close());

const buy = (phone_number = NUMBER) =>
  api.request('POST', numbers, { key: user.key, body: { provider: 'managed', phone_number } });
const release = (id: string) => api.request('DELETE', `${numbers}/${id}`, { key: user.key });
const credit = async () =>
  (await api.request('GET', '/wallet/self/api-credit', { key: user.key })).body.credit;
const rows = async () => (await api.request('GET', numbers, { key: user.key })).body.phone_numbers;
/** Runs the minutely pass of `maintainNumbers`. */
const keep = () => maintainNumbers(api.context, new Date(api.clock.wallTime() + 1));

describe('buying numbers from Twilio', () => {
  it('a number found by area code and bought is active, charged one day and on the trunk', async () => {
    const found = await api.request('GET', '/v1/agent/available-phone-numbers?area_code=415', {
      key: user.key,
    });
    expect(found.body.available_phone_numbers).toMatchObject([
      { phone_number: NUMBER, country_code: 'US', region: 'CA', locality: 'San Rafael', daily_price: '0.04' },
    ]);
    const { status, body } = await buy();
    expect([status, body.status, await credit()]).toEqual([201, 'active', '0.96']);
    expect(twilio.owned).toMatchObject([{ phone_number: NUMBER, trunk_sid: twilio.trunks[0]?.['sid'] }]);
  });

  it('a refusal is 502 in Twilio’s words, refunds, and leaves a row in error; release permits buying', async () => {
    twilio.troubles[BUY] = [REFUSED];
    const { status, body } = await buy();
    expect([status, body]).toEqual([
      502,
      { status: 502, message: 'Twilio refused the request: Bundle required', reason: null },
    ]);
    const [row] = await rows();
    expect(row).toMatchObject({
      status: 'error',
      status_detail: 'Twilio refused the request: Bundle required',
    });
    expect(await credit()).toBe('1.00');
    expect((await release(row.phone_number_id)).status).toBe(204);
    expect(await rows()).toEqual([]);
    expect((await buy()).status).toBe(201);
  });

  it('a search that Twilio refuses or does not answer is 502 and names Twilio', async () => {
    const search = () => api.request('GET', '/v1/agent/available-phone-numbers', { key: user.key });
    twilio.troubles['GET AvailablePhoneNumbers'] = [{ status: 401, code: 20003, message: 'Authenticate' }];
    expect(await search()).toMatchObject({
      status: 502,
      body: { message: 'Twilio refused the request: Authenticate' },
    });
    twilio.troubles['GET AvailablePhoneNumbers'] = [{ status: 503 }, { status: 503 }];
    expect(await search()).toMatchObject({ status: 502, body: { message: 'Twilio is unreachable' } });
  });

  it('an unreachable Twilio is 502, with a row in error and the day refunded', async () => {
    await twilio.close();
    expect(await buy()).toMatchObject({ status: 502, body: { message: 'Twilio is unreachable' } });
    expect(await rows()).toMatchObject([{ status: 'error', status_detail: 'Twilio is unreachable' }]);
    expect(await credit()).toBe('1.00');
    twilio = await startTwilioServer();
  });

  it('a purchase whose answer was lost is active, charged once and bought once', async () => {
    twilio.troubles[BUY] = ['done-then-hang-up'];
    expect(await buy()).toMatchObject({ status: 201, body: { status: 'active' } });
    expect([await credit(), twilio.owned.length]).toEqual(['0.96', 1]);
  });
});

describe('a purchase of unknown outcome', () => {
  it('stays in provisioning, cannot be released or resold, and is active once Twilio answers', async () => {
    twilio.troubles[BUY] = ['done-then-hang-up'];
    twilio.troubles[FIND] = [{ status: 500 }, { status: 500 }, { status: 500 }, { status: 500 }];
    const { status, body } = await buy();
    expect([status, body.message]).toEqual([502, expect.stringMatching(/^Twilio did not answer/)]);
    const [row] = await rows();
    expect([row.status, (await buy()).status, (await release(row.phone_number_id)).status]).toEqual([
      'provisioning',
      409,
      409,
    ]);
    await keep();
    expect(await rows()).toMatchObject([{ status: 'provisioning' }]);
    await keep();
    expect(await rows()).toMatchObject([{ status: 'active' }]);
    expect(await credit()).toBe('0.96');
    expect((await release(row.phone_number_id)).status).toBe(204);
    expect(twilio.owned).toEqual([]);
  });

  it('ends in error and refunded when Twilio does not have it', async () => {
    twilio.troubles[BUY] = ['silent'];
    expect((await buy()).status).toBe(502);
    expect([(await rows())[0].status, await credit()]).toEqual(['provisioning', '0.96']);
    await keep();
    expect([(await rows())[0].status, await credit()]).toEqual(['error', '1.00']);
  });

  it('is what a repetition with its Idempotency-Key returns once it is settled', async () => {
    const keyed = () =>
      api.request('POST', numbers, {
        key: user.key,
        headers: { 'idempotency-key': 'front desk' },
        body: { provider: 'managed', phone_number: NUMBER },
      });
    twilio.troubles[BUY] = ['done-then-hang-up'];
    twilio.troubles[FIND] = Array.from({ length: 8 }, () => ({ status: 500 }));
    expect((await keyed()).status).toBe(502);
    await api.clock.advance(120_000);
    expect((await keyed()).body.reason).toBe('idempotency_key_conflict');
    twilio.troubles[FIND] = [];
    await keep();
    const { status, body } = await keyed();
    expect([status, body.status, twilio.owned.length, await credit()]).toEqual([201, 'active', 1, '0.96']);
  });

  it('can be released after a minute: refunded at once, and returned if Twilio did sell it', async () => {
    twilio.troubles[BUY] = ['done-then-hang-up'];
    twilio.troubles[FIND] = Array.from({ length: 8 }, () => ({ status: 500 }));
    await buy();
    const [row] = await rows();
    await api.clock.advance(30_000);
    expect((await release(row.phone_number_id)).body.message).toContain('try again in 30 s');
    await api.clock.advance(31_000);
    expect([(await release(row.phone_number_id)).status, await credit(), (await rows()).length]).toEqual([
      204,
      '1.00',
      0,
    ]);
    expect(twilio.owned).toHaveLength(1);
    twilio.troubles[FIND] = [];
    await keep();
    await keep();
    expect([twilio.owned, await credit()]).toEqual([[], '1.00']);
  });

  it('store 3: is returned after its release even if Twilio books it later', async () => {
    twilio.troubles[BUY] = ['done-then-hang-up'];
    twilio.troubles[FIND] = Array.from({ length: 8 }, () => ({ status: 500 }));
    await buy();
    const [row] = await rows();
    await api.clock.advance(61_000);
    twilio.troubles[FIND] = [];
    const sold = twilio.owned.splice(0);
    await release(row.phone_number_id);
    await keep();
    twilio.owned.push(...sold);
    await api.clock.advance(59 * 60_000);
    await keep();
    expect(twilio.owned).toEqual([]);
  });

  it('is recovered by asking Twilio after a crash between purchase and record', async () => {
    const { body } = await buy();
    const stored = api.context.models.numbers;
    const carrierNumberId = (await stored.findById(body.phone_number_id).lean())?.carrier_number_id;
    await stored.updateOne(
      { _id: body.phone_number_id },
      { $set: { status: 'provisioning', carrier_number_id: '', rent_day: '' } },
    );
    await keep();
    expect(await stored.findById(body.phone_number_id).lean()).toMatchObject({
      status: 'active',
      carrier_number_id: carrierNumberId,
    });
    expect([await credit(), twilio.owned.length]).toEqual(['0.96', 1]);
  });

  it('does not hold up other purchases or the rent while it is unsettled', async () => {
    const other = (await buy('+12125550102')).body;
    twilio.troubles[BUY] = ['silent'];
    await buy();
    await api.clock.advance(24 * 3_600_000);
    twilio.troubles[FIND] = [{ status: 500 }, { status: 500 }];
    await keep();
    expect(
      (await rows()).find((row: { phone_number_id: string }) => row.phone_number_id === other.phone_number_id)
        .status,
    ).toBe('active');
    // Two purchases and one more day's rent for the active number.
    expect(await credit()).toBe('0.88');
  });
});

describe('a slow purchase that was mistaken for an interrupted one', () => {
  it('stays active and charged once if Twilio has the number', async () => {
    const real = carrier;
    carrier = {
      ...real,
      buy: async (phoneNumber) => {
        const bought = await real.buy(phoneNumber);
        await keep();
        return bought;
      },
    };
    expect(await buy()).toMatchObject({ status: 201, body: { status: 'active' } });
    expect([await credit(), twilio.owned.length]).toEqual(['0.96', 1]);
  });

  it('is returned and refunded if Twilio does not have the number yet', async () => {
    const real = carrier;
    carrier = {
      ...real,
      buy: async (phoneNumber) => {
        await keep();
        return real.buy(phoneNumber);
      },
    };
    expect((await buy()).status).toBe(503);
    expect(await rows()).toMatchObject([{ status: 'error', status_detail: 'the purchase was interrupted' }]);
    expect([await credit(), twilio.owned.length]).toEqual(['1.00', 0]);
  });
});

describe('a release', () => {
  it('leaves the number active if Twilio refuses; a second one succeeds, then the number is 404', async () => {
    const { phone_number_id } = (await buy()).body;
    twilio.troubles['DELETE IncomingPhoneNumbers'] = [{ status: 409, message: 'Number is being ported' }];
    expect(await release(phone_number_id)).toMatchObject({
      status: 502,
      body: { message: 'Twilio refused the request: Number is being ported' },
    });
    expect((await api.request('GET', `${numbers}/${phone_number_id}`, { key: user.key })).body.status).toBe(
      'active',
    );
    expect((await release(phone_number_id)).status).toBe(204);
    expect((await api.request('GET', `${numbers}/${phone_number_id}`, { key: user.key })).status).toBe(404);
    expect(twilio.owned).toEqual([]);
  });

  it('succeeds for a number that Twilio no longer has', async () => {
    const { phone_number_id } = (await buy()).body;
    twilio.owned.length = 0;
    expect((await release(phone_number_id)).status).toBe(204);
  });
});

describe('a call that Twilio could not deliver to the SIP address', () => {
  const lost = (form: Record<string, string>, signature: string) =>
    api.request('POST', '/carriers/lost-call', {
      raw: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature },
    });

  it('is answered with a sentence for the caller, and listed among the team’s refused calls', async () => {
    await buy();
    const form = { CallSid: 'CA77', From: '+14155550111', To: NUMBER, Caller: '+14155550111' };
    const { status, headers, text } = await lost(
      form,
      signTwilioRequest('https://voice.example.com/carriers/lost-call', form),
    );
    expect([status, headers['content-type']]).toEqual([200, 'text/xml; charset=utf-8']);
    expect(text).toContain('<Say>');
    await expect
      .poll(async () => (await api.request('GET', '/v1/agent/refusals', { key: user.key })).body.refusals)
      .toMatchObject([
        {
          kind: 'inbound_call',
          reason: 'call_lost_at_carrier',
          dialed_number: NUMBER,
          sip_call_id: 'CA77',
          status: 503,
        },
      ]);
  });

  it('security 2: is rejected without a signature before its body is read', async () => {
    const address = await api.app.listen({ port: 0, host: '127.0.0.1' });
    const request = httpRequest(`${address}/carriers/lost-call`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '60000' },
    });
    request.flushHeaders();
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(403);
    request.destroy();
  });

  it('security 2: is 413 when its form is longer than 64 KiB or has more than 88 fields', async () => {
    const many = Object.fromEntries(Array.from({ length: 89 }, (_, index) => [`a${index}`, '']));
    for (const form of [{ CallSid: 'x'.repeat(65_536) }, many])
      expect((await lost(form, 'bm8=')).status).toBe(413);
  });

  it('is accepted only with Twilio’s signature', async () => {
    const { status, body } = await lost({ CallSid: 'CA78', From: '+1', To: NUMBER }, 'bm8=');
    expect([status, body.message]).toEqual([
      403,
      'The signature does not match this deployment’s carrier account and address',
    ]);
  });
});
