import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber } from '../../test-numbers.ts';

let api: TestCalls;
beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUNK_URI: 'trunk.example.com', OUTBOUND_CALLS_PER_MINUTE: '3' });
});
afterAll(() => api.close());

/** An account with an agent and a managed number. */
async function account() {
  const user = await api.createUser();
  return { user, agentId: await api.publishAgent(user), numberId: await insertNumber(api, user) };
}
const call = ({
  user,
  agentId,
  numberId,
}: {
  readonly user: TestUser;
  readonly agentId: string;
  readonly numberId: string;
}) =>
  api.request('POST', '/v1/agent/phone-calls', {
    key: user.key,
    body: { agent_id: agentId, phone_number_id: numberId, to_number: '+14155550123' },
  });
const transfer = (session_id: string, token = api.context.credentials.workerToken) =>
  api.request('POST', '/internal/transfers', { key: token, body: { session_id } });

it('security 4: transfers from managed numbers and calls by them share OUTBOUND_CALLS_PER_MINUTE', async () => {
  const ours = await account();
  const { session_id: id } = (await call(ours)).body;
  expect((await transfer(id)).body).toEqual({ is_allowed: true });
  expect((await transfer(id)).body).toEqual({ is_allowed: true });
  expect((await transfer(id)).body).toEqual({ is_allowed: false });
  expect((await call(ours)).status).toBe(429);
  const theirs = await account();
  const { session_id: another } = (await call(theirs)).body;
  expect((await transfer(another)).body).toEqual({ is_allowed: true });
  await api.clock.advance(60_000);
  expect((await transfer(id)).body).toEqual({ is_allowed: true });
});

it('a transfer of a missing session is not permitted', async () => {
  expect((await transfer('none')).body).toEqual({ is_allowed: false });
});

it('only a worker may ask whether a transfer is permitted', async () => {
  expect((await transfer('none', (await account()).user.key)).status).toBe(401);
});
