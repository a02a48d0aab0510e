import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { TestUser } from '../../test-api.ts';
import { LATENCY, message, openTestSessions, type TestSessions } from './test-sessions.ts';

let api: TestSessions;
let user: TestUser;
beforeAll(async () => {
  api = await openTestSessions();
});
beforeEach(async () => {
  user = await api.newTenant();
});
afterAll(() => api.close());

/** Meanwhile, places every call on this worker. */
async function on<Value>(instanceId: string, act: () => Promise<Value>): Promise<Value> {
  const before = api.dispatch.placement;
  api.dispatch.placement = { instanceId, supervisorRun: 'run-1', sipTag: instanceId };
  try {
    return await act();
  } finally {
    api.dispatch.placement = before;
  }
}

async function stored(id: string) {
  const session = await loadSession(api.context, id);
  return session && { status: session.status, epoch: session.epoch, died_epochs: session.died_epochs };
}

describe('lost and returning workers', () => {
  it('a lost link makes the session unknown, and the worker’s return makes it active again', async () => {
    const id = await api.joined();
    await api.sink.workerLost('worker-1');
    expect((await api.read(id)).status).toBe('unknown');
    await api.sink.workerBack('worker-1', [{ sessionId: id, epoch: 1 }]);
    expect((await api.read(id)).status).toBe('active');
  });

  it.each([
    ['before another replica has looked once more', false],
    ['just after another replica has looked once more', true],
  ])('a worker that seemed dead and is back %s keeps its calls', async (_when, isStillDead) => {
    const id = await on('paused', () => api.joined());
    await api.sink.workerDead('paused', new Date(api.clock.wallTime()), null, async () => {
      await api.sink.workerBack('paused', [{ sessionId: id, epoch: 1 }]);
      return isStillDead;
    });
    expect(await stored(id)).toEqual({ status: 'active', epoch: 1, died_epochs: [] });
    await api.lose('paused');
  });

  it('any report of an unknown session makes it active again', async () => {
    const id = await api.joined();
    await api.sink.workerLost('worker-1');
    await api.report(id, { type: 'turn', latency: LATENCY });
    expect((await api.read(id)).status).toBe('active');
    await api.lose('worker-1');
  });

  it('a dead worker’s spooled reports are no sign of life: time after the loss is not charged', async () => {
    const id = await api.joined();
    await api.clock.advance(10_000);
    await api.sink.workerLost('worker-1');
    const lostAt = api.at();
    await api.clock.advance(25_000);
    await api.report(id, { type: 'turn', latency: LATENCY }, 'worker-2');
    await api.report(
      id,
      { type: 'dial', at: api.at(), dial_status: 'answered', sip_call_id: 'late@host' },
      'worker-2',
    );
    expect(await api.read(id)).toMatchObject({
      status: 'unknown',
      turns: [LATENCY],
      sip_call_id: 'late@host',
    });
    await api.lose('worker-1');
    expect(await api.read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'heartbeat_timeout',
      ended_at: lostAt,
      duration_seconds: 10,
    });
    expect(await api.balance(user.userId)).toBe(10_000_000 - 10_000);
  });

  it('a call that only a dead worker’s spool shows as started was last seen at its start', async () => {
    const id = await api.session();
    const begunAt = api.at();
    await api.clock.advance(25_000);
    await api.report(id, { type: 'joined', at: begunAt }, 'worker-2');
    expect(await api.read(id)).toMatchObject({ status: 'unknown', started_at: begunAt });
    await api.lose('worker-1');
    expect(await api.read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'heartbeat_timeout',
      ended_at: begunAt,
      duration_seconds: 0,
    });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('a session goes on if its worker’s link is lost before the database has answered', async () => {
    const placedByAnotherLink = await api.joined();
    const link = { isCurrent: () => false, onChecked: () => undefined };
    await api.sink.workerBack('worker-1', [], link);
    expect(await api.read(placedByAnotherLink)).toMatchObject({ status: 'active', end_reason: null });
  });

  it('a session its returned worker no longer runs ends heartbeat_timeout once its spool is read', async () => {
    const [kept, lost, spooled] = [await api.joined(), await api.joined(), await api.joined()];
    const checked = Promise.withResolvers<void>();
    const link = { isCurrent: () => true, onChecked: checked.resolve };
    const back = api.sink.workerBack('worker-1', [{ sessionId: kept, epoch: 1 }], link);
    // The worker need not wait until the lost ones are settled.
    await checked.promise;
    await new Promise((resolve) => setTimeout(resolve, 200));
    await api.report(spooled, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    await api.clock.advance(3_000);
    await back;
    const statuses = await Promise.all(
      [kept, lost, spooled].map(async (id) => [(await api.read(id)).status, (await api.read(id)).end_reason]),
    );
    expect(statuses).toEqual([
      ['active', null],
      ['completed', 'heartbeat_timeout'],
      ['completed', 'user_hangup'],
    ]);
    await api.lose('worker-1');
  });

  it('sessions without a successor end heartbeat_timeout if joined, otherwise failed and free', async () => {
    const [live, waiting] = [await api.joined(), await api.session()];
    await api.lose('worker-1');
    expect(await api.read(live)).toMatchObject({ status: 'completed', end_reason: 'heartbeat_timeout' });
    expect(await api.read(waiting)).toMatchObject({ status: 'failed', end_reason: 'cancelled' });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('a dead worker’s calls end at the time of its death when no successor is starting', async () => {
    const id = await api.joined();
    api.dispatch.room = 0;
    api.dispatch.successorComes = false;
    await api.sink.workerDead('worker-1', new Date(api.at(10_000)));
    expect(await api.read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'heartbeat_timeout',
      duration_seconds: 10,
    });
    api.dispatch.room = Number.POSITIVE_INFINITY;
    api.dispatch.successorComes = true;
  });

  it('a dead worker’s call continues on another with its dialogue; old reports no longer count', async () => {
    const id = await api.joined();
    const items = [message('What are your opening hours?', api.at(1_000))];
    await api.report(id, { type: 'items', items });
    api.dispatch.speaking.set(id, { text: 'We are open', atMs: new Date(api.at(2_000)).getTime() });
    await on('worker-2', () => api.sink.workerDead('worker-1', new Date(api.clock.wallTime())));
    const given = api.dispatch.plans.at(-1);
    expect(given).toMatchObject({
      key: { sessionId: id, epoch: 2 },
      plan: { session_id: id },
      failoverState: { was_cut_off: true, dialog: null },
    });
    const said = ['What are your opening hours?', 'We are open'];
    expect(given?.failoverState?.items.map((item) => item.type === 'message' && item.content)).toEqual(said);
    expect(await api.read(id)).toMatchObject({
      status: 'active',
      end_reason: null,
      takeovers: [{ lost_at: api.at(), taken_over_at: api.at() }],
    });
    const late = { type: 'ended' as const, at: api.at(5_000), end_reason: 'internal_error' as const };
    expect(await api.sink.apply([{ session_id: id, epoch: 1, seq: 3, report: late }], 'worker-1')).toEqual({
      outcome: 'stale',
      isTaken: true,
    });
    const ended = { type: 'ended' as const, at: api.at(30_000), end_reason: 'user_hangup' as const };
    await api.sink.apply([{ session_id: id, epoch: 2, seq: 1, report: ended }], 'worker-2');
    const session = await api.read(id);
    expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup', duration_seconds: 30 });
    expect(session.items.map((item: SessionItem) => item.type === 'message' && item.content)).toEqual(said);
    expect(await api.balance(user.userId)).toBe(10_000_000 - 30_000);
    expect(await api.context.models.ledger.countDocuments({ user_id: user.userId, kind: 'settle' })).toBe(1);
  });

  it('an unjoined session is placed again: same session, new epoch, no failover state, charged once', async () => {
    const id = await on('dying', api.session);
    const first = api.dispatch.plans.at(-1);
    await on('successor', () => api.sink.workerDead('dying', new Date(api.clock.wallTime())));
    expect(api.dispatch.plans.at(-1)).toEqual({ key: { sessionId: id, epoch: 2 }, plan: first?.plan });
    expect(await api.read(id)).toMatchObject({ status: 'pending', end_reason: null });
    expect(await loadSession(api.context, id)).toMatchObject({
      epoch: 2,
      last_seq: 0,
      worker: { instance_id: 'successor' },
    });
    const joining = { type: 'joined' as const, at: api.at(1_000) };
    expect(await api.sink.apply([{ session_id: id, epoch: 1, seq: 1, report: joining }], 'worker-1')).toEqual(
      { outcome: 'stale', isTaken: true },
    );
    expect(await api.report(id, joining)).toEqual({ outcome: 'stored', seq: 1 });
    await api.report(id, { type: 'ended', at: api.at(31_000), end_reason: 'user_hangup' });
    expect(await api.read(id)).toMatchObject({ status: 'completed', duration_seconds: 30 });
    expect(await api.balance(user.userId)).toBe(10_000_000 - 30_000);
  });

  it('a session whose plan never arrived is placed again when its worker returns without it', async () => {
    const id = await on('forgetful', api.session);
    const timers = api.clock.pendingTimers;
    const back = api.sink.workerBack('forgetful', []);
    // The control plane is waiting for the worker's spool.
    await expect.poll(() => api.clock.pendingTimers).toBeGreaterThan(timers);
    await on('successor', async () => {
      await api.clock.advance(3_000);
      await back;
    });
    expect(api.dispatch.plans.at(-1)?.key).toEqual({ sessionId: id, epoch: 2 });
    expect((await api.read(id)).status).toBe('pending');
  });

  it('a session past its join deadline is not placed again', async () => {
    const id = await on('late', api.session);
    await api.context.models.sessions.updateOne(
      { _id: id },
      { $set: { expires_at: new Date(api.clock.wallTime()) } },
    );
    const placed = api.dispatch.offers.length;
    await api.sink.workerDead('late', new Date(api.clock.wallTime()));
    expect(api.dispatch.offers).toHaveLength(placed);
    expect(await api.read(id)).toMatchObject({ status: 'failed', end_reason: 'cancelled' });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('a worker dies a minute after its link: its call goes on, or ended with the link if the caller does not return', async () => {
    const id = await api.joined();
    await api.clock.advance(10_000);
    await api.sink.workerLost('worker-1');
    const lostAt = api.at();
    await api.clock.advance(60_000);
    const diedAt = new Date(api.clock.wallTime());
    await api.clock.advance(6_000);
    await on('worker-2', () => api.sink.workerDead('worker-1', diedAt));
    expect(api.dispatch.plans.at(-1)).toMatchObject({
      key: { sessionId: id, epoch: 2 },
      // The caller may have left at any time since: only the worker would know, and it is dead.
      failoverState: { lost_at: lostAt },
    });
    const moved = await api.read(id);
    expect(moved.status).toBe('active');
    expect(moved.takeovers).toMatchObject([{ lost_at: diedAt.toISOString() }]);
    await api.lose('worker-2');
  });

  it('a call that is doubted long after its worker died is charged up to the death', async () => {
    const id = await api.joined();
    await api.clock.advance(10_000);
    const diedAt = new Date(api.clock.wallTime());
    await api.clock.advance(25_000);
    // No replica was there to notice it earlier.
    await api.sink.workerLost('worker-1');
    await api.clock.advance(25_000);
    await api.sink.workerDead('worker-1', diedAt);
    expect(await api.read(id)).toMatchObject({
      end_reason: 'heartbeat_timeout',
      ended_at: diedAt.toISOString(),
      duration_seconds: 10,
    });
    expect(await api.balance(user.userId)).toBe(10_000_000 - 10_000);
  });

  it('a session is doubted as of the time when it became active at the earliest', async () => {
    const seenAt = new Date(api.clock.wallTime());
    await api.clock.advance(10_000);
    const id = await api.joined();
    await api.sink.workerLost('worker-1');
    await api.clock.advance(60_000);
    await api.sink.workersHeard(['worker-1']);
    await api.clock.advance(10_000);
    const session = await loadSession(api.context, id);
    await api.sink.workerLost('worker-1', seenAt);
    expect(await loadSession(api.context, id)).toMatchObject({
      status: 'unknown',
      status_at: session?.status_at,
    });
    await api.lose('worker-1');
    expect(await api.read(id)).toMatchObject({ status: 'completed', duration_seconds: 60 });
  });

  it('a worker that died unseen was lost with its link: its caller is not called back a minute later', async () => {
    const id = await api.joined();
    await api.sink.workerLost('worker-1');
    await api.clock.advance(60_000);
    await on('worker-2', () => api.sink.workerDead('worker-1', null));
    expect(await api.read(id)).toMatchObject({ status: 'completed', end_reason: 'heartbeat_timeout' });
  });

  it('a worker that returns with a session that another one has is told so, before it speaks', async () => {
    const id = await api.joined();
    await on('worker-2', () => api.sink.workerDead('worker-1', new Date(api.clock.wallTime())));
    const told = api.dispatch.abandoned.length;
    await api.sink.workerBack('worker-1', [{ sessionId: id, epoch: 1 }]);
    expect(api.dispatch.abandoned.slice(told)).toEqual([
      { instanceId: 'worker-1', key: { sessionId: id, epoch: 1 } },
    ]);
    await api.lose('worker-2');
  });

  it('a worker that returns with an already settled session is instructed to end it', async () => {
    const id = await api.joined();
    await api.sink.workerLost('worker-1');
    expect((await api.request('POST', `/v1/agent/sessions/${id}/end`, { key: user.key })).status).toBe(204);
    expect(await api.read(id)).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
    await api.sink.workerBack('worker-1', [{ sessionId: id, epoch: 1 }]);
    expect(api.dispatch.ended.at(-1)).toEqual({
      instanceId: 'worker-1',
      key: { sessionId: id, epoch: 1 },
      reason: 'user_hangup',
    });
  });
});
