import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { relayOutbox } from '#control-plane/calls/outbox/relay.ts';
import { sweep } from '#control-plane/calls/settlement/sweep.ts';
import { scoreCalls } from '#control-plane/operations/scorecard/score-counter.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { DUE_BITS, dueIn } from '#control-plane/platform/store/session-due.ts';
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
  agentId = await api.publishAgent(user, { webhooks: { post_call: [{ url: 'https://hook.example.com/' }] } });
});
afterAll(() => api.close());

const read = async (id: string) => (await api.context.models.sessions.findById(id).lean()) as SessionDocument;

async function joined(): Promise<string> {
  const { body } = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  await api.report(body.session_id, { type: 'joined', at: api.at() });
  return body.session_id;
}

/** The part of a session that an index of open work has. */
async function dueOf(id: string): Promise<string[]> {
  const found: string[] = [];
  for (const kind of Object.keys(DUE_BITS) as (keyof typeof DUE_BITS)[])
    if (await api.context.models.sessions.exists({ _id: id, ...dueIn(kind) })) found.push(kind);
  return found;
}

describe('what is due in a session', () => {
  it('is its life, then its analysis and score, and nothing once it is settled, reported, analysed and scored', async () => {
    const id = await joined();
    expect(await dueOf(id)).toEqual(['live']);
    await api.report(id, { type: 'ended', at: api.at(9_000), end_reason: 'user_hangup' });
    expect(await dueOf(id)).toEqual(['analysis', 'score']);
    await api.context.models.sessions.updateOne(
      { _id: id },
      { $set: { 'analysis.state': 'running', 'analysis.job_id': 'job' }, $bit: { due: { xor: 8 | 16 } } },
    );
    expect(await dueOf(id)).toEqual(['analysing', 'score']);
    const result = { status: 'skipped' as const, summary: null, data: [], criteria_results: [], error: null };
    await api.report(id, { type: 'analysis', job_id: 'job', result });
    expect(await dueOf(id)).toEqual(['score']);
    await scoreCalls(api.context);
    expect([await dueOf(id), (await read(id)).due]).toEqual([[], 0]);
    await api.request('POST', `/v1/agent/sessions/${id}/analysis`, { key: user.key });
    expect(await dueOf(id)).toEqual(['analysis']);
  });

  it('is its settlement and its events while these have failed, until the sweeper has repeated them', async () => {
    const id = await joined();
    const away = new Error('the database is away');
    const failing = [
      vi.spyOn(api.context.ledger, 'post').mockRejectedValue(away),
      vi.spyOn(api.context.models.deliveries.collection, 'insertMany').mockRejectedValue(away),
    ];
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    for (const spy of failing) spy.mockRestore();
    expect(await dueOf(id)).toEqual(['settlement', 'outbox', 'analysis', 'score']);
    await sweep(api.context, { graceMs: 0, startedAtMs: api.clock.wallTime() });
    expect(await dueOf(id)).toEqual(['analysis', 'score']);
  });

  it('keeps the work that only a later release knows of, beside which this one may run', async () => {
    const later = 1 << 20;
    const id = await joined();
    await api.context.models.sessions.updateOne({ _id: id }, { $bit: { due: { or: later } } });
    await api.report(id, { type: 'ended', at: api.at(9_000), end_reason: 'user_hangup' });
    expect(((await read(id)).due ?? 0) & later).toBe(later);
  });

  it('keeps an event that comes while earlier ones are handed over', async () => {
    const id = await joined();
    const at = new Date(api.clock.wallTime());
    const first = { id: `${id}:call.ended`, event: 'call.ended', rank: 2, at, payload: Buffer.alloc(1) };
    const { collection } = api.context.models.sessions;
    const push = (event: object) =>
      collection.updateOne(
        { _id: id } as never,
        {
          $push: { outbox: event },
          $bit: { due: { or: DUE_BITS.outbox } },
        } as never,
      );
    await push(first);
    const before = await read(id);
    await push({ ...first, id: `${id}:call.analyzed`, event: 'call.analyzed', rank: 3 });
    await relayOutbox(api.context, before);
    expect((await read(id)).outbox.map(({ event }) => event)).toEqual(['call.analyzed']);
    expect(await dueOf(id)).toContain('outbox');
    await relayOutbox(api.context, await read(id));
    expect(await dueOf(id)).not.toContain('outbox');
  });

  it('has no events of an erased session', async () => {
    const id = await joined();
    await api.context.models.sessions.updateOne(
      { _id: id },
      { $set: { end_user_id: 'person' }, $bit: { due: { or: DUE_BITS.outbox } } },
    );
    await api.request('POST', '/v1/agent/erasures', { key: user.key, body: { end_user_id: 'person' } });
    expect(await dueOf(id)).toEqual(['live']);
  });
});
