import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { Fault } from '#config/errors.ts';
import type { Carrier } from '#telephony/carriers/carrier.ts';
import { chooseCarrier, publicSipAddress } from '#telephony/carriers/choose-carrier.ts';
import { createTwilioCarrier, type TwilioOptions } from '#telephony/carriers/twilio.ts';
import {
  offeredNumber,
  signTwilioRequest,
  startTwilioServer,
  TWILIO_ACCOUNT,
  type TwilioServer,
  type TwilioTrouble,
} from '#test/fakes/twilio-server.ts';

const NUMBER = '+14155550101';
const SIP_ADDRESS = 'sip.example.com:5060';
const BUY = 'POST IncomingPhoneNumbers';
const FIND = 'GET IncomingPhoneNumbers';
let twilio: TwilioServer;
let carrier: Carrier;

beforeEach(async () => {
  twilio = await startTwilioServer();
  twilio.available.push(
    offeredNumber(NUMBER),
    offeredNumber('+12125550102'),
    offeredNumber('+16045550103', { iso_country: 'CA', region: null }),
  );
  carrier = carrierWith({});
});
afterEach(() => twilio.close());

function carrierWith(more: Partial<TwilioOptions>): Carrier {
  return createTwilioCarrier({
    ...TWILIO_ACCOUNT,
    baseUrl: twilio.url,
    sipAddress: SIP_ADDRESS,
    timeoutMs: 400,
    ...more,
  });
}
const search = (more: object = {}) =>
  carrier.search({ countryCode: 'US', exclude: new Set(), limit: 30, ...more });
/** The fault with which a promise rejects. */
async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Fault);
  return error as Fault;
}
const times = (request: string) => twilio.requests.filter((seen) => seen === request).length;

describe('search', () => {
  it('offers local numbers of a country and an area code, with their locations', async () => {
    expect(await search()).toEqual([
      { phoneNumber: NUMBER, countryCode: 'US', region: 'CA', locality: 'San Rafael' },
      { phoneNumber: '+12125550102', countryCode: 'US', region: 'CA', locality: 'San Rafael' },
    ]);
    expect((await search({ areaCode: '415' })).map((number) => number.phoneNumber)).toEqual([NUMBER]);
    expect(await search({ countryCode: 'CA' })).toEqual([
      { phoneNumber: '+16045550103', countryCode: 'CA', region: '', locality: 'San Rafael' },
    ]);
  });

  it('asks for no more than the limit and omits numbers already on the platform', async () => {
    expect(await search({ limit: 1 })).toHaveLength(1);
    expect((await search({ exclude: new Set([NUMBER]) })).map((number) => number.phoneNumber)).toEqual([
      '+12125550102',
    ]);
  });

  it.each<[string, TwilioTrouble]>([
    ['429', { status: 429, code: 20429, message: 'Too Many Requests' }],
    ['503', { status: 503 }],
    ['a lost connection', 'hang-up'],
    ['no answer in time', 'silent'],
    ['something that is not JSON', 'not-json'],
  ])('is asked again after %s', async (_name, trouble) => {
    twilio.troubles['GET AvailablePhoneNumbers'] = [trouble];
    expect(await search()).toHaveLength(2);
    expect(times('GET AvailablePhoneNumbers')).toBe(2);
  });
});

