import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runRehearsals } from '#control-plane/jobs/rehearsals/rehearsal-runner.ts';
import { sampleOf } from '#test/fakes/metric-sample.ts';
import { storedLog } from '../../../runtime/replay/logged-call.ts';
import { begunCall, endCall } from '../../logged-calls.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const EAGER = { eagerness: 'eager', response_wait_ms: 300 } as const;

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
  await api.context.models.rehearsals.deleteMany({});
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});

/** An ended call with this flight log, or without one. */
async function endedCall(log: string | null): Promise<string> {
  const id = await begunCall(api, user.key, { agent_id: agentId });
  await endCall(api, id, log);
  return id;
}

const path = () => `/v1/agent/agents/${agentId}/rehearsals`;
const start = (body: object = {}, key = user.key) => api.request('POST', path(), { key, body });
const change = (conversation: object) =>
  api.request('PATCH', `/v1/agent/agents/${agentId}/config`, { key: user.key, body: { conversation } });
const pass = () => runRehearsals(api.context, 'test');

async function rehearsed(body: object = {}) {
  const started = await start(body);
  expect(started.status, started.text).toBe(201);
  const read = async () =>
    (await api.request('GET', `${path()}/${started.body.rehearsal_id}`, { key: user.key })).body;
  for (let passes = 0; passes < 20 && (await read()).status === 'running'; passes++) await pass();
  return read();
}

