import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CountedCall, Tally } from '#control-plane/operations/analytics/summarise-calls.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const DAY_MS = 86_400_000;
const LATENCY = {
  endpoint_ms: 400,
  transcript_ms: 0,
  first_token_ms: 100,
  first_sentence_ms: 0,
  first_audio_ms: 80,
  playout_ms: 20,
  endpoint_rule: 'complete',
  speculative: false,
};

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});
afterAll(() => api.close());

const read = (query = '', key = user.key) => api.request('GET', `/v1/agent/analytics${query}`, { key });

/** A joined call with one answered turn and this duration. */
async function call(seconds: number, totalMs: number): Promise<void> {
  const { body } = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  await api.report(body.session_id, { type: 'joined', at: api.at() });
  await api.report(body.session_id, {
    type: 'turn',
    latency: { turn_id: 1, speech_ended_at: api.at(), total_ms: totalMs, ...LATENCY },
  });
  await api.clock.advance(seconds * 1_000);
  await api.report(body.session_id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
}

describe('GET /v1/agent/analytics', () => {
  it('answers zeros and no rates when there are no calls', async () => {
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body.totals).toEqual({
      calls: 0,
      answered: 0,
      answer_rate: null,
      live: 0,
      total_seconds: 0,
      average_seconds: null,
      cost: '0.00',
      latency: { turns: 0, p50_ms: null, p95_ms: null, p99_ms: null },
      end_reasons: {},
    });
    expect(body.buckets.length).toBeGreaterThanOrEqual(7);
  });

  it('sums calls, time, money, end reasons and latency in total, per day and per agent', async () => {
    await call(60, 600);
    await call(30, 900);
    await api
      .request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } })
      .then(async ({ body }) => {
        await api.request('POST', `/v1/agent/sessions/${body.session_id}/end`, { key: user.key });
      });
    const { body } = await read(`?to=${encodeURIComponent(api.at(1_000))}`);
    expect(body.totals).toMatchObject({
      calls: 3,
      answered: 2,
      live: 0,
      total_seconds: 90,
      average_seconds: 45,
      cost: '0.09',
    });
    expect(body.totals.answer_rate).toBeCloseTo(2 / 3);
    expect(body.totals.end_reasons).toEqual({ user_hangup: 2, cancelled: 1 });
    expect(body.totals.latency).toEqual({ turns: 2, p50_ms: 600, p95_ms: 900, p99_ms: 900 });
    expect(body.agents).toEqual([
      expect.objectContaining({ agent_id: agentId, agent_name: 'Ada', calls: 3 }),
    ]);
    expect(body.buckets.reduce((sum: number, bucket: { calls: number }) => sum + bucket.calls, 0)).toBe(3);
  });

  it('counts calls only in their own day and for their own agent', async () => {
    const before = await read(`?to=${encodeURIComponent(api.at(-2 * DAY_MS))}`);
    expect(before.body.totals.calls).toBe(0);
    expect((await read(`?agent_id=${'f'.repeat(32)}`)).body.totals.calls).toBe(0);
  });

  it('is visible to its team only', async () => {
    const otherUser = await api.createUser();
    expect((await read('', otherUser.key)).body.totals.calls).toBe(0);
  });

  it('refuses ranges that are too long or reversed', async () => {
    const day = (days: number) => encodeURIComponent(api.at(days * DAY_MS));
    expect((await read(`?from=${day(-94)}`)).body.message).toContain('too long');
    expect((await read(`?from=${day(-15)}&interval=hour`)).body.message).toContain('ask by the day');
    expect((await read(`?from=${day(1)}&to=${day(-1)}`)).status).toBe(400);
    expect((await read(`?from=${day(-13)}&interval=hour`)).status).toBe(200);
  });
});

describe('the tally', () => {
  const counted = (over: Partial<CountedCall>): CountedCall => ({
    agent_id: 'a',
    agent_name: 'Ada',
    status: 'completed',
    end_reason: 'user_hangup',
    created_at: new Date(0),
    started_at: new Date(0),
    duration_seconds: 10,
    billing: { state: 'settled', hold: 60_000, due: 50_000 },
    ...over,
  });

  it('charges a live call its first minute and a free call nothing', () => {
    const tally = new Tally();
    tally.add(
      counted({
        status: 'active',
        end_reason: null,
        duration_seconds: null,
        billing: { state: 'held', hold: 60_000, due: 0 },
      }),
    );
    tally.add(counted({ billing: { state: 'free', hold: 0, due: 0 } }));
    expect(tally.sums()).toMatchObject({ calls: 2, live: 1, costMicros: 60_000 });
  });

  it('keeps percentiles accurate to 10 ms for any number of turns', () => {
    const tally = new Tally();
    tally.add(counted({ turns: Array.from({ length: 1_000 }, (_, index) => ({ total_ms: index + 1 })) }));
    tally.add(counted({ turns: [{ total_ms: 1e9 }, { total_ms: -5 }] }));
    expect(tally.sums().latency).toEqual({ turns: 1_002, p50_ms: 500, p95_ms: 950, p99_ms: 990 });
  });
});
