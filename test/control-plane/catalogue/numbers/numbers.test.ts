import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fault } from '#config/errors.ts';
import { maintainNumbers } from '#control-plane/catalogue/numbers/maintain-numbers.ts';
import { newId } from '#control-plane/platform/context.ts';
import type { Carrier } from '#telephony/carriers/carrier.ts';
import { createTestCatalogue } from '#telephony/carriers/test-catalogue.ts';
import { openTestApi, type TestApi, type TestResponse, type TestUser } from '../../test-api.ts';

const numbers = '/v1/agent/phone-numbers';
const catalogue = createTestCatalogue();
let refusesRelease = false;
/** The test catalogue with a simulated carrier failure. */
const carrier: Carrier = {
  ...catalogue,
  release: async (id) => {
    if (refusesRelease) throw fault('provider_refused', { provider: 'Test catalogue', detail: 'not now' });
    await catalogue.release(id);
  },
};
let api: TestApi;
let user: TestUser;
let next = 15_550_120_000;
const fresh = () => `+${next++}`;

beforeAll(async () => {
  api = await openTestApi({ SIP_TRUNK_URI: 'trunk.example.com:5080' }, { carrier });
});
beforeEach(async () => {
  user = await api.createUser({ credit: '1.00' });
});
afterAll(() => api.close());

function create(body: object): Promise<TestResponse> {
  return api.request('POST', numbers, { key: user.key, body });
}
const buy = (phone_number: string, more: object = {}) =>
  create({ provider: 'managed', phone_number, ...more });
const credit = async () =>
  (await api.request('GET', '/wallet/self/api-credit', { key: user.key })).body.credit;

describe('the number search', () => {
  const search = async (query: string) =>
    (await api.request('GET', `/v1/agent/available-phone-numbers${query}`, { key: user.key })).body
      .available_phone_numbers;

  it('offers labelled test numbers that are free', async () => {
    const found = await search('');
    expect(found.length).toBeGreaterThan(0);
    expect(found[0]).toEqual({
      phone_number: '+15550100001',
      country_code: 'US',
      region: 'Test',
      locality: 'Test number (no telephone network)',
      number_type: 'local',
      provider: 'managed',
      daily_price: '0.04',
      monthly_price: '1.20',
    });
    await buy(found[0].phone_number);
    expect((await search('')).map((number: { phone_number: string }) => number.phone_number)).not.toContain(
      found[0].phone_number,
    );
  });

  it('filters by country and area code', async () => {
    expect((await search('?area_code=555')).length).toBeGreaterThan(0);
    expect(await search('?area_code=212')).toEqual([]);
    expect(await search('?country_code=CA')).toEqual([]);
  });

  it.each([
    ['number_type=toll_free', 400],
    ['number_type=mobile', 422],
    ['country_code=DE', 422],
    ['area_code=55', 422],
  ])('answers ?%s with %i', async (query, status) => {
    expect(
      (await api.request('GET', `/v1/agent/available-phone-numbers?${query}`, { key: user.key })).status,
    ).toBe(status);
  });
});

