import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Archiver } from '#control-plane/operations/archive/archive-sessions.ts';
import { ANNOUNCED_MS } from '#control-plane/platform/store/session-archive.ts';
import type { TestUser } from '../../test-api.ts';
import { numbersToCall, openTestBatches, type TestBatches } from './test-batches.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const [A, B, C, D] = numbersToCall(4) as [string, string, string, string];

let api: TestBatches;
let user: TestUser;

beforeAll(async () => {
  api = await openTestBatches();
});
beforeEach(async () => {
  // Batches left open by an earlier test must not affect the next one.
  await api.context.models.batchCalls.deleteMany({});
  user = await api.newTenant();
});
afterAll(() => api.close());

const states = async (id: string) => (await api.rows(id)).map(({ state }) => state);
const post = (url: string, body?: unknown) =>
  api.request('POST', `/v1/agent/${url}`, { key: user.key, ...(body === undefined ? {} : { body }) });

describe('a batch', () => {
  it('calls the numbers in list order, with their variables, and completes with the last call', async () => {
    const recipients = [
      { to_number: A, dynamic_variables: { name: 'Ada' }, metadata: { order: 7 }, end_user_id: 'u1' },
      { to_number: B, to_extension: ',204#', dynamic_variables: { name: 'Bo' } },
    ];
    const { batch_call_id: id } = await api.start([], {
      recipients,
      disclosure: 'An automated call for {{name}}.',
    });
    expect((await api.batch(id)).status).toBe('scheduled');
    await api.pass();
    expect(api.dialled()).toEqual([A, B]);
    expect(api.dispatch.plans[0]?.plan).toMatchObject({
      variables: { name: 'Ada' },
      end_user_id: 'u1',
      outreach: { disclosure: 'An automated call for {{name}}.', opt_out: null },
    });
    const extensions = api.dispatch.plans.map(
      ({ plan }) => plan.transport.type === 'sip_outbound' && plan.transport.extension,
    );
    expect(extensions).toEqual([undefined, ',204#']);
    expect((await api.rows(id)).map(({ to_extension }) => to_extension)).toEqual([undefined, ',204#']);
    expect(await api.batch(id)).toMatchObject({
      status: 'running',
      row_count: 2,
      counts: { calling: 2, waiting: 0 },
    });
    const session = (await api.request('GET', `/v1/agent/sessions/${api.ringingAt(A)}`, { key: user.key }))
      .body;
    expect(session).toMatchObject({ metadata: { order: 7 }, direction: 'outbound' });

    await api.finish(A, 'answered');
    await api.finish(B, 'busy');
    await api.pass();
    expect(await api.batch(id)).toMatchObject({
      status: 'completed',
      counts: { completed: 1, busy: 1, calling: 0 },
      finished_at: expect.any(String),
    });
    const rows = await api.rows(id);
    expect(rows.map(({ line, state }) => [line, state])).toEqual([
      [1, 'completed'],
      [2, 'busy'],
    ]);
    expect(rows[0]).toMatchObject({
      session_id: api.ringingAt(A),
      attempts: [{ session_id: api.ringingAt(A), outcome: 'completed' }],
    });
    await api.pass();
    expect(api.dialled()).toHaveLength(2);
  });

  it('knows how a call ended that was archived while nothing ran', async () => {
    const { batch_call_id: id } = await api.start([A]);
    await api.pass();
    await api.finish(A, 'answered');
    await api.context.models.sessions.updateOne(
      { _id: api.ringingAt(A) },
      { $set: { due: 0, counted_turns: 0, 'analysis.state': 'skipped' }, $unset: { uncounted: '' } },
    );
    const archiver = new Archiver(api.context, 'test');
    const before = new Date(api.clock.wallTime() + 1);
    while (!(await archiver.archive(before))) await api.clock.advance(ANNOUNCED_MS);
    expect(await api.context.models.sessions.findById(api.ringingAt(A))).toBeNull();
    await api.pass();
    expect(await states(id)).toEqual(['completed']);
    await api.context.models.sessionArchives.deleteMany({});
  });

  it('keeps to its limits of concurrent calls and calls per minute', async () => {
    const { batch_call_id: id } = await api.start([A, B, C, D], {
      pacing: { concurrent_calls: 2, calls_per_minute: 3 },
    });
    await api.pass();
    expect(api.dialled()).toEqual([A, B]);
    await api.pass();
    expect(api.dialled()).toHaveLength(2);
    await api.finish(A, 'answered');
    await api.finish(B, 'answered');
    await api.pass();
    expect(api.dialled()).toEqual([A, B, C]);
    await api.clock.advance(MINUTE_MS - 1_000);
    await api.pass();
    expect(api.dialled()).toHaveLength(3);
    await api.clock.advance(1_000);
    await api.pass();
    expect(api.dialled()).toEqual([A, B, C, D]);
    expect((await api.batch(id)).counts.calling).toBe(2);
  });

  it('keeps its pace when another process takes it over and when two run it at once', async () => {
    const { batch_call_id: id } = await api.start([A, B, C, D], {
      pacing: { concurrent_calls: 10, calls_per_minute: 3 },
    });
    await Promise.all([api.pass(api.context, 'one'), api.pass(api.context, 'two')]);
    expect(api.dialled()).toEqual([A, B, C]);
    for (const number of [A, B, C]) await api.finish(number, 'busy');
    // The previous owner has been silent for longer than its lease.
    await api.clock.advance(31_000);
    await api.pass(api.context, 'three');
    expect(await states(id)).toEqual(['busy', 'busy', 'busy', 'waiting']);
    await api.clock.advance(MINUTE_MS - 31_000);
    await api.pass(api.context, 'three');
    expect(api.dialled()).toEqual([A, B, C, D]);
  });

  it('waits for its start and for the calling hours of each number', async () => {
    // 00:00 UTC on a Thursday: 16:00 in San Francisco, 09:00 in Tokyo.
    const startsAtMs = Math.ceil(api.clock.wallTime() / (24 * HOUR_MS)) * 24 * HOUR_MS;
    const tokyo = '+81312345678';
    const schedule = {
      start_at: new Date(startsAtMs).toISOString(),
      calling_hours: { start: '10:00', end: '17:00' },
    };
    const { batch_call_id: id } = await api.start([A, tokyo], { schedule });
    await api.pass();
    expect(api.dialled()).toEqual([]);
    await api.clock.advance(startsAtMs - api.clock.wallTime());
    await api.pass();
    expect(api.dialled()).toEqual([A]);
    await api.clock.advance(HOUR_MS);
    await api.pass();
    expect(api.dialled()).toEqual([A, tokyo]);
    expect((await api.rows(id)).map(({ time_zones }) => time_zones)).toEqual([
      ['America/Los_Angeles'],
      ['Asia/Tokyo'],
    ]);
  });

  it('retries busy and unanswered numbers after the delay, up to the maximum attempts', async () => {
    const retry = { on: ['busy', 'no_answer'], max_attempts: 2, delay_seconds: 600 };
    const { batch_call_id: id } = await api.start([A, B], { retry });
    await api.pass();
    await api.finish(A, 'busy');
    await api.finish(B, 'failed');
    await api.pass();
    expect(await states(id)).toEqual(['waiting', 'failed']);
    await api.clock.advance(599_000);
    await api.pass();
    expect(api.dialled()).toHaveLength(2);
    await api.clock.advance(1_000);
    await api.pass();
    expect(api.dialled()).toEqual([A, B, A]);
    await api.finish(A, 'no_answer');
    await api.pass();
    const [row] = await api.rows(id);
    expect(row).toMatchObject({
      state: 'no_answer',
      attempts: [{ outcome: 'busy' }, { outcome: 'no_answer' }],
    });
    expect(new Set(row.attempts.map(({ session_id }: { session_id: string }) => session_id)).size).toBe(2);
    expect((await api.batch(id)).status).toBe('completed');
  });

  it('dials no numbers while paused, and continues where it stopped', async () => {
    const { batch_call_id: id } = await api.start([A, B], { pacing: { concurrent_calls: 1 } });
    await api.pass();
    expect((await post(`batch-calls/${id}/pause`)).body.status).toBe('paused');
    await api.finish(A, 'answered');
    await api.pass();
    expect(api.dialled()).toEqual([A]);
    expect(await states(id)).toEqual(['completed', 'waiting']);
    expect((await post(`batch-calls/${id}/resume`)).body.status).toBe('running');
    await api.pass();
    expect(api.dialled()).toEqual([A, B]);
  });

  it('dials no more numbers once cancelled; running calls continue and are counted', async () => {
    const { batch_call_id: id } = await api.start([A, B], { pacing: { concurrent_calls: 1 } });
    await api.pass();
    expect((await post(`batch-calls/${id}/cancel`)).body).toMatchObject({
      status: 'cancelled',
      finished_at: null,
    });
    expect(await states(id)).toEqual(['calling', 'cancelled']);
    await api.pass();
    await api.finish(A, 'answered');
    await api.pass();
    expect(await api.batch(id)).toMatchObject({
      status: 'cancelled',
      counts: { completed: 1, cancelled: 1 },
      finished_at: expect.any(String),
    });
    expect(api.dialled()).toEqual([A]);
    const refused = await post(`batch-calls/${id}/resume`);
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'A batch that is cancelled cannot be resumed',
    ]);
  });

  it('waits when no worker has room, and loses no rows', async () => {
    const { batch_call_id: id } = await api.start([A, B]);
    api.dispatch.room = 0;
    await api.pass();
    expect(await states(id)).toEqual(['waiting', 'waiting']);
    api.dispatch.room = 10;
    await api.pass();
    expect(api.dialled()).toEqual([]);
    await api.clock.advance(10_000);
    await api.pass();
    expect(api.dialled().sort()).toEqual([A, B]);
    expect(await api.balance(user.userId)).toBe(10_000_000 - 2 * 70_000);
  });

  it('pauses itself with a reason when a person has to fix something', async () => {
    const { batch_call_id: id } = await api.start([A]);
    await api.context.models.numbers.updateOne({ _id: api.numberId() }, { $set: { status: 'error' } });
    await api.pass();
    expect(await api.batch(id)).toMatchObject({
      status: 'paused',
      status_reason: 'number_inactive',
      counts: { waiting: 1 },
    });
    await api.context.models.numbers.updateOne({ _id: api.numberId() }, { $set: { status: 'active' } });
    await post(`batch-calls/${id}/resume`);
    await api.pass();
    expect(api.dialled()).toEqual([A]);
    expect((await api.batch(id)).status_reason).toBe(null);
  });

  it('fails only the row of a number that has since become hosted here', async () => {
    const { batch_call_id: id } = await api.start([A, B]);
    const at = new Date();
    const hosted = {
      _id: 'hosted',
      team_id: 't',
      workspace_id: 'w',
      user_id: 'u',
      phone_number: A,
      provider: 'managed',
      status: 'active',
      is_proven: true,
    };
    await api.context.models.numbers.collection.insertOne({
      ...hosted,
      created_at: at,
      updated_at: at,
    } as never);
    await api.pass();
    await api.context.models.numbers.deleteOne({ _id: 'hosted' });
    expect((await api.rows(id)).map(({ state, error }) => [state, error])).toEqual([
      ['failed', 'Numbers hosted on this platform cannot be called'],
      ['calling', null],
    ]);
  });
});

