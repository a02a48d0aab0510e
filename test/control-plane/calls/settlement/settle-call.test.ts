import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
});
beforeEach(async () => {
  user = await api.createUser();
  agentId = await api.publishAgent(user);
  api.dispatch.ended.length = 0;
});
afterAll(() => api.close());

async function session(): Promise<string> {
  const { body } = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  return body.session_id;
}

async function joined(): Promise<string> {
  const id = await session();
  await api.report(id, { type: 'joined', at: api.at() });
  return id;
}

const read = async (id: string) =>
  (await api.request('GET', `/v1/agent/sessions/${id}`, { key: user.key })).body;

function message(content: string, createdAt: string, role: 'user' | 'assistant' = 'user'): SessionItem {
  return {
    type: 'message',
    role,
    content,
    turn_id: 1,
    created_at: createdAt,
    id: randomBytes(4).toString('hex'),
  };
}

const LATENCY = {
  turn_id: 1,
  speech_ended_at: '2026-01-01T00:00:01.000Z',
  endpoint_ms: 550,
  transcript_ms: 0,
  first_token_ms: 20,
  first_sentence_ms: 5,
  first_audio_ms: 20,
  playout_ms: 5,
  total_ms: 600,
  endpoint_rule: 'complete',
  speculative: true,
};