describe('a purchase', () => {
  it('charges the first day, binds the number, and reads back as its record', async () => {
    const agent = (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'a' } }))
      .body;
    const phone_number = fresh();
    const { status, body } = await buy(phone_number, { label: 'Front desk', agent_id: agent.agent_id });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      phone_number,
      provider: 'managed',
      label: 'Front desk',
      agent_id: agent.agent_id,
      status: 'active',
      supports_outbound: true,
      workspace_id: user.workspaceId,
      inbound_allowed_addresses: [],
    });
    expect(await credit()).toBe('0.96');
    expect((await api.request('GET', `${numbers}/${body.phone_number_id}`, { key: user.key })).body).toEqual(
      body,
    );
    const bySearch = await api.request('GET', `${numbers}?phone_number=${encodeURIComponent(phone_number)}`, {
      key: user.key,
    });
    expect(bySearch.body.phone_numbers).toEqual([body]);
    expect(
      (await api.request('GET', `${numbers}?agent_id=${agent.agent_id}`, { key: user.key })).body
        .phone_numbers,
    ).toEqual([body]);
    expect(
      (await api.request('GET', `${numbers}?agent_id=other`, { key: user.key })).body.phone_numbers,
    ).toEqual([]);
  });

  it('is 409 for a number that any account already has, and charges nothing', async () => {
    const phone_number = fresh();
    await buy(phone_number);
    user = await api.createUser({ credit: '1.00' });
    const { status, body } = await buy(phone_number);
    expect([status, body.message]).toEqual([409, 'This number is already on the platform']);
    expect(await credit()).toBe('1.00');
  });

  it('is 402 without credit and leaves no record', async () => {
    user = await api.createUser({ credit: '0.03' });
    const phone_number = fresh();
    const { status, body } = await buy(phone_number);
    expect([status, body]).toEqual([402, { status: 402, message: 'Out of API credit', reason: null }]);
    expect((await api.request('GET', numbers, { key: user.key })).body.phone_numbers).toEqual([]);
    user = await api.createUser();
    expect((await buy(phone_number)).status).toBe(201);
  });

  it('is 403 beyond the limit; a number in error does not count and can still be bought', async () => {
    user = await api.createUser({ phone_number_limit: 1 });
    expect((await buy('+14155550101')).status).toBe(502);
    expect((await buy('+14155550101')).status).toBe(502);
    expect((await buy(fresh())).status).toBe(201);
    const { status, body } = await buy(fresh());
    expect([status, body.message]).toEqual([403, 'Phone number limit reached for this team (1)']);
  });

  it('store 2: buys exactly three numbers if ten are bought at once under a limit of three', async () => {
    for (let burst = 0; burst < 4; burst++) {
      user = await api.createUser({ phone_number_limit: 3 });
      const statuses = (await Promise.all(Array.from({ length: 10 }, () => buy(fresh())))).map(
        (answer) => answer.status,
      );
      expect(statuses.toSorted()).toEqual([201, 201, 201, ...Array(7).fill(403)]);
      expect(await credit()).toBe('9.88');
    }
  });

  it('leaves a row in error if the carrier rejects it, refunds the day, and can be released', async () => {
    const { status, body } = await buy('+14155550199');
    expect([status, body.message]).toEqual([
      502,
      'Test catalogue refused the request: the number is not on offer',
    ]);
    expect(await credit()).toBe('1.00');
    const [row] = (await api.request('GET', numbers, { key: user.key })).body.phone_numbers;
    expect(row).toMatchObject({
      status: 'error',
      status_detail: 'Test catalogue refused the request: the number is not on offer',
    });
    expect((await api.request('DELETE', `${numbers}/${row.phone_number_id}`, { key: user.key })).status).toBe(
      204,
    );
  });

  it.each([
    ['no plus', { provider: 'managed', phone_number: '15550100500' }, 422],
    ['another provider', { provider: 'carrier', phone_number: '+15550100500' }, 422],
    ['no provider', { phone_number: '+15550100500' }, 422],
    ['a long label', { provider: 'managed', phone_number: '+15550100500', label: 'x'.repeat(121) }, 422],
    [
      'SIP fields',
      { provider: 'managed', phone_number: '+15550100500', termination_uri: 'sip.example.com' },
      422,
    ],
    ['an unknown agent', { provider: 'managed', phone_number: '+15550100500', agent_id: 'missing' }, 404],
  ])('is rejected for %s', async (_name, body, status) => {
    expect((await create(body)).status).toBe(status);
  });
});