describe('a failure at Twilio', () => {
  it('is reported in Twilio’s words when it refuses, and not retried', async () => {
    twilio.troubles['GET AvailablePhoneNumbers'] = [
      { status: 403, code: 20003, message: 'Account is suspended' },
    ];
    const refusal = await faultOf(search());
    expect([refusal.status, refusal.code, refusal.message]).toEqual([
      502,
      'provider_refused',
      'Twilio refused the request: Account is suspended',
    ]);
    expect(twilio.requests).toHaveLength(1);
  });

  it('is a refusal if the rate limit persists', async () => {
    const busy = { status: 429, code: 20429, message: 'Too Many Requests' };
    twilio.troubles['GET AvailablePhoneNumbers'] = [busy, busy];
    expect((await faultOf(search())).message).toBe('Twilio refused the request: Too Many Requests');
  });

  it('names Twilio when it is unreachable', async () => {
    await twilio.close();
    const unreachable = await faultOf(search());
    expect([unreachable.status, unreachable.message]).toEqual([502, 'Twilio is unreachable']);
    twilio = await startTwilioServer();
  });

  it('never contains the token or the account', async () => {
    carrier = carrierWith({ authToken: 'a-wrong-secret-token' });
    const refused = await faultOf(search());
    expect(refused.message).toBe('Twilio refused the request: Authenticate');
    carrier = carrierWith({});
    twilio.troubles['GET AvailablePhoneNumbers'] = [
      {
        status: 404,
        message: `The resource\n/Accounts/${TWILIO_ACCOUNT.accountSid}/x was not found ${'x'.repeat(1_000)}`,
      },
    ];
    const missing = await faultOf(search());
    expect(missing.message).toMatch(
      /^Twilio refused the request: The resource \/Accounts\/…\/x was not found x{50,300}$/,
    );
    twilio.troubles['GET AvailablePhoneNumbers'] = ['hang-up', 'hang-up'];
    const lost = await faultOf(search());
    for (const fault of [refused, missing, lost]) {
      const everything = inspect(fault, { depth: 10, showHidden: true });
      expect(everything).not.toContain('secret-token');
      expect(everything).not.toContain(
        Buffer.from(`${TWILIO_ACCOUNT.accountSid}:`).toString('base64').slice(0, 20),
      );
      expect(everything).not.toContain(TWILIO_ACCOUNT.accountSid);
    }
  });
});

describe('a purchase', () => {
  it('creates the trunk once, points it at the deployment, and assigns every number to it', async () => {
    const [first, second] = await Promise.all([carrier.buy(NUMBER), carrier.buy('+12125550102')]);
    await carrierWith({}).buy('+16045550103');
    expect(twilio.trunks).toMatchObject([{ friendly_name: `Parley ${SIP_ADDRESS}` }]);
    const trunkSid = twilio.trunks[0]?.['sid'];
    expect(twilio.originations).toMatchObject([{ trunk_sid: trunkSid, sip_url: `sip:${SIP_ADDRESS}` }]);
    expect(twilio.owned.map((row) => row['trunk_sid'])).toEqual([trunkSid, trunkSid, trunkSid]);
    expect(twilio.owned.map((row) => row['sid'])).toEqual(
      expect.arrayContaining([first.carrierNumberId, second.carrierNumberId]),
    );
  });

  it('finds its trunk among many, and completes an unfinished one', async () => {
    for (let index = 0; index < 4; index++)
      twilio.trunks.push({ sid: `TK${index}`, friendly_name: `other ${index}` });
    twilio.trunks.push({ sid: 'TKours', friendly_name: `Parley ${SIP_ADDRESS}` });
    await carrier.buy(NUMBER);
    expect(twilio.trunks).toHaveLength(5);
    expect(twilio.originations).toMatchObject([{ trunk_sid: 'TKours' }]);
    expect(twilio.owned).toMatchObject([{ trunk_sid: 'TKours' }]);
  });

  it('is not sent when the trunk cannot be created', async () => {
    twilio.troubles['POST Trunks'] = [{ status: 403, message: 'Trunking is not enabled' }];
    expect((await faultOf(carrier.buy(NUMBER))).message).toBe(
      'Twilio refused the request: Trunking is not enabled',
    );
    expect(times(BUY)).toBe(0);
    await carrier.buy(NUMBER);
    expect(twilio.owned).toHaveLength(1);
  });

  it('looks for its trunk again after it was deleted', async () => {
    await carrier.buy(NUMBER);
    twilio.trunks.length = 0;
    expect((await faultOf(carrier.buy('+12125550102'))).code).toBe('provider_refused');
    await carrier.buy('+12125550102');
    expect(twilio.owned).toHaveLength(2);
  });

  it('assigns no trunk without a public SIP address', async () => {
    await carrierWith({ sipAddress: undefined }).buy(NUMBER);
    expect(twilio.owned).toMatchObject([{ phone_number: NUMBER, trunk_sid: null }]);
    expect(twilio.trunks).toEqual([]);
  });

  it('is refused in Twilio’s words for an unavailable number', async () => {
    expect((await faultOf(carrier.buy('+14155550199'))).message).toBe(
      'Twilio refused the request: +14155550199 is not available',
    );
  });

  it('is retried after 429, which had no effect', async () => {
    twilio.troubles[BUY] = [{ status: 429, code: 20429, message: 'Too Many Requests' }];
    await carrier.buy(NUMBER);
    expect(times(BUY)).toBe(2);
  });

  it.each<TwilioTrouble>(['done-then-hang-up', 'done-then-500', 'done-then-silent'])(
    'is sent once and found if it ends in %s',
    async (trouble) => {
      twilio.troubles[BUY] = [trouble];
      const { carrierNumberId } = await carrier.buy(NUMBER);
      expect(twilio.owned).toMatchObject([{ sid: carrierNumberId, phone_number: NUMBER }]);
      expect(times(BUY)).toBe(1);
    },
  );

  it('has not happened if Twilio failed and does not list the number', async () => {
    twilio.troubles[BUY] = [{ status: 500 }];
    expect((await faultOf(carrier.buy(NUMBER))).code).toBe('provider_unreachable');
    expect(times(BUY)).toBe(1);
  });

  it.each<[string, TwilioTrouble, TwilioTrouble[]]>([
    ['it may still succeed', 'silent', []],
    ['Twilio reports only errors', 'done-then-500', [{ status: 500 }, { status: 500 }]],
  ])('is uncertain without an answer while %s', async (_name, trouble, afterwards) => {
    twilio.troubles[BUY] = [trouble];
    twilio.troubles[FIND] = afterwards;
    expect((await faultOf(carrier.buy(NUMBER))).code).toBe('provider_silent');
    expect(times(BUY)).toBe(1);
  });
});

