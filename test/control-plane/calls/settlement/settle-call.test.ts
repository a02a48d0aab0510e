import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  changeKnownSession,
  changeSession,
  loadSession,
} from '#control-plane/calls/sessions/session-store.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { TestUser } from '../../test-api.ts';
import { LATENCY, message, openTestSessions, type TestSessions } from './test-sessions.ts';

const USAGE = {
  type: 'usage',
  turn_id: 1,
  model: 'm',
  input_tokens: 1,
  cached_input_tokens: null,
  output_tokens: 1,
  discarded_output_tokens: 0,
} as const;

let api: TestSessions;
let user: TestUser;
beforeAll(async () => {
  api = await openTestSessions();
});
beforeEach(async () => {
  user = await api.newTenant();
});
afterAll(() => api.close());

describe('a worker’s reports', () => {
  it('activate the session on joined, complete it on ended, and return the unused first minute', async () => {
    const id = await api.session();
    await api.report(id, { type: 'joined', at: api.at(1_000) });
    expect(await api.read(id)).toMatchObject({ status: 'active', started_at: api.at(1_000), ended_at: null });
    await api.report(id, { type: 'ended', at: api.at(31_000), end_reason: 'user_hangup' });
    expect(await api.read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'user_hangup',
      duration_seconds: 30,
      analysis: { status: 'queued' },
    });
    expect(await api.balance(user.userId)).toBe(10_000_000 - 30_000);
    expect(await api.context.models.ledger.countDocuments({ user_id: user.userId, kind: 'settle' })).toBe(1);
  });

  it('show for ten seconds that an account which makes no requests is active', async () => {
    const { turns } = api.context;
    const id = await api.joined();
    await api.clock.advance(10_001);
    const before = turns.hasOthers('another account');
    await api.report(id, { type: 'turn', latency: LATENCY });
    const after = turns.hasOthers('another account');
    await api.clock.advance(10_001);
    expect([before, after, turns.hasOthers('another account')]).toEqual([false, true, false]);
  });

  it('charge a call for its complete duration, below zero if necessary', async () => {
    await api.context.ledger.post({
      userId: user.userId,
      key: 'x',
      kind: 'adjust',
      amountMicros: 60_000 - 10_000_000,
    });
    const id = await api.joined();
    await api.report(id, { type: 'ended', at: api.at(150_000), end_reason: 'agent_hangup' });
    expect(await api.balance(user.userId)).toBe(60_000 - 150_000);
  });

  it('are applied without rereading the session, and respect changes made in between', async () => {
    const id = await api.joined();
    const { sessions } = api.context.models;
    const silent = { type: 'turn', latency: LATENCY } as const;
    await api.report(id, silent);
    await sessions.updateOne({ _id: id }, { $set: { status: 'unknown' } });
    await api.report(id, silent);
    expect(await api.read(id)).toMatchObject({ status: 'active', turns: [LATENCY, LATENCY] });
    await sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    await api.report(id, { type: 'items', items: [message('said after the erasure', api.at(1_000))] });
    await api.report(id, silent);
    const stored = await loadSession(api.context, id);
    expect([stored?.timeline.length, stored?.turns.length]).toEqual([0, 3]);
  });

  it('fail a session that ends before anyone joins; it is free and unanalysed', async () => {
    const id = await api.session();
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    expect(await api.read(id)).toMatchObject({
      status: 'failed',
      end_reason: 'cancelled',
      duration_seconds: null,
      analysis: null,
    });
    expect(await api.balance(user.userId)).toBe(10_000_000);
  });

  it('put a phone call’s media quality into its detail, but into no list', async () => {
    const id = await api.joined();
    expect(await api.read(id)).toMatchObject({ media_quality: null });
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
    expect(await api.read(id)).toMatchObject({
      status: 'completed',
      media_quality: { ...quality, jitter_buffer_ms: null, concealed_share: null },
    });
    const { body } = await api.request('GET', '/v1/agent/sessions', { key: user.key });
    expect(body.sessions[0]).not.toHaveProperty('media_quality');
  });

  it('store items sealed, ordered by time and messages before tools; turns include their waterfall', async () => {
    const id = await api.joined();
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
    const { items, turns } = await api.read(id);
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
    const id = await api.joined();
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
    expect((await api.read(id)).items).toEqual([item]);
    expect((await loadSession(api.context, id))?.timeline[0]?.document_id).toBe(`${id}:items:1:2`);
  });

  it('become unreadable when the session’s key is destroyed', async () => {
    const id = await api.joined();
    await api.report(id, { type: 'items', items: [message('hello', api.at())] });
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    expect((await api.read(id)).items).toEqual([]);
  });

  it('count once however often they arrive; a gap is requested; other epochs change nothing', async () => {
    const id = await api.joined();
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
      expect(await api.sink.apply([{ ...envelope, epoch, seq: 3 }], 'worker-1')).toMatchObject({
        outcome: 'stale',
      });
    expect(await api.sink.apply([{ ...envelope, session_id: 'unknown' }], 'worker-1')).toEqual({
      outcome: 'stale',
    });
    expect((await api.read(id)).items.length).toBe(1);
  });

  it('are stored together when they arrive together: once, in order, up to the first gap', async () => {
    const id = await api.joined();
    const reported = (seq: number, report: DurableReport) => ({ session_id: id, epoch: 1, seq, report });
    const said = (seq: number, words: string) =>
      reported(seq, { type: 'items', items: [message(words, api.at(seq))] });
    const turn = reported(3, { type: 'turn', latency: LATENCY });
    expect(
      await api.sink.apply([said(2, 'one'), turn, turn, said(4, 'two'), said(6, 'four')], 'worker-1'),
    ).toEqual({ outcome: 'gap', fromSeq: 5 });
    const rest = [
      said(4, 'two'),
      said(5, 'three'),
      said(6, 'four'),
      reported(7, { type: 'ended', at: api.at(9_000), end_reason: 'user_hangup' }),
    ];
    expect(await api.sink.apply(rest, 'worker-1')).toEqual({ outcome: 'stored', seq: 7 });
    const stored = await api.read(id);
    expect(stored.items.map((item: { content: string }) => item.content)).toEqual([
      'one',
      'two',
      'three',
      'four',
    ]);
    expect(stored).toMatchObject({ status: 'completed', turns: [LATENCY] });
  });

  it.each([
    ['known', {}, 'worker-1'],
    ['changed in between', { status_at: new Date(1) }, 'worker-1'],
    ['unknown', { status: 'unknown' }, 'worker-1'],
    ['unknown, from a dead worker’s spool', { status: 'unknown' }, 'successor'],
  ] as const)('are stored with the end of the call, if the session is %s', async (_, between, from) => {
    const id = await api.joined();
    const reports: DurableReport[] = [
      { type: 'items', items: [message('bye', api.at())] },
      { type: 'turn', latency: LATENCY },
      USAGE,
      { type: 'ended', at: api.at(9_000), end_reason: 'user_hangup' },
    ];
    const batch = reports.map((report, index) => ({ session_id: id, epoch: 1, seq: index + 2, report }));
    await api.context.models.sessions.updateOne({ _id: id }, { $set: between });
    const withGap = batch.filter(({ seq }) => seq !== 4);
    expect(await api.sink.apply(withGap, from)).toEqual({ outcome: 'gap', fromSeq: 4 });
    for (let time = 0; time < 2; time++)
      expect(await api.sink.apply(batch, from)).toEqual({ outcome: 'stored', seq: 5 });
    const { type: _type, ...usage } = USAGE;
    expect(await loadSession(api.context, id)).toMatchObject({
      status: 'completed',
      duration_seconds: 9,
      turns: [LATENCY],
      usage: [usage],
      timeline: [{}],
    });
    expect(await api.balance(user.userId)).toBe(10_000_000 - 9_000);
  });

  it('settle and report a call once when it ends by the API and again from a late spool', async () => {
    const id = await api.joined();
    const ended = {
      session_id: id,
      epoch: 1,
      seq: 2,
      report: { type: 'ended' as const, at: api.at(20_000), end_reason: 'agent_hangup' as const },
    };
    await Promise.all([
      api.sink.apply([ended], 'worker-1'),
      api.sink.apply([ended], 'worker-1'),
      api.lose('worker-1'),
    ]);
    await api.sink.apply([ended], 'worker-1');
    expect(await api.context.models.ledger.countDocuments({ user_id: user.userId, kind: 'settle' })).toBe(1);
    expect((await api.read(id)).status).toBe('completed');
  });
});