describe('a number', () => {
  it('can be bound, unbound by null, and renamed', async () => {
    const agent = (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'a' } }))
      .body;
    const { phone_number_id } = (await buy(fresh())).body;
    const patch = (body: object) =>
      api.request('PATCH', `${numbers}/${phone_number_id}`, { key: user.key, body });
    expect(
      (await patch({ agent_id: agent.agent_id, label: 'x', transfer_caller_id: 'original_caller' })).body,
    ).toMatchObject({
      agent_id: agent.agent_id,
      label: 'x',
      transfer_caller_id: 'original_caller',
    });
    expect((await patch({ label: 'y' })).body.agent_id).toBe(agent.agent_id);
    expect((await patch({ agent_id: null })).body.agent_id).toBeNull();
    expect((await patch({ agent_id: 'missing' })).status).toBe(404);
    expect((await patch({ label: null })).status).toBe(422);
    expect((await patch({ phone_number: '+15550100600' })).status).toBe(422);
  });

  it('is deleted by its release, and can be bought again', async () => {
    const phone_number = fresh();
    const { phone_number_id } = (await buy(phone_number)).body;
    expect((await api.request('DELETE', `${numbers}/${phone_number_id}`, { key: user.key })).status).toBe(
      204,
    );
    for (const method of ['GET', 'DELETE'] as const)
      expect((await api.request(method, `${numbers}/${phone_number_id}`, { key: user.key })).status).toBe(
        404,
      );
    expect(
      (await api.request('PATCH', `${numbers}/${phone_number_id}`, { key: user.key, body: {} })).status,
    ).toBe(404);
    expect((await api.request('GET', numbers, { key: user.key })).body.phone_numbers).toEqual([]);
    expect((await buy(phone_number)).status).toBe(201);
    expect((await api.context.models.numbers.findById(phone_number_id).lean())?.status).toBe('released');
  });

  it('stays live when the carrier refuses its release, and a second release retries', async () => {
    const { phone_number_id } = (await buy(fresh())).body;
    refusesRelease = true;
    expect((await api.request('DELETE', `${numbers}/${phone_number_id}`, { key: user.key })).status).toBe(
      502,
    );
    expect((await api.request('GET', `${numbers}/${phone_number_id}`, { key: user.key })).body.status).toBe(
      'active',
    );
    refusesRelease = false;
    expect((await api.request('DELETE', `${numbers}/${phone_number_id}`, { key: user.key })).status).toBe(
      204,
    );
  });
});

describe('numbers without requests', () => {
  const keep = () => maintainNumbers(api.context, new Date(api.clock.wallTime() + 1));
  /**
   * A purchase interrupted by a crash, before or after its day was charged; the id of an uncharged number is
   * not in the ledger.
   */
  async function cutShort(isCharged: boolean): Promise<string> {
    const { phone_number_id } = (await buy(fresh())).body;
    const left = { status: 'provisioning', carrier_number_id: '', rent_day: '' } as const;
    const { numbers: stored } = api.context.models;
    if (isCharged) {
      await stored.updateOne({ _id: phone_number_id }, { $set: left });
      return phone_number_id;
    }
    const bought = await stored.findOneAndDelete({ _id: phone_number_id }).lean();
    const id = newId();
    await stored.create({ ...bought, ...left, _id: id });
    return id;
  }

  it('store 2: a number an older release bought uncounted counts from its next day', async () => {
    user = await api.createUser({ phone_number_limit: 2 });
    const { phone_number_id } = (await buy(fresh())).body;
    const { numbers: stored } = api.context.models;
    const counted = await stored.findById(phone_number_id).lean();
    await stored.create({ ...counted, _id: newId(), phone_number: fresh() });
    await api.clock.advance(86_400_000);
    await keep();
    expect((await buy(fresh())).body.message).toBe('Phone number limit reached for this team (2)');
  });

  it.each([true, false])(
    'an interrupted purchase (charged: %s) ends in error, uncharged, however often it is checked',
    async (isCharged) => {
      const id = await cutShort(isCharged);
      const before = Number(await credit());
      await keep();
      await keep();
      const { body } = await api.request('GET', `${numbers}/${id}`, { key: user.key });
      expect(body).toMatchObject({ status: 'error', status_detail: 'the purchase was interrupted' });
      expect(Number(await credit())).toBeCloseTo(before + (isCharged ? 0.04 : 0), 6);
    },
  );

  it('rent is charged once a day, even below zero', async () => {
    user = await api.createUser({ credit: '0.05' });
    await buy(fresh());
    await keep();
    expect(await credit()).toBe('0.01');
    await api.clock.advance(24 * 3_600_000);
    await keep();
    await keep();
    expect(await credit()).toBe('-0.03');
  });
});
