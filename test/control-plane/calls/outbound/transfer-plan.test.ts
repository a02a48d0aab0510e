import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentConfig, defaultAgentConfig } from '#config/agent-config.ts';
import { planTransfers } from '#control-plane/calls/outbound/transfer-plan.ts';
import type { NumberDocument } from '#control-plane/platform/store/models/number-model.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const TRUNK = {
  SIP_TRUNK_URI: 'trunk.example.com',
  SIP_TRUNK_USERNAME: 'parley',
  SIP_TRUNK_PASSWORD: 'a trunk password',
};
const HOSTED = '+15550190001';

let api: TestCalls;
beforeAll(async () => {
  api = await openTestCalls(TRUNK);
  await api.context.models.numbers.collection.insertOne(number({ phone_number: HOSTED }) as never);
});
afterAll(() => api.close());

function number(over: Partial<NumberDocument> = {}): NumberDocument {
  const owner = { team_id: 't', workspace_id: 'w', user_id: 'u' };
  const at = new Date();
  const facts = {
    phone_number: '+15550190002',
    provider: 'managed',
    label: '',
    agent_id: null,
    status: 'active',
    status_detail: '',
  } as const;
  const rest = {
    transfer_caller_id: 'agent_number',
    carrier_number_id: '',
    rent_day: '',
    sip: null,
    is_proven: true,
    created_at: at,
    updated_at: at,
  } as const;
  return { _id: over.phone_number ?? 'n', ...owner, ...facts, ...rest, ...over };
}

const imported = (over: Partial<NumberDocument> = {}, termination = 'pbx.example.com'): NumberDocument =>
  number({
    provider: 'sip',
    sip: {
      inbound_auth_username: null,
      inbound_auth_password: null,
      inbound_allowed_addresses: [],
      termination_uri: termination,
      termination_transport: 'tcp',
      termination_auth_username: 'u',
      termination_auth_password: api.context.secretBox.seal('p'),
      termination_headers: { 'X-Site': 'berlin' },
    },
    ...over,
  });

function plan(from: NumberDocument, destinations: readonly object[], callerNumber = '+14155550100') {
  const defaults = defaultAgentConfig({ llmModel: 'test/model', asrModel: 'test', voiceId: 'default' });
  const config = agentConfig.parse({
    ...defaults,
    conversation: { ...defaults.conversation, transfer_destinations: destinations },
  });
  return planTransfers(api.context, from, { sessionId: 's1', config, callerNumber });
}
const to = (phone_number: string) => ({ phone_number });
const errorOf = async (from: NumberDocument, destination: object) =>
  (await plan(from, [destination]))?.routes[0]?.error?.split(':')[0];

