import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runRehearsals } from '#control-plane/jobs/rehearsals/rehearsal-runner.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { storedLog } from '../../../runtime/replay/logged-call.ts';
import { begunCall, endCall } from '../../logged-calls.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const DAY_MS = 86_400_000;
let api: TestCalls;
let user: TestUser;
let agentId: string;
let log: string;

beforeAll(async () => {
  api = await openTestCalls();
  log = await storedLog(1);
});
afterAll(() => api.close());
beforeEach(async () => {
  api.dispatch.reset();
  await api.context.models.rehearsals.deleteMany({});
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});

/** An ended call of the person `u-1` that goes another way under the draft. */
async function endedCall(): Promise<string> {
  const id = await begunCall(api, user.key, { agent_id: agentId, end_user_id: 'u-1' });
  await endCall(api, id, log);
  return id;
}

const path = () => `/v1/agent/agents/${agentId}/rehearsals`;
const erase = () =>
  api.request('POST', '/v1/agent/erasures', { key: user.key, body: { end_user_id: 'u-1' } });
const stored = (id: string) => api.context.models.rehearsals.findById(id).lean();

async function start(): Promise<string> {
  const conversation = { eagerness: 'eager', response_wait_ms: 300 };
  const config = `/v1/agent/agents/${agentId}/config`;
  await api.request('PATCH', config, { key: user.key, body: { conversation } });
  return (await api.request('POST', path(), { key: user.key, body: {} })).body.rehearsal_id;
}

async function run(): Promise<void> {
  for (let passes = 0; passes < 3; passes++) await runRehearsals(api.context, 'test');
}

describe('what a rehearsal stores about a person', () => {
  it('loses an erased call from the calls to listen to, and keeps it counted', async () => {
    const call = await endedCall();
    const id = await start();
    await run();
    expect((await stored(id))?.tally).toContain(call);
    await erase();
    expect(JSON.stringify(await stored(id))).not.toContain(call);
    const { body } = await api.request('GET', `${path()}/${id}`, { key: user.key });
    expect(body.result).toMatchObject({ all: { calls: 1 }, to_listen: [] });
  });

  it('never has a call that is erased while a worker runs it', async () => {
    const call = await endedCall();
    const id = await start();
    const { dispatch } = api;
    const rehearse = dispatch.rehearse.bind(dispatch);
    dispatch.rehearse = async (calls) => {
      dispatch.rehearse = rehearse;
      await erase();
      return rehearse(calls);
    };
    await run();
    const after = await stored(id);
    expect(after).toMatchObject({ status: 'completed', left_out: { no_log: 1 } });
    expect(after?.tally).not.toContain(call);
  });

  it('groups a call that the agent placed by the agent’s number, not by the person’s', async () => {
    const call = await endedCall();
    const numbers = { caller_number: '+14155550111', dialed_number: '+15550100001' };
    await api.context.models.sessions.updateOne(
      { _id: call },
      { $set: { ...numbers, channel: 'phone', direction: 'outbound' } },
    );
    const id = await start();
    await run();
    const { body } = await api.request('GET', `${path()}/${id}`, { key: user.key });
    expect(body.result.by_number.map(({ name }: { name: string }) => name)).toEqual(['+15550100001']);
  });

  it('is deleted when flight logs of its time are', async () => {
    const old = await start();
    await run();
    const at = new Date(api.clock.wallTime() - 8 * DAY_MS);
    await api.context.models.rehearsals.updateOne({ _id: old }, { $set: { created_at: at } });
    const newer = await start();
    await api.request('PATCH', '/v1/agent/privacy', { key: user.key, body: { flight_logs_days: 7 } });
    await enforceRetention(api.context, 'replica');
    expect(await stored(old)).toBeNull();
    expect(await stored(newer)).not.toBeNull();
  });
});
