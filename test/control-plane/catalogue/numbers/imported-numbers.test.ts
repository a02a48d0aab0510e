import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

const numbers = '/v1/agent/phone-numbers';
let api: TestApi;
let user: TestUser;
let next = 15_550_120_000;
const fresh = () => `+${next++}`;
const create = (body: object) => api.request('POST', numbers, { key: user.key, body });

beforeAll(async () => {
  api = await openTestApi({ SIP_TRUNK_URI: 'trunk.example.com:5080' });
});
beforeEach(async () => {
  user = await api.createUser({ credit: '1.00' });
});
afterAll(() => api.close());

describe('an imported number', () => {
  const trunk = {
    provider: 'sip',
    inbound_auth_username: 'in',
    inbound_auth_password: 'in-secret',
    termination_uri: 'sip.example.com:5080',
    termination_auth_username: 'out',
    termination_auth_password: 'out-secret',
  };

  it('stores its passwords sealed and never shows them', async () => {
    const { status, body, text } = await create({
      ...trunk,
      phone_number: fresh(),
      inbound_allowed_addresses: ['203.0.113.0/24', '2001:db8::1'],
      termination_headers: { 'X-Account': '7' },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      provider: 'sip',
      status: 'active',
      supports_outbound: true,
      caller_id_sync_status: 'carrier_managed',
      inbound_auth_username: 'in',
      termination_uri: 'sip.example.com:5080',
      termination_transport: 'auto',
      termination_headers: { 'X-Account': '7' },
    });
    expect(text).not.toContain('secret');
    const stored = await api.context.models.numbers.findById(body.phone_number_id).lean();
    expect(JSON.stringify(stored)).not.toContain('-secret');
    expect(api.context.secretBox.open(stored?.sip?.termination_auth_password ?? '')).toBe('out-secret');
    const credit = await api.request('GET', '/wallet/self/api-credit', { key: user.key });
    expect(credit.body.credit).toBe('1.00');
  });

  it.each([
    ['no inbound factor', { provider: 'sip' }],
    ['a username alone', { provider: 'sip', inbound_auth_username: 'in' }],
    [
      'a password alone',
      { provider: 'sip', inbound_auth_password: 'p', inbound_allowed_addresses: ['203.0.113.1'] },
    ],
    ['termination credentials without uri', { ...trunk, termination_uri: null }],
    [
      'a domain of From without uri',
      { provider: 'sip', inbound_allowed_addresses: ['203.0.113.1'], termination_from_domain: 'sip.example' },
    ],
    ['a domain of From with a port', { ...trunk, termination_from_domain: 'sip.example:5061' }],
    ['a termination uri with a scheme', { ...trunk, termination_uri: 'sip:sip.example.com' }],
    ['an address that is none', { ...trunk, inbound_allowed_addresses: ['trunk.example.com'] }],
    ['a header of another kind', { ...trunk, termination_headers: { Subject: 'x' } }],
    ['a reserved header', { ...trunk, termination_headers: { 'x-service-key': 'x' } }],
    ['a header twice', { ...trunk, termination_headers: { 'X-A': '1', 'x-a': '2' } }],
    ['a long password', { ...trunk, inbound_auth_password: 'x'.repeat(129) }],
  ])('is 422 if it has %s', async (_name, body) => {
    expect((await create({ ...body, phone_number: fresh() })).status).toBe(422);
  });

  it.each(['sip.example.com:0', 'sip.example.com:65536', 'sip.example.com:99999', '[::1', '[1.2.3.4]'])(
    'security 4: is 422 with the termination URI %s, which has no such port or address',
    async (termination_uri) => {
      expect((await create({ ...trunk, termination_uri, phone_number: fresh() })).status).toBe(422);
    },
  );

  it.each([
    ['security 4: is its name', 'trunk.example.com', "The host is the operator's own trunk"],
    [
      'security 4: is its name in other letters',
      'Trunk.Example.com:5090',
      "The host is the operator's own trunk",
    ],
    ['security 4: resolves to it', 'alias-of-the-trunk.example.com', "The host is the operator's own trunk"],
    ['security 4: is its address', '93.184.215.77:5061', "The host is the operator's own trunk"],
    [
      'security 12: is a machine of the operator’s network',
      '127.0.0.1:15999',
      'The host is not a public address',
    ],
    [
      'security 12: resolves to a machine of the operator’s network',
      'private.example.com',
      'The host is not a public address',
    ],
  ])('%s: its trunk is rejected on import and on change', async (_, termination_uri, text) => {
    const imported = await create({ ...trunk, termination_uri, phone_number: fresh() });
    expect([imported.status, imported.text]).toEqual([422, expect.stringContaining(text)]);
    const { phone_number_id } = (await create({ ...trunk, phone_number: fresh() })).body;
    const body = { ...trunk, termination_uri, provider: undefined };
    const changed = await api.request('PUT', `${numbers}/${phone_number_id}/sip-config`, {
      key: user.key,
      body,
    });
    expect([changed.status, changed.text]).toEqual([422, expect.stringContaining(text)]);
  });

  it('has a domain of From from the time it is set until it is replaced without one', async () => {
    const { body } = await create({ ...trunk, phone_number: fresh() });
    const put = async (change: object) => {
      const path = `${numbers}/${body.phone_number_id}/sip-config`;
      const { provider: _, ...config } = { ...trunk, ...change };
      return (await api.request('PUT', path, { key: user.key, body: config })).body;
    };
    expect(body).not.toHaveProperty('termination_from_domain');
    const changed = await put({ termination_from_domain: 'sip.example' });
    expect(changed.termination_from_domain).toBe('sip.example');
    expect(await put({})).not.toHaveProperty('termination_from_domain');
  });

  it('is replaced completely; an empty password keeps the old one, an empty URI makes it inbound-only', async () => {
    const { phone_number_id } = (await create({ ...trunk, phone_number: fresh() })).body;
    const put = (body: object) =>
      api.request('PUT', `${numbers}/${phone_number_id}/sip-config`, { key: user.key, body });
    const replaced = await put({
      inbound_auth_username: 'in2',
      inbound_auth_password: '',
      termination_uri: '',
    });
    expect(replaced.body).toMatchObject({
      inbound_auth_username: 'in2',
      termination_uri: null,
      termination_auth_username: null,
      supports_outbound: false,
    });
    const stored = await api.context.models.numbers.findById(phone_number_id).lean();
    expect(api.context.secretBox.open(stored?.sip?.inbound_auth_password ?? '')).toBe('in-secret');
    expect(stored?.sip?.termination_auth_password).toBeNull();
    expect((await put({})).status).toBe(422);
    const managed = (await create({ provider: 'managed', phone_number: fresh() })).body;
    expect(
      (
        await api.request('PUT', `${numbers}/${managed.phone_number_id}/sip-config`, {
          key: user.key,
          body: { inbound_allowed_addresses: ['203.0.113.1'] },
        })
      ).status,
    ).toBe(422);
  });
});