describe('the do-not-call list', () => {
  it('keeps batches from calling a number, whenever it was added', async () => {
    const { batch_call_id: id } = await api.start([A, B], { pacing: { concurrent_calls: 1 } });
    await api.pass();
    await post('do-not-call', { phone_number: B, note: 'asked by letter' });
    await api.finish(A, 'answered');
    await api.pass();
    expect(await states(id)).toEqual(['completed', 'do_not_call']);
    expect(api.dialled()).toEqual([A]);
  });

  it('records opt-outs during a call, and batches no longer call those numbers', async () => {
    const optOut = { key: '9', phrases: ['stop calling'], confirmation: 'Goodbye.' };
    const retry = { on: ['failed'], max_attempts: 3, delay_seconds: 60 };
    const { batch_call_id: id } = await api.start([A], { opt_out: optOut, retry });
    await api.pass();
    expect(api.dispatch.plans[0]?.plan.outreach?.opt_out).toEqual(optOut);
    const sessionId = api.ringingAt(A);
    await api.report(sessionId, { type: 'dial', dial_status: 'answered', at: api.at(), sip_call_id: 'x' });
    await api.report(sessionId, { type: 'opt_out', by: 'voice' });
    await api.report(sessionId, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });
    const { body } = await api.request('GET', '/v1/agent/do-not-call', { key: user.key });
    expect(body.do_not_call).toEqual([
      { phone_number: A, source: 'voice', note: '', session_id: sessionId, created_at: expect.any(String) },
    ]);
    await api.pass();
    expect((await api.rows(id))[0]).toMatchObject({ state: 'completed', opted_out: true });
    expect((await api.batch(id)).counts.opted_out).toBe(1);
    const { batch_call_id: second } = await api.start([A, B]);
    await api.pass();
    expect(await states(second)).toEqual(['do_not_call', 'calling']);
  });
});