it('a session that became unknown again after it was read is not given up', async () => {
  const id = await api.joined();
  const lose = () => changeSession(api.context, id, { type: 'link.lost', at: new Date(api.at()) });
  const first = await lose();
  if (!first) throw new Error('not lost');
  await changeSession(api.context, id, { type: 'link.back', at: new Date(api.at()) });
  await api.clock.advance(1_000);
  await lose();
  const expired = { type: 'unknown.expired', since: first.status_at, at: first.status_at } as const;
  expect(await changeKnownSession(api.context, first, expired)).toBeNull();
  expect((await loadSession(api.context, id))?.status).toBe('unknown');
});

describe('ending a session by the API', () => {
  it('ends an active call by its worker and cancels a pending one; ended is 204, another team’s 404', async () => {
    const [live, waiting] = [await api.joined(), await api.session()];
    const end = (id: string, key = user.key) => api.request('POST', `/v1/agent/sessions/${id}/end`, { key });
    expect((await end(live)).status).toBe(204);
    expect(api.dispatch.ended).toEqual([
      { instanceId: 'worker-1', key: { sessionId: live, epoch: 1 }, reason: 'user_hangup' },
    ]);
    expect((await end(waiting)).status).toBe(204);
    expect(await api.read(waiting)).toMatchObject({ status: 'failed', end_reason: 'cancelled' });
    expect((await end(waiting)).status).toBe(204);
    expect((await end(live, (await api.createUser()).key)).status).toBe(404);
  });
});
