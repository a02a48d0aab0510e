import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { sampleOf } from '#test/fakes/metric-sample.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.context.models.sessions.deleteMany({});
  api.dispatch.reset();
});

const workerDies = (instanceId = 'worker-1', hungIn: string | null = null) =>
  api.sink.workerDead(instanceId, new Date(api.clock.wallTime()), hungIn);

describe('a session whose workers have died', () => {
  const read = async (id: string, key: string) =>
    (await api.request('GET', `/v1/agent/sessions/${id}`, { key })).body;
  const givenUp = async () =>
    (await sampleOf(api.context.metrics.meters, 'parley_sessions_given_up_total')) ?? 0;

  it('security 3: ends as internal_error after two unexplained deaths, in webhook and metric too', async () => {
    const user = await api.createUser();
    const agent_id = await api.publishAgent(user, {
      webhooks: { post_call: [{ url: 'https://hooks.example.com/' }] },
    });
    const { session_id: id } = (
      await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } })
    ).body;
    await api.report(id, { type: 'joined', at: api.at() });
    const before = await givenUp();
    await workerDies();
    expect(await read(id, user.key)).toMatchObject({ status: 'active' });
    await workerDies();
    expect(await read(id, user.key)).toMatchObject({ status: 'completed', end_reason: 'internal_error' });
    expect(api.dispatch.offers.filter(({ sessionId }) => sessionId === id)).toHaveLength(2);
    const [delivery] = await api.context.models.deliveries.find({ session_id: id }).lean();
    expect(delivery?.event).toBe('call.ended');
    expect((await givenUp()) - before).toBe(1);
  });

  /** A session that kills workers and its neighbour on one worker, both joined. */
  async function twoOnOneWorker() {
    const user = await api.createUser();
    const agent_id = await api.publishAgent(user);
    const create = async () =>
      (await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } })).body
        .session_id as string;
    const [poison, neighbour] = [await create(), await create()];
    for (const id of [poison, neighbour]) await api.report(id, { type: 'joined', at: api.at() });
    return { poison, neighbour, read: (id: string) => read(id, user.key) };
  }

  const ENDED = { status: 'completed', end_reason: 'internal_error' };
  const GOES_ON = { status: 'active' };

  it.each([
    ['two stand-stills in another and a crash', ['poison', 'poison', null], GOES_ON],
    ['a crash and three stand-stills in another', [null, 'poison', 'poison', 'poison'], GOES_ON],
    ['a stand-still in another and two crashes', ['poison', null, null], ENDED],
    ['a stand-still in it between two in another', ['poison', 'neighbour', 'poison'], GOES_ON],
    ['a crash and a stand-still in it', [null, 'neighbour'], ENDED],
    ['four stand-stills in others', ['poison', 'poison', 'other', 'other'], ENDED],
  ] as const)('security 3: %s: each kind of death has its own limit', async (_what, deaths, expected) => {
    const { neighbour, poison, read: look } = await twoOnOneWorker();
    for (const hungIn of deaths.slice(0, -1))
      await workerDies('worker-1', hungIn && { poison, neighbour, other: 'other' }[hungIn]);
    expect(await look(neighbour)).toMatchObject(GOES_ON);
    const last = deaths.at(-1) ?? null;
    await workerDies('worker-1', last && { poison, neighbour, other: 'other' }[last]);
    expect(await look(neighbour)).toMatchObject(expected);
  });

  it('security 3: ends after the worker has stalled in it twice', async () => {
    const { poison, read: look } = await twoOnOneWorker();
    await workerDies('worker-1', poison);
    expect(await look(poison)).toMatchObject(GOES_ON);
    await workerDies('worker-1', poison);
    expect(await look(poison)).toMatchObject(ENDED);
  });

  it('security 3: has its dead workers counted in the log', async () => {
    const { neighbour, poison } = await twoOnOneWorker();
    const delivery = vi.spyOn(api.context.logger, 'error');
    for (const hungIn of [poison, poison, poison, null, null]) await workerDies('worker-1', hungIn);
    const lines = delivery.mock.calls
      .filter(([about]) => (about as { sessionId?: string }).sessionId === neighbour)
      .map(([, text]) => text);
    delivery.mockRestore();
    expect(lines).toEqual([
      '5 workers died while running this session, 3 of them because of another session; ' +
        'it is not placed again',
    ]);
  });

  it('is charged until its last worker died, however late that is noticed', async () => {
    const { neighbour: id, read: look } = await twoOnOneWorker();
    await workerDies();
    await api.report(id, { type: 'joined', at: api.at() });
    await api.clock.advance(20_000);
    const diedAt = new Date(api.clock.wallTime());
    await api.clock.advance(60_000);
    await api.sink.workerDead('worker-1', diedAt);
    expect(await look(id)).toMatchObject({ ...ENDED, duration_seconds: 20 });
  });

  it('is charged until its first worker died if the caller did not come back to the next one', async () => {
    const { neighbour: id, read: look } = await twoOnOneWorker();
    await api.clock.advance(5_000);
    const diedAt = new Date(api.clock.wallTime());
    await api.clock.advance(10_000);
    await api.sink.workerDead('worker-1', diedAt);
    await api.clock.advance(8_000);
    await workerDies();
    expect(await look(id)).toMatchObject({ ...ENDED, duration_seconds: 5 });
  });

  it('security 3: fails as internal_error and costs nothing if they died before anyone joined', async () => {
    const user = await api.createUser();
    const agent_id = await api.publishAgent(user);
    const { session_id: id } = (
      await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } })
    ).body;
    await workerDies();
    await workerDies();
    expect(await read(id, user.key)).toMatchObject({ status: 'failed', end_reason: 'internal_error' });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('counts a death once if it is reported twice', async () => {
    const user = await api.createUser();
    const agent_id = await api.publishAgent(user);
    const { session_id: id } = (
      await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } })
    ).body;
    api.dispatch.placement = { ...api.dispatch.placement, instanceId: 'worker-2' };
    await workerDies('worker-1');
    await workerDies('worker-1');
    api.dispatch.placement = { ...api.dispatch.placement, instanceId: 'worker-1' };
    expect((await read(id, user.key)).status).toBe('pending');
  });
});
