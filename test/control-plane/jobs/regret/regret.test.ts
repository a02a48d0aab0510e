import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { measureRegret } from '#control-plane/jobs/regret/regret-runner.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { storedLog } from '../../../runtime/replay/logged-call.ts';
import { begunCall, endCall } from '../../logged-calls.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const DAY_MS = 24 * 60 * 60_000;

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());
beforeEach(async () => {
  api.dispatch.reset();
  api.dispatch.unreachable = null;
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});

const begun = () => begunCall(api, user.key, { agent_id: agentId });

async function endedCall(log: string | null): Promise<void> {
  await endCall(api, await begun(), log);
}

const read = async (query = '') => {
  const answer = await api.request('GET', `/v1/agent/agents/${agentId}/regret${query}`, { key: user.key });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};
const measure = (holder = 'alone') =>
  measureRegret(api.context, { holder, candidates: async () => new Map() });
const leftOver = () =>
  Promise.all([
    api.context.models.regretDays.countDocuments({ agent_id: agentId }),
    api.context.models.regrets.countDocuments({ _id: agentId }),
  ]);
/** Until what has ended is settled. */
const later = () => api.clock.advance(70_000);

describe('the regret of an agent', () => {
  it('has every ended call once, by day and version, with what could not be read counted apart', async () => {
    for (const seed of [1, 2, 3]) await endedCall(await storedLog(seed));
    await endedCall(null);
    await later();
    await measure();
    await measure();
    const { all, by_day, by_version } = await read();
    expect(all).toMatchObject({ calls: 3, left_out: 1 });
    expect(all.turns).toBeGreaterThan(0);
    expect(by_version).toMatchObject([{ version_number: 1, calls: 3 }]);
    expect(by_day).toMatchObject([{ day: api.at().slice(0, 10), version_number: 1, calls: 3 }]);
  });

  it('waits for a call that has not ended, so that none is left out', async () => {
    const open = await begun();
    await endedCall(await storedLog(1));
    await later();
    await measure();
    expect((await read()).all.calls).toBe(0);
    await endCall(api, open, await storedLog(2));
    await later();
    await measure();
    expect((await read()).all.calls).toBe(2);
  });

  it('counts no call twice when a process dies between the sums and the position', async () => {
    await endedCall(await storedLog(1));
    await later();
    await measure();
    await api.context.models.regrets.updateOne(
      { _id: agentId },
      { $set: { at: new Date(0), session_id: '' } },
    );
    await endedCall(await storedLog(2));
    await later();
    await measure();
    expect((await read()).all.calls).toBe(2);
  });

  it('is left to the process that measures it', async () => {
    await endedCall(await storedLog(1));
    await later();
    await measure('first');
    const until = new Date(api.clock.wallTime() + 60_000);
    await api.context.models.regrets.updateOne(
      { _id: agentId },
      { $set: { lease_by: 'first', lease_until: until } },
    );
    await endedCall(await storedLog(2));
    await later();
    await api.context.models.regrets.updateOne(
      { _id: agentId },
      { $set: { lease_until: new Date(api.clock.wallTime() + 60_000) } },
    );
    await measure('second');
    expect((await read()).all.calls).toBe(1);
    await measure('first');
    expect((await read()).all.calls).toBe(2);
  });

  it('goes on with the next calls after one that no worker can measure', async () => {
    await endedCall('torn');
    await endedCall(await storedLog(1));
    await later();
    await measure();
    expect((await read()).all).toMatchObject({ calls: 1, left_out: 1 });
  });

  it('is of the days asked for, and refuses more than there can be', async () => {
    await endedCall(await storedLog(1));
    await later();
    await measure();
    const yesterday = new Date(api.clock.wallTime() - DAY_MS).toISOString().slice(0, 10);
    expect((await read(`?from=${yesterday}&to=${yesterday}`)).all.calls).toBe(0);
    const long = await api.request('GET', `/v1/agent/agents/${agentId}/regret?from=2020-01-01`, {
      key: user.key,
    });
    expect(long.status).toBe(400);
    const turned = await api.request(
      'GET',
      `/v1/agent/agents/${agentId}/regret?from=2026-02-01&to=2026-01-01`,
      { key: user.key },
    );
    expect(turned.status).toBe(400);
  });

  it('is deleted with the retention of flight logs', async () => {
    await endedCall(await storedLog(1));
    await later();
    await measure();
    await api.request('PATCH', '/v1/agent/privacy', { key: user.key, body: { flight_logs_days: 1 } });
    await api.clock.advance(3 * DAY_MS);
    await enforceRetention(api.context, 'test');
    expect(await api.context.models.regretDays.countDocuments({ agent_id: agentId })).toBe(0);
  });

  it('is deleted with the agent, and hidden from other teams', async () => {
    await endedCall(await storedLog(1));
    await later();
    await measure();
    const other = await api.createUser();
    const path = `/v1/agent/agents/${agentId}`;
    expect((await api.request('GET', `${path}/regret`, { key: other.key })).status).toBe(404);
    await api.request('DELETE', path, { key: user.key });
    expect(await leftOver()).toEqual([0, 0]);
  });

  it('leaves nothing of an agent that is deleted while a worker measures its calls', async () => {
    await endedCall(await storedLog(1));
    await later();
    const measured = api.dispatch.measureRegret.bind(api.dispatch);
    const deletion = vi.spyOn(api.dispatch, 'measureRegret').mockImplementationOnce(async (calls) => {
      await api.request('DELETE', `/v1/agent/agents/${agentId}`, { key: user.key });
      return measured(calls);
    });
    await measure();
    expect(deletion).toHaveBeenCalledOnce();
    expect(await leftOver()).toEqual([0, 0]);
    deletion.mockRestore();
  });
});