describe('a call that Twilio cannot deliver', () => {
  const publicUrl = 'https://voice.example.com';
  const url = `${publicUrl}/carriers/lost-call`;
  const form = { CallSid: 'CA1', From: '+14155550111', To: NUMBER, CallStatus: 'ringing' };

  it('is to be reported to the public URL, set on a new trunk and on one without a URL', async () => {
    await carrierWith({ publicUrl: 'http://voice.example.com' }).buy(NUMBER);
    expect(twilio.trunks).toMatchObject([{ disaster_recovery_url: null }]);
    await carrierWith({ publicUrl }).buy('+12125550102');
    expect(twilio.trunks).toMatchObject([{ disaster_recovery_url: url }]);
    await carrierWith({ publicUrl: 'https://elsewhere.example.com' }).buy('+16045550103');
    expect(twilio.trunks).toMatchObject([{ disaster_recovery_url: url }]);
  });

  it('is accepted if its signature fits account, URL and fields; the caller hears a sentence', async () => {
    const { lostCalls } = carrier;
    const headers = { 'x-twilio-signature': signTwilioRequest(url, form) };
    expect(lostCalls?.read({ url, headers, form })).toEqual({
      carrierCallId: 'CA1',
      callerNumber: '+14155550111',
      dialedNumber: NUMBER,
    });
    const forged = [
      { url: 'https://other.example.com/carriers/lost-call', headers, form },
      { url, headers, form: { ...form, To: '+12125550102' } },
      { url, headers: {}, form },
      { url, headers: { 'x-twilio-signature': '' }, form },
      { url, headers: { 'x-twilio-signature': signTwilioRequest(url, {}) }, form: {} },
    ];
    for (const request of forged)
      expect(() => lostCalls?.read(request)).toThrow('does not match this deployment’s carrier account');
    expect(lostCalls?.apology.body).toMatch(/<Response><Say>Sorry, .*<\/Say><Hangup\/><\/Response>$/);
  });
});