describe('the route to a transfer destination', () => {
  it('is not planned if the agent has no destinations', async () => {
    expect(await plan(number(), [])).toBe(null);
  });

  it('uses the platform’s trunk and the agent’s number for a managed number', async () => {
    expect(await plan(number(), [to('+14155550123')])).toEqual({
      is_counted: true,
      from_number: '+15550190002',
      routes: [
        {
          number: '+14155550123',
          dial_uri: 'sip:+14155550123@trunk.example.com',
          guard: null,
          is_referable: true,
          headers: { 'X-Service-Session-Id': 's1' },
          username: 'parley',
          password: 'a trunk password',
          error: null,
        },
      ],
    });
  });

  it('uses an imported number’s own trunk, and does not exist without termination', async () => {
    const planned = await plan(imported(), [{ type: 'phone', phone_number: '+493012345' }]);
    expect(planned?.is_counted).toBe(false);
    const [route] = planned?.routes ?? [];
    expect(route).toMatchObject({
      dial_uri: 'sip:+493012345@pbx.example.com;transport=tcp',
      username: 'u',
      password: 'p',
    });
    expect(route?.headers).toEqual({ 'X-Site': 'berlin', 'X-Service-Session-Id': 's1' });
    expect((await plan(imported({}, ''), [to('+493012345')]))?.routes[0]).toMatchObject({
      number: '+493012345',
      dial_uri: '',
      error: null,
    });
  });

  it('is direct for a SIP URI, without the trunk’s password and headers', async () => {
    expect((await plan(imported(), [{ type: 'sip', sip_uri: 'sip:desk@example.com' }]))?.routes[0]).toEqual({
      number: null,
      dial_uri: 'sip:desk@example.com',
      guard: { trunk: 'trunk.example.com', trusted: ['127.0.0.0/8'] },
      is_referable: true,
      headers: { 'X-Service-Session-Id': 's1' },
      username: null,
      password: null,
      error: null,
    });
  });

  it('does not exist for numbers hosted here, other countries and premium ranges', async () => {
    expect(await errorOf(number(), to(HOSTED))).toBe('self_call_blocked');
    expect(await errorOf(imported(), to(HOSTED))).toBe('self_call_blocked');
    expect(await errorOf(number(), { type: 'sip', sip_uri: `sip:${HOSTED}@example.com` })).toBe(
      'self_call_blocked',
    );
    expect(await errorOf(number(), to('+493012345'))).toBe('destination_not_allowed');
    expect(await errorOf(number(), to('+19005550123'))).toBe('premium_destination_blocked');
    expect(await errorOf(number(), to('12345'))).toBe('destination_invalid');
  });

  it.each([
    'sip:15550190001@',
    'sip:%2B15550190001@',
    'sip:+15550190001:x@',
    'sip:+1-555-019-0001@',
    'sips:+1(555)0190001@',
  ])('security 11: does not exist for a number hosted here, written as %s', async (spelt) => {
    for (const from of [number(), imported()])
      expect(await errorOf(from, { type: 'sip', sip_uri: `${spelt}example.com` })).toBe('self_call_blocked');
  });

  it.each([
    ['sip:+5352001234@example.com', 'destination_not_allowed'],
    ['sip:005352001234@example.com', 'destination_not_allowed'],
    ['sip:%2B1-900-555-0123@example.com', 'premium_destination_blocked'],
    ['sip:+14155550123@example.com', undefined],
    ['sip:200@example.com', undefined],
    ['sip:desk@example.com', undefined],
    ['sip:a@b@example.com', 'destination_invalid'],
  ])(
    'security 4: obeys the rules of the number in a SIP address if the agent’s number is managed: %s',
    async (sip_uri, error) => {
      expect(await errorOf(number(), { type: 'sip', sip_uri })).toBe(error);
      if (error !== 'destination_invalid')
        expect(await errorOf(imported(), { type: 'sip', sip_uri })).toBe(undefined);
    },
  );

  it('security 4: never leads from a managed number to a SIP address through the platform’s carrier', async () => {
    const [route] = (await plan(number(), [{ type: 'sip', sip_uri: 'sip:desk@example.com' }]))?.routes ?? [];
    expect(route).toMatchObject({ is_referable: false, guard: { trunk: 'trunk.example.com' } });
  });

  it('security 12: passes the egress guard when it is dialled over a tenant’s own trunk', async () => {
    const [route] = (await plan(imported(), [to('+493012345')]))?.routes ?? [];
    expect(route?.guard).toEqual({ trunk: 'trunk.example.com', trusted: ['127.0.0.0/8'] });
  });

  it('shows the caller’s number if configured, and the agent’s number if the caller withholds theirs', async () => {
    const shown = (callerNumber: string, over: Partial<NumberDocument>) =>
      plan(number(over), [to('+14155550123')], callerNumber);
    expect((await shown('+14155550100', { transfer_caller_id: 'original_caller' }))?.from_number).toBe(
      '+14155550100',
    );
    expect((await shown('anonymous', { transfer_caller_id: 'original_caller' }))?.from_number).toBe(
      '+15550190002',
    );
  });
});