describe('the limits of a trunk', () => {
  const limit = (limits: Record<string, unknown>) =>
    api.request('PUT', `/v1/agent/phone-numbers/${api.numberId()}/limits`, { key: user.key, body: limits });
  const single = (to_number: string) =>
    post('phone-calls', { agent_id: api.agentId(), phone_number_id: api.numberId(), to_number });

  it('apply to single and batch calls together: concurrent calls', async () => {
    await limit({ concurrent_calls: 2, calls_per_minute: null });
    expect((await single(C)).status).toBe(201);
    const { batch_call_id: id } = await api.start([A, B]);
    await api.pass();
    expect(await states(id)).toEqual(['calling', 'waiting']);
    const refused = await single(D);
    expect([refused.status, refused.body.message]).toEqual([
      429,
      expect.stringMatching(/^All 2 concurrent calls of this trunk/),
    ]);
  });

  it('hold exactly for calls placed in the same moment', async () => {
    await limit({ concurrent_calls: 2, calls_per_minute: null });
    const placed = await Promise.all([A, B, C, D].map(single));
    expect(placed.map(({ status }) => status).sort()).toEqual([201, 201, 429, 429]);
    expect(api.dialled()).toHaveLength(2);
  });

  it('count calls that are already running when a limit is set', async () => {
    for (const number of [A, B]) expect((await single(number)).status).toBe(201);
    await limit({ concurrent_calls: 2, calls_per_minute: null });
    expect((await single(C)).status).toBe(429);
    await api.finish(A, 'busy');
    expect((await single(C)).status).toBe(201);
  });

  it('apply to single and batch calls together: calls per minute', async () => {
    await limit({ concurrent_calls: null, calls_per_minute: 2 });
    expect((await single(C)).status).toBe(201);
    const { batch_call_id: id } = await api.start([A, B]);
    await api.pass();
    expect(await states(id)).toEqual(['calling', 'waiting']);
    const refused = await single(D);
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true]);
    await api.clock.advance(MINUTE_MS);
    await api.pass();
    expect(await states(id)).toEqual(['calling', 'calling']);
  });
});