describe('a rehearsal of an agent', () => {
  it('runs its ended calls under the draft, and sends a worker what the draft changes', async () => {
    const ids = [await endedCall(await storedLog(1)), await endedCall(await storedLog(2))];
    await change(EAGER);
    const record = await rehearsed();
    expect(record).toMatchObject({
      ...{ status: 'completed', calls_found: 2, calls_wanted: 2, calls_looked_at: 2, not_judged: [] },
      left_out: { no_log: 0, other_version: 0, unreadable: 0 },
      result: { all: { calls: 2 } },
    });
    expect(record.finished_at).not.toBeNull();
    const [calls] = api.dispatch.rehearsed;
    expect(calls?.map(({ session_id }) => session_id).sort()).toEqual([...ids].sort());
    expect(calls?.[0]?.changes).toEqual(EAGER);
  });

  it('says how many calls it leaves out, and why', async () => {
    await endedCall(null);
    await endedCall((await storedLog(1)).replace(/"machine_version":\d+/, '"machine_version":1'));
    await endedCall('torn');
    await endedCall(await storedLog(2));
    const { left_out, result } = await rehearsed();
    expect(left_out).toEqual({ no_log: 1, other_version: 1, unreadable: 1 });
    expect(result.all.calls).toBe(1);
  });

  it('names what the draft changes and no rehearsal judges', async () => {
    const body = { prompt: { system_prompt: 'Another one.' }, conversation: EAGER };
    await api.request('PATCH', `/v1/agent/agents/${agentId}/config`, { key: user.key, body });
    expect((await rehearsed()).not_judged).toEqual(['prompt.system_prompt']);
  });

  it('asks a worker for a few megabytes at once, and shows how far it is', async () => {
    // A worker that is lost leaves an incomplete last line, which is not read.
    const long = (await storedLog(1)) + 'x'.repeat(1_500_000);
    for (let calls = 0; calls < 3; calls++) await endedCall(long);
    const { body } = await start();
    await pass();
    const half = await api.request('GET', `${path()}/${body.rehearsal_id}`, { key: user.key });
    expect(half.body).toMatchObject({ status: 'running', calls_looked_at: 1, result: { all: { calls: 1 } } });
    await pass();
    await pass();
    const whole = await api.request('GET', `${path()}/${body.rehearsal_id}`, { key: user.key });
    expect(whole.body).toMatchObject({ status: 'completed', result: { all: { calls: 3 } } });
    expect(api.dispatch.rehearsed.map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  it('draws a sample if there are more calls than wanted', async () => {
    for (let calls = 0; calls < 12; calls++) await endedCall(null);
    const { calls_found, calls_wanted, calls_looked_at } = await rehearsed({ calls: 3 });
    expect([calls_found, calls_wanted]).toEqual([12, 3]);
    expect(calls_looked_at).toBeLessThan(12);
  });

  it('goes on where a process left it that was killed, and counts no call twice', async () => {
    const long = (await storedLog(1)) + 'x'.repeat(1_500_000);
    for (let calls = 0; calls < 2; calls++) await endedCall(long);
    const { body } = await start();
    await pass();
    // Another process may not take it before the lease of the dead one is over.
    await runRehearsals(api.context, 'other');
    expect(api.dispatch.rehearsed).toHaveLength(1);
    await api.clock.advance(90_000);
    await runRehearsals(api.context, 'other');
    const { body: record } = await api.request('GET', `${path()}/${body.rehearsal_id}`, { key: user.key });
    expect(record).toMatchObject({ status: 'completed', calls_looked_at: 2, result: { all: { calls: 2 } } });
  });

  it('waits for a worker, and fails with the reason when none has answered for ten minutes', async () => {
    await endedCall(await storedLog(1));
    const { body } = await start();
    api.dispatch.unreachable = 'no_capacity';
    await pass();
    const read = () => api.request('GET', `${path()}/${body.rehearsal_id}`, { key: user.key });
    expect((await read()).body.status).toBe('running');
    await api.clock.advance(600_000);
    await pass();
    expect((await read()).body).toMatchObject({
      status: 'failed',
      error: 'No worker has rehearsed a call for ten minutes',
    });
  });

  it('of an agent without calls is completed at once', async () => {
    expect(await rehearsed()).toMatchObject({ status: 'completed', calls_found: 0 });
    expect(api.dispatch.rehearsed).toEqual([]);
  });

  it('is refused while the account has another one, for more than the limits, and for others', async () => {
    expect((await start()).status).toBe(201);
    expect((await start()).body).toMatchObject({ reason: 'too_many_at_once' });
    expect((await start({ calls: 10_001 })).status).toBe(422);
    expect((await start({ days: 91 })).status).toBe(422);
    expect((await start({}, (await api.createUser()).key)).status).toBe(404);
  });

  it('is listed without its result, and deleted with its agent', async () => {
    const { rehearsal_id } = await rehearsed();
    const { body } = await api.request('GET', path(), { key: user.key });
    expect(body.rehearsals).toHaveLength(1);
    expect(body.rehearsals[0]).toMatchObject({ rehearsal_id, status: 'completed' });
    expect(body.rehearsals[0].result).toBeUndefined();
    await api.request('DELETE', `/v1/agent/agents/${agentId}`, { key: user.key });
    expect(await api.context.models.rehearsals.countDocuments({ agent_id: agentId })).toBe(0);
  });

  it('fails with the reason when no repetition can mend it, and frees the account’s place', async () => {
    await endedCall(await storedLog(1));
    // A draft of a time when zones were not checked.
    const timezone = { 'config.conversation.timezone': 'Nowhere/City' };
    await api.context.models.agents.updateOne({ _id: agentId }, { $set: timezone } as never);
    const { meters } = api.context.metrics;
    const failures = async () =>
      (await sampleOf(meters, 'parley_rehearsals_ended_total{outcome="failed"}')) ?? 0;
    const before = await failures();
    expect(await rehearsed()).toMatchObject({
      status: 'failed',
      error: 'conversation.timezone of the draft, Nowhere/City, is not the name of a time zone',
    });
    expect(await failures()).toBe(before + 1);
    expect((await start()).status).toBe(201);
  });

  it('fails after three internal errors in a row', async () => {
    await endedCall(await storedLog(1));
    api.dispatch.rehearse = () => Promise.reject(new Error('a defect'));
    try {
      expect(await rehearsed()).toMatchObject({
        status: 'failed',
        error: expect.stringContaining('internal error'),
      });
    } finally {
      delete (api.dispatch as Partial<typeof api.dispatch>).rehearse;
    }
  });

  it('that begins while its agent is deleted leaves nothing', async () => {
    const { rehearsals, agents } = api.context.models;
    const create = rehearsals.create.bind(rehearsals);
    vi.spyOn(rehearsals, 'create').mockImplementationOnce((async (document: never) => {
      await agents.deleteOne({ _id: agentId });
      return create(document);
    }) as never);
    expect((await start()).status).toBe(404);
    expect(await rehearsals.countDocuments({ agent_id: agentId })).toBe(0);
  });
});