describe('a worker’s reports', () => {
  it('activate the session on joined, complete it on ended, and return the unused first minute', async () => {
    const id = await session();
    await api.report(id, { type: 'joined', at: api.at(1_000) });
    expect(await read(id)).toMatchObject({ status: 'active', started_at: api.at(1_000), ended_at: null });
    await api.report(id, { type: 'ended', at: api.at(31_000), end_reason: 'user_hangup' });
    expect(await read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'user_hangup',
      duration_seconds: 30,
      analysis: { status: 'queued' },
    });
    expect(await api.balance(user.userId)).toBe(10_000_000 - 30_000);
    expect(await api.context.models.ledger.countDocuments({ user_id: user.userId, kind: 'settle' })).toBe(1);
  });

  it('charge a call for its complete duration, below zero if necessary', async () => {
    await api.context.ledger.post({
      userId: user.userId,
      key: 'x',
      kind: 'adjust',
      amountMicros: 60_000 - 10_000_000,
    });
    const id = await joined();
    await api.report(id, { type: 'ended', at: api.at(150_000), end_reason: 'agent_hangup' });
    expect(await api.balance(user.userId)).toBe(60_000 - 150_000);
  });

  it('are applied without rereading the session, and respect changes made in between', async () => {
    const id = await joined();
    const { sessions } = api.context.models;
    const silent = { type: 'turn', latency: LATENCY } as const;
    await api.report(id, silent);
    await sessions.updateOne({ _id: id }, { $set: { status: 'unknown' } });
    await api.report(id, silent);
    expect(await read(id)).toMatchObject({ status: 'active', turns: [LATENCY, LATENCY] });
    await sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    await api.report(id, { type: 'items', items: [message('said after the erasure', api.at(1_000))] });
    await api.report(id, silent);
    const stored = await loadSession(api.context, id);
    expect([stored?.timeline.length, stored?.turns.length]).toEqual([0, 3]);
  });

  it('fail a session that ends before anyone joins; it is free and unanalysed', async () => {
    const id = await session();
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    expect(await read(id)).toMatchObject({
      status: 'failed',
      end_reason: 'cancelled',
      duration_seconds: null,
      analysis: null,
    });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('put a phone call’s media quality into its detail, but into no list', async () => {
    const id = await joined();
    expect(await read(id)).toMatchObject({ media_quality: null });
    const quality = {
      packets_received: 490,
      packets_lost: 10,
      packets_sent: 500,
      jitter_ms: 3.5,
      round_trip_ms: 41,
      mos: 4.1,
    };
    // A worker of the previous version sends no jitter buffer figures.
    await api.report(id, { type: 'media', quality } as DurableReport);
    await api.report(id, { type: 'ended', at: api.at(31_000), end_reason: 'user_hangup' });
    expect(await read(id)).toMatchObject({
      status: 'completed',
      media_quality: { ...quality, jitter_buffer_ms: null, concealed_share: null },
    });
    const { body } = await api.request('GET', '/v1/agent/sessions', { key: user.key });
    expect(body.sessions[0]).not.toHaveProperty('media_quality');
  });

  it('store items sealed, ordered by time and messages before tools; turns include their waterfall', async () => {
    const id = await joined();
    const tool = { call_id: 'c', tool_name: 'lookup', tool_source: 'webhook', turn_id: 1 };
    const reports: DurableReport[] = [
      {
        type: 'items',
        items: [
          {
            type: 'tool_result',
            ...tool,
            status: 'completed',
            output: '"A"',
            output_truncated: false,
            error: null,
            latency_ms: 5,
            created_at: api.at(3_000),
          },
        ],
      },
      {
        type: 'items',
        items: [
          message('second', api.at(2_000)),
          { type: 'tool_call', ...tool, input: '{}', created_at: api.at(2_000) },
        ],
      },
      { type: 'items', items: [message('secret first', api.at(1_000), 'assistant')] },
      { type: 'turn', latency: LATENCY },
    ];
    for (const report of reports) expect((await api.report(id, report)).outcome).toBe('stored');
    const { items, turns } = await read(id);
    expect(items.map((item: SessionItem) => (item.type === 'message' ? item.content : item.type))).toEqual([
      'secret first',
      'second',
      'tool_call',
      'tool_result',
    ]);
    expect(turns).toEqual([{ ...LATENCY, explanation: expect.stringContaining('waited 550 ms') }]);
    expect(JSON.stringify(await loadSession(api.context, id))).not.toContain(
      Buffer.from('secret first').toString('base64').slice(0, 12),
    );
  });

  it('store a large tool output beside the session, and the output reads back complete', async () => {
    const id = await joined();
    const output = 'x'.repeat(256 * 1024);
    const item: SessionItem = {
      type: 'tool_result',
      call_id: 'c',
      tool_name: 't',
      tool_source: null,
      status: 'completed',
      output,
      output_truncated: false,
      error: null,
      latency_ms: 1,
      turn_id: 1,
      created_at: api.at(),
    };
    await api.report(id, { type: 'items', items: [item] });
    expect((await read(id)).items).toEqual([item]);
    expect((await loadSession(api.context, id))?.timeline[0]?.document_id).toBe(`${id}:items:1:2`);
  });

  it('become unreadable when the session’s key is destroyed', async () => {
    const id = await joined();
    await api.report(id, { type: 'items', items: [message('hello', api.at())] });
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    expect((await read(id)).items).toEqual([]);
  });

  it('count once however often they arrive; a gap is requested; other epochs change nothing', async () => {
    const id = await joined();
    const envelope = {
      session_id: id,
      epoch: 1,
      seq: 2,
      report: { type: 'items' as const, items: [message('once', api.at())] },
    };
    expect(await api.sink.apply([envelope], 'worker-1')).toEqual({ outcome: 'stored', seq: 2 });
    expect(await api.sink.apply([envelope], 'worker-1')).toEqual({ outcome: 'stored', seq: 2 });
    expect(await api.sink.apply([{ ...envelope, seq: 5 }], 'worker-1')).toEqual({
      outcome: 'gap',
      fromSeq: 3,
    });
    for (const epoch of [0, 2])
      expect(await api.sink.apply([{ ...envelope, epoch, seq: 3 }], 'worker-1')).toEqual({
        outcome: 'stale',
      });
    expect(await api.sink.apply([{ ...envelope, session_id: 'unknown' }], 'worker-1')).toEqual({
      outcome: 'stale',
    });
    expect((await read(id)).items.length).toBe(1);
  });

  it('are stored together when they arrive together: once, in order, up to the first gap', async () => {
    const id = await joined();
    const told = (seq: number, report: DurableReport) => ({ session_id: id, epoch: 1, seq, report });
    const said = (seq: number, words: string) =>
      told(seq, { type: 'items', items: [message(words, api.at(seq))] });
    const turn = told(3, { type: 'turn', latency: LATENCY });
    expect(
      await api.sink.apply([said(2, 'one'), turn, turn, said(4, 'two'), said(6, 'four')], 'worker-1'),
    ).toEqual({ outcome: 'gap', fromSeq: 5 });
    const rest = [
      said(4, 'two'),
      said(5, 'three'),
      said(6, 'four'),
      told(7, { type: 'ended', at: api.at(9_000), end_reason: 'user_hangup' }),
    ];
    expect(await api.sink.apply(rest, 'worker-1')).toEqual({ outcome: 'stored', seq: 7 });
    const stored = await read(id);
    expect(stored.items.map((item: { content: string }) => item.content)).toEqual([
      'one',
      'two',
      'three',
      'four',
    ]);
    expect(stored).toMatchObject({ status: 'completed', turns: [LATENCY] });
  });

  it('settle and report a call once when it ends by the API and again from a late spool', async () => {
    const id = await joined();
    const ended = {
      session_id: id,
      epoch: 1,
      seq: 2,
      report: { type: 'ended' as const, at: api.at(20_000), end_reason: 'agent_hangup' as const },
    };
    await Promise.all([
      api.sink.apply([ended], 'worker-1'),
      api.sink.apply([ended], 'worker-1'),
      lose('worker-1'),
    ]);
    await api.sink.apply([ended], 'worker-1');
    expect(await api.context.models.ledger.countDocuments({ user_id: user.userId, kind: 'settle' })).toBe(1);
    expect((await read(id)).status).toBe('completed');
  });
});

/** Kills the worker while no other worker can take its calls over. */
async function lose(instanceId: string): Promise<void> {
  api.dispatch.room = 0;
  let isSettled = false;
  const dead = api.sink.workerDead(instanceId, new Date(api.clock.wallTime())).finally(() => {
    isSettled = true;
  });
  while (!isSettled) {
    await api.clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await dead;
  api.dispatch.room = Number.POSITIVE_INFINITY;
}

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

describe('lost and returning workers', () => {
  it('a lost link makes the session unknown, and the worker’s return makes it active again', async () => {
    const id = await joined();
    await api.sink.workerLost('worker-1');
    expect((await read(id)).status).toBe('unknown');
    await api.sink.workerBack('worker-1', [{ sessionId: id, epoch: 1 }]);
    expect((await read(id)).status).toBe('active');
  });

  it('any report of an unknown session makes it active again', async () => {
    const id = await joined();
    await api.sink.workerLost('worker-1');
    await api.report(id, { type: 'turn', latency: LATENCY });
    expect((await read(id)).status).toBe('active');
    await lose('worker-1');
  });

  it('a dead worker’s spooled reports are no sign of life: time after the loss is not charged', async () => {
    const id = await joined();
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
    expect(await read(id)).toMatchObject({ status: 'unknown', turns: [LATENCY], sip_call_id: 'late@host' });
    await lose('worker-1');
    expect(await read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'heartbeat_timeout',
      ended_at: lostAt,
      duration_seconds: 10,
    });
    expect(await api.balance(user.userId)).toBe(10_000_000 - 10_000);
  });

  it('a call that only a dead worker’s spool shows as started was last seen at its start', async () => {
    const id = await session();
    const begunAt = api.at();
    await api.clock.advance(25_000);
    await api.report(id, { type: 'joined', at: begunAt }, 'worker-2');
    expect(await read(id)).toMatchObject({ status: 'unknown', started_at: begunAt });
    await lose('worker-1');
    expect(await read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'heartbeat_timeout',
      ended_at: begunAt,
      duration_seconds: 0,
    });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('a session its returned worker no longer runs ends heartbeat_timeout once its spool is read', async () => {
    const [kept, lost, spooled] = [await joined(), await joined(), await joined()];
    const back = api.sink.workerBack('worker-1', [{ sessionId: kept, epoch: 1 }]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await api.report(spooled, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    await api.clock.advance(3_000);
    await back;
    const statuses = await Promise.all(
      [kept, lost, spooled].map(async (id) => [(await read(id)).status, (await read(id)).end_reason]),
    );
    expect(statuses).toEqual([
      ['active', null],
      ['completed', 'heartbeat_timeout'],
      ['completed', 'user_hangup'],
    ]);
    await lose('worker-1');
  });

  it('sessions without a successor end heartbeat_timeout if joined, otherwise failed and free', async () => {
    const [live, waiting] = [await joined(), await session()];
    await lose('worker-1');
    expect(await read(live)).toMatchObject({ status: 'completed', end_reason: 'heartbeat_timeout' });
    expect(await read(waiting)).toMatchObject({ status: 'failed', end_reason: 'cancelled' });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('a dead worker’s calls end at the time of its death when no successor is starting', async () => {
    const id = await joined();
    api.dispatch.room = 0;
    api.dispatch.successorComes = false;
    await api.sink.workerDead('worker-1', new Date(api.at(10_000)));
    expect(await read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'heartbeat_timeout',
      duration_seconds: 10,
    });
    api.dispatch.room = Number.POSITIVE_INFINITY;
    api.dispatch.successorComes = true;
  });

  it('a dead worker’s call continues on another with its dialogue; old reports no longer count', async () => {
    const id = await joined();
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
    expect(await read(id)).toMatchObject({
      status: 'active',
      end_reason: null,
      takeovers: [{ lost_at: api.at(), taken_over_at: api.at() }],
    });
    const late = { type: 'ended' as const, at: api.at(5_000), end_reason: 'internal_error' as const };
    expect(await api.sink.apply([{ session_id: id, epoch: 1, seq: 3, report: late }], 'worker-1')).toEqual({
      outcome: 'stale',
    });
    const ended = { type: 'ended' as const, at: api.at(30_000), end_reason: 'user_hangup' as const };
    await api.sink.apply([{ session_id: id, epoch: 2, seq: 1, report: ended }], 'worker-2');
    const session = await read(id);
    expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup', duration_seconds: 30 });
    expect(session.items.map((item: SessionItem) => item.type === 'message' && item.content)).toEqual(said);
    expect(await api.balance(user.userId)).toBe(10_000_000 - 30_000);
    expect(await api.context.models.ledger.countDocuments({ user_id: user.userId, kind: 'settle' })).toBe(1);
  });

  it('an unjoined session is placed again: same session, new epoch, no failover state, charged once', async () => {
    const id = await on('dying', session);
    const first = api.dispatch.plans.at(-1);
    await on('successor', () => api.sink.workerDead('dying', new Date(api.clock.wallTime())));
    expect(api.dispatch.plans.at(-1)).toEqual({ key: { sessionId: id, epoch: 2 }, plan: first?.plan });
    expect(await read(id)).toMatchObject({ status: 'pending', end_reason: null });
    expect(await loadSession(api.context, id)).toMatchObject({
      epoch: 2,
      last_seq: 0,
      worker: { instance_id: 'successor' },
    });
    const joining = { type: 'joined' as const, at: api.at(1_000) };
    expect(await api.sink.apply([{ session_id: id, epoch: 1, seq: 1, report: joining }], 'worker-1')).toEqual(
      { outcome: 'stale' },
    );
    expect(await api.report(id, joining)).toEqual({ outcome: 'stored', seq: 1 });
    await api.report(id, { type: 'ended', at: api.at(31_000), end_reason: 'user_hangup' });
    expect(await read(id)).toMatchObject({ status: 'completed', duration_seconds: 30 });
    expect(await api.balance(user.userId)).toBe(10_000_000 - 30_000);
  });

  it('a session whose plan never arrived is placed again when its worker returns without it', async () => {
    const id = await on('forgetful', session);
    const timers = api.clock.pendingTimers;
    const back = api.sink.workerBack('forgetful', []);
    // The control plane is waiting for the worker's spool.
    await expect.poll(() => api.clock.pendingTimers).toBeGreaterThan(timers);
    await on('successor', async () => {
      await api.clock.advance(3_000);
      await back;
    });
    expect(api.dispatch.plans.at(-1)?.key).toEqual({ sessionId: id, epoch: 2 });
    expect((await read(id)).status).toBe('pending');
  });

  it('a session past its join deadline is not placed again', async () => {
    const id = await on('late', session);
    await api.context.models.sessions.updateOne(
      { _id: id },
      { $set: { expires_at: new Date(api.clock.wallTime()) } },
    );
    const placed = api.dispatch.offers.length;
    await api.sink.workerDead('late', new Date(api.clock.wallTime()));
    expect(api.dispatch.offers).toHaveLength(placed);
    expect(await read(id)).toMatchObject({ status: 'failed', end_reason: 'cancelled' });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('a worker that returns with an already settled session is instructed to end it', async () => {
    const id = await joined();
    await api.sink.workerLost('worker-1');
    expect((await api.request('POST', `/v1/agent/sessions/${id}/end`, { key: user.key })).status).toBe(204);
    expect(await read(id)).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
    await api.sink.workerBack('worker-1', [{ sessionId: id, epoch: 1 }]);
    expect(api.dispatch.ended.at(-1)).toEqual({
      instanceId: 'worker-1',
      key: { sessionId: id, epoch: 1 },
      reason: 'user_hangup',
    });
  });
});

describe('ending a session by the API', () => {
  it('ends an active call by its worker and cancels a pending one; ended is 204, another team’s 404', async () => {
    const [live, waiting] = [await joined(), await session()];
    const end = (id: string, key = user.key) => api.request('POST', `/v1/agent/sessions/${id}/end`, { key });
    expect((await end(live)).status).toBe(204);
    expect(api.dispatch.ended).toEqual([
      { instanceId: 'worker-1', key: { sessionId: live, epoch: 1 }, reason: 'user_hangup' },
    ]);
    expect((await end(waiting)).status).toBe(204);
    expect(await read(waiting)).toMatchObject({ status: 'failed', end_reason: 'cancelled' });
    expect((await end(waiting)).status).toBe(204);
    expect((await end(live, (await api.createUser()).key)).status).toBe(404);
  });
});

describe('lists of sessions', () => {
  it('omit pending sessions by default, apply every filter, and never show other teams’ sessions', async () => {
    const [pending, active, ended] = [await session(), await joined(), await joined()];
    await api.report(ended, { type: 'ended', at: api.at(5_000), end_reason: 'agent_hangup' });
    await api.context.models.sessions.updateOne(
      { _id: ended },
      { $set: { caller_number: '+14155550123', sip_call_id: 'abc@host' } },
    );
    const list = async (query: string) => {
      const { status, body } = await api.request('GET', `/v1/agent/sessions${query}`, { key: user.key });
      return status === 200
        ? body.sessions.map((row: { session_id: string }) => row.session_id).sort()
        : status;
    };
    const ids = (...wanted: string[]) => wanted.sort();
    expect(await list('')).toEqual(ids(active, ended));
    expect(await list('?status=pending')).toEqual([pending]);
    expect(await list('?status=pending,active')).toEqual(ids(pending, active));
    expect(await list('?end_reason=agent_hangup,escalated')).toEqual([ended]);
    expect(await list('?direction=outbound')).toEqual([]);
    expect(await list('?caller_number=14155550123')).toEqual([ended]);
    expect(await list('?caller_number=%2B14155550123')).toEqual([ended]);
    expect(await list('?sip_call_id=abc%40host')).toEqual([ended]);
    expect(await list(`?created_after=${api.at(1)}`)).toEqual([]);
    expect(await list(`?created_before=${api.at(1)}&agent_id=${agentId}`)).toEqual(ids(active, ended));
    expect(await list('?agent_id=other')).toEqual([]);
    expect(await list('?status=nonsense')).toBe(422);
    expect(await list('?page=1&cursor=x')).toBe(400);
    const row = (await api.request('GET', '/v1/agent/sessions?page=1&page_size=1', { key: user.key })).body;
    expect([row.total, row.has_more, 'items' in row.sessions[0]]).toEqual([2, true, false]);
    const next = (
      await api.request('GET', `/v1/agent/sessions?cursor=${row.next_cursor}&include_total=true`, {
        key: user.key,
      })
    ).body;
    expect([next.sessions.length, next.has_more, next.total]).toEqual([1, false, 2]);
    const stranger = await api.createUser();
    expect(
      (await api.request('GET', '/v1/agent/sessions?status=active', { key: stranger.key })).body.sessions,
    ).toEqual([]);
  });
});