describe('a number of the account', () => {
  it('is found among many, but only if it was bought here', async () => {
    for (let index = 0; index < 5; index++)
      twilio.owned.push({ sid: `PN${index}`, phone_number: `${NUMBER}${index}`, friendly_name: 'other' });
    twilio.owned.push({ sid: 'PNtheirs', phone_number: NUMBER, friendly_name: 'Head office' });
    expect(await carrier.findBought(NUMBER)).toBeNull();
    const bought = await carrier.buy(NUMBER);
    expect(await carrier.findBought(NUMBER)).toEqual(bought);
  });

  it('is released; releasing a number that is already gone is no error', async () => {
    const { carrierNumberId } = await carrier.buy(NUMBER);
    await carrier.release(carrierNumberId);
    expect(twilio.owned).toEqual([]);
    await carrier.release(carrierNumberId);
  });

  it('is released even if the first answer was lost', async () => {
    const { carrierNumberId } = await carrier.buy(NUMBER);
    twilio.troubles['DELETE IncomingPhoneNumbers'] = ['done-then-hang-up'];
    await carrier.release(carrierNumberId);
    expect(twilio.owned).toEqual([]);
  });

  it('remains when Twilio refuses', async () => {
    const { carrierNumberId } = await carrier.buy(NUMBER);
    twilio.troubles['DELETE IncomingPhoneNumbers'] = [{ status: 409, message: 'The number is being ported' }];
    expect((await faultOf(carrier.release(carrierNumberId))).message).toBe(
      'Twilio refused the request: The number is being ported',
    );
    expect(twilio.owned).toHaveLength(1);
  });
});

describe('the carrier of a deployment', () => {
  const logger = createLogger({ level: 'silent', name: 'test' });
  const sip = { SIP_HOST: '127.0.0.1', SIP_PORT: 5060, SIP_PUBLIC_IP: undefined, PUBLIC_URL: undefined };

  it('is the test catalogue without an account, Twilio with one', async () => {
    const without = {
      ...sip,
      TWILIO_ACCOUNT_SID: undefined,
      TWILIO_AUTH_TOKEN: undefined,
      TWILIO_BASE_URL: undefined,
    };
    expect((await chooseCarrier(without, logger)).name).toBe('Test catalogue');
    const { accountSid, authToken } = TWILIO_ACCOUNT;
    const chosen = await chooseCarrier(
      { ...sip, TWILIO_ACCOUNT_SID: accountSid, TWILIO_AUTH_TOKEN: authToken, TWILIO_BASE_URL: twilio.url },
      logger,
    );
    expect(chosen.name).toBe('Twilio');
    await chosen.buy(NUMBER);
    expect(twilio.owned).toMatchObject([{ trunk_sid: null }]);
  });

  it.each([
    [{ SIP_HOST: '127.0.0.1' }, undefined],
    [{ SIP_HOST: '0.0.0.0' }, undefined],
    [{ SIP_HOST: '10.0.0.5' }, undefined],
    [{ SIP_HOST: 'localhost' }, undefined],
    [{ SIP_HOST: 'sip.example.com', SIP_PORT: 0 }, undefined],
    [{ SIP_HOST: 'sip.example.com', SIP_PORT: 5080 }, 'sip.example.com:5080'],
    [{ SIP_HOST: '0.0.0.0', SIP_PUBLIC_IP: '93.184.215.14' }, '93.184.215.14:5060'],
    [{ SIP_HOST: '::', SIP_PUBLIC_IP: '2606:2800:21f::1' }, '[2606:2800:21f::1]:5060'],
  ])('gets, for settings %j, the call destination %s', (settings, address) => {
    expect(publicSipAddress({ ...sip, ...settings })).toBe(address);
  });
});
