/** SIP beside media streams: an INVITE to a number whose calls come as media streams. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber, sipOf } from '../../test-numbers.ts';

const CARRIER = '198.51.100.7';
let api: TestCalls;
let user: TestUser;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser({ credit: '5.00' });
});
afterAll(() => api.close());

/** The answer to an INVITE to a connected number with this SIP configuration. */
async function answerTo(phoneNumber: string, sip: Record<string, unknown>) {
  await insertNumber(api, user, {
    phone_number: phoneNumber,
    provider: 'sip',
    is_proven: false,
    sip: sipOf(sip),
    media_stream: { vendor: 'twilio', account: 'AC1', secret: api.context.secretBox.seal('token') },
    agent_id: await api.publishAgent(user),
  });
  const { answer, planned } = await admitCall(api.context, {
    call_id: `call-${phoneNumber}`,
    from_user: '+14155550111',
    to_user: phoneNumber,
    source_address: CARRIER,
    source_port: 5060,
    transport: 'udp',
    headers: {},
  });
  await planned;
  return answer.action === 'route' ? 'routed' : answer.data.status;
}

it('finds no number if that has no trunk: nothing would prove who calls', async () => {
  expect(await answerTo('+14155550161', {})).toBe(404);
});

it('is answered if the number has a trunk, too', async () => {
  expect(await answerTo('+14155550162', { inbound_allowed_addresses: [CARRIER] })).toBe('routed');
});
