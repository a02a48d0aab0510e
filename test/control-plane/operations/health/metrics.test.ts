import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Tracing } from '#config/tracing.ts';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import type { MediaQuality } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { sampleIn } from '../../../fakes/metric-sample.ts';
import { startMongodbServer } from '../../../fakes/mongodb-server.ts';
import { openWebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { openTestStore } from '../../test-store.ts';

let api: TestCalls;

beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());

async function scrape(headers: Record<string, string> = {}): Promise<string> {
  return (await api.request('GET', '/metrics', { headers })).text;
}

async function startSession(): Promise<string> {
  const user = await api.createUser();
  const agent_id = await api.publishAgent(user);
  const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
  await api.report(body.session_id, { type: 'joined', at: api.at(2_000) });
  return body.session_id;
}

/** The changes of these series since the last call. */
async function changesOf<Name extends string>(...series: Name[]): Promise<() => Promise<number[]>> {
  const before = await scrape();
  return async () => {
    const after = await scrape();
    return series.map((name) => (sampleIn(after, name) ?? 0) - (sampleIn(before, name) ?? 0));
  };
}

const TURN: Extract<DurableReport, { type: 'turn' }> = {
  type: 'turn',
  latency: {
    turn_id: 1,
    speech_ended_at: '2026-01-01T00:00:00.000Z',
    endpoint_ms: 400,
    transcript_ms: 50,
    first_token_ms: 300,
    first_sentence_ms: 100,
    first_audio_ms: 150,
    playout_ms: 20,
    total_ms: 1_020,
    endpoint_rule: 'complete',
    speculative: false,
  },
  engines: { recognition: 'deepgram:nova-3', model: 'openai/gpt-4.1', synthesis: 'local' },
};

const QUALITY: MediaQuality = {
  packets_received: 980,
  packets_lost: 20,
  packets_sent: 1_000,
  jitter_ms: 12,
  round_trip_ms: null,
  jitter_buffer_ms: 40,
  concealed_share: 0.02,
  mos: 4.25,
};

it('metrics count calls, webhooks, wallet entries and wallets that ran low', async () => {
  const receiver = await openWebhookReceiver();
  const deliverer = startDeliverer(api.context);
  const user = await api.createUser({ credit: '1.05' });
  const agent_id = await api.publishAgent(user, { webhooks: { post_call: [{ url: `${receiver.url}/a` }] } });
  for (let calls = 0; calls < 2; calls++) {
    const { session_id } = (
      await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } })
    ).body;
    await api.report(session_id, { type: 'joined', at: api.at() });
    const ended = { type: 'ended', at: api.at(60_000), end_reason: 'agent_hangup' } as const;
    await api.report(session_id, ended);
    await api.report(session_id, ended);
  }
  await deliverer.idle();
  await deliverer.close();
  await receiver.close();
  const text = await scrape();
  for (const line of [
    'parley_admission_seconds_count{kind="session",outcome="admitted"} 2',
    'parley_calls_created_total{channel="web_voice"} 2',
    'parley_calls_joined_total{channel="web_voice"} 2',
    'parley_calls_ended_total{channel="web_voice",reason="agent_hangup"} 2',
    'parley_call_duration_seconds_sum{channel="web_voice"} 120',
    'parley_webhooks_total{outcome="delivered"} 2',
    'parley_webhook_age_seconds_count{outcome="delivered"} 2',
    'parley_webhook_attempt_seconds_count{outcome="accepted"} 2',
    'parley_wallet_postings_total{kind="hold"} 2',
    'parley_wallet_debited_dollars_total{kind="hold"} 0.12',
    'parley_wallet_low_credit_total 1',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
});

describe('what a worker reports of a call is counted', () => {
  it('a turn by its parts and by the vendor that served each, once however often it is reported', async () => {
    const changes = await changesOf(
      'parley_turn_latency_seconds_count{channel="web_voice"}',
      'parley_turn_latency_seconds_sum{channel="web_voice"}',
      'parley_turn_part_seconds_sum{part="endpoint",vendor="parley"}',
      'parley_turn_part_seconds_sum{part="transcript",vendor="deepgram"}',
      'parley_turn_part_seconds_sum{part="first_token",vendor="openai"}',
      'parley_turn_part_seconds_sum{part="first_sentence",vendor="openai"}',
      'parley_turn_part_seconds_sum{part="first_audio",vendor="local"}',
      'parley_turn_part_seconds_sum{part="playout",vendor="parley"}',
    );
    const sessionId = await startSession();
    await api.report(sessionId, TURN);
    expect((await changes()).map((value) => Math.round(value * 1000))).toEqual([
      1_000, 1_020, 400, 50, 300, 100, 150, 20,
    ]);
  });

  it('a vendor that the table does not know, and one that an older worker does not name, as `other`', async () => {
    const changes = await changesOf('parley_turn_part_seconds_count{part="transcript",vendor="other"}');
    const sessionId = await startSession();
    const { engines: _, ...older } = TURN;
    await api.report(sessionId, older);
    const recognition = 'https://asr.tenant.example.com:+15550100000';
    await api.report(sessionId, { ...TURN, engines: { recognition, model: 'x', synthesis: 'y' } });
    expect(await changes()).toEqual([2]);
    expect(await scrape()).not.toContain('tenant');
  });

  it('a silence by the cause of most of it', async () => {
    const changes = await changesOf('parley_silence_seconds_sum{cause="tool",ended_by="agent"}');
    const rule = 'a name of a tenant';
    const cause = (name: 'tool' | 'endpoint', ms: number) => ({ cause: name, rule, ms });
    await api.report(await startSession(), {
      type: 'silence',
      silence: {
        turn_id: 1,
        started_at: api.at(),
        duration_ms: 2_500,
        ended_by: 'agent',
        causes: [cause('endpoint', 500), cause('tool', 2_000)],
        decisions: [],
      },
    });
    expect(await changes()).toEqual([2.5]);
    expect(await scrape()).not.toContain('a name of a tenant');
  });

  it('the quality of a phone call, and that nothing was heard in another', async () => {
    const changes = await changesOf(
      'parley_call_mos_sum',
      'parley_call_packet_loss_ratio_sum',
      'parley_call_jitter_seconds_sum',
      'parley_call_round_trip_seconds_count',
      'parley_calls_unheard_total',
    );
    const ended = { type: 'ended', at: api.at(60_000), end_reason: 'user_hangup' } as const;
    const heard = await startSession();
    await api.report(heard, { type: 'media', quality: QUALITY });
    await api.report(heard, ended);
    const unheard = { expected_address: '192.0.2.7:4000', refused_addresses: [] };
    const quiet = await startSession();
    await api.report(quiet, {
      type: 'media',
      quality: { ...QUALITY, packets_received: 0, packets_lost: 0, mos: null, unheard },
    });
    await api.report(quiet, ended);
    expect((await changes()).map((value) => Math.round(value * 1000) / 1000)).toEqual([
      4.25, 0.02, 0.012, 0, 1,
    ]);
  });

  it('the quality of a call once, as reported last, when the call ends, however often that arrives', async () => {
    const changes = await changesOf(
      'parley_call_mos_count',
      'parley_call_mos_sum',
      'parley_call_jitter_seconds_count',
      'parley_calls_unheard_total',
    );
    const quality = { ...QUALITY, mos: 3 };
    const unheard = { expected_address: '192.0.2.7:4000', refused_addresses: [] };
    const sessionId = await startSession();
    await api.report(sessionId, { type: 'media', quality: { ...quality, unheard } });
    await api.report(sessionId, { type: 'media', quality: QUALITY });
    expect(await changes()).toEqual([0, 0, 0, 0]);
    const session = await api.context.models.sessions.findById(sessionId).lean();
    const end = {
      session_id: sessionId,
      epoch: session?.epoch ?? 0,
      seq: (session?.last_seq ?? 0) + 1,
      report: { type: 'ended', at: api.at(60_000), end_reason: 'user_hangup' },
    } as const;
    for (let arrivals = 0; arrivals < 2; arrivals++)
      await api.sink.apply([end], session?.worker?.instance_id ?? '');
    expect(await changes()).toEqual([1, QUALITY.mos, 1, 0]);
  });

  it('with traces on, a turn is linked to the trace of its call for a client that asks for OpenMetrics', async () => {
    const traced = await openTestCalls({}, { tracing: { record: () => '' } as unknown as Tracing });
    const user = await traced.createUser();
    const agent_id = await traced.publishAgent(user);
    const asked = { key: user.key, body: { agent_id } };
    const { body } = await traced.request('POST', '/v1/agent/sessions', asked);
    await traced.report(body.session_id, { type: 'joined', at: traced.at() });
    await traced.report(body.session_id, TURN);
    const accept = 'application/openmetrics-text;version=1.0.0';
    const { text } = await traced.request('GET', '/metrics', { headers: { accept } });
    const series = 'parley_turn_latency_seconds_bucket{le="1.25",channel="web_voice"}';
    expect(text).toContain(`${series} 1 # {trace_id="${body.session_id}"}`);
    await traced.close();
    await api.report(await startSession(), TURN);
    expect(await scrape({ accept })).not.toContain('trace_id');
  });
});

describe('the state of the store', () => {
  it('is read at most once in ten seconds, however often it is scraped', async () => {
    await api.clock.advance(10_000);
    const reads = vi.spyOn(api.context.models.sessions, 'countDocuments');
    const before = sampleIn(await scrape(), 'parley_sessions{status="active"}') ?? 0;
    await startSession();
    await Promise.all([scrape(), scrape()]);
    expect(sampleIn(await scrape(), 'parley_sessions{status="active"}')).toBe(before);
    const once = reads.mock.calls.length;
    await api.clock.advance(10_000);
    expect(sampleIn(await scrape(), 'parley_sessions{status="active"}')).toBe(before + 1);
    expect(reads.mock.calls.length).toBe(2 * once);
    reads.mockRestore();
  });

  it('has the number of waiting items of each queue and the age of the oldest', async () => {
    const receiver = await openWebhookReceiver();
    const user = await api.createUser();
    const post_call = [{ url: `${receiver.url}/b` }];
    const agent_id = await api.publishAgent(user, { webhooks: { post_call } });
    const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
    await api.report(body.session_id, { type: 'joined', at: api.at() });
    // No deliverer runs.
    await api.report(body.session_id, { type: 'ended', at: api.at(5_000), end_reason: 'user_hangup' });
    await api.clock.advance(20_000);
    const text = await scrape();
    await receiver.close();
    expect(sampleIn(text, 'parley_store_up')).toBe(1);
    expect(sampleIn(text, 'parley_backlog_items{queue="webhooks"}')).toBe(1);
    expect(sampleIn(text, 'parley_backlog_oldest_seconds{queue="webhooks"}')).toBeGreaterThanOrEqual(20);
    for (const queue of ['outbox', 'settlements', 'test_runs'])
      expect([
        sampleIn(text, `parley_backlog_items{queue="${queue}"}`),
        sampleIn(text, `parley_backlog_oldest_seconds{queue="${queue}"}`),
      ]).toEqual([0, 0]);
  });

  it('while the store hangs, one scrape waits for it, the others do not, and its answer is used again', async () => {
    const server = await startMongodbServer();
    const store = await openTestStore(`${server.setUrl}&minHeartbeatFrequencyMS=10`, new ManualClock());
    const hung = await openTestCalls({}, {}, store);
    const scraped = () => hung.request('GET', '/metrics');
    const up = async () => sampleIn((await scraped()).text, 'parley_store_up');
    expect(await up()).toBe(1);
    server.freeze();
    await hung.clock.advance(10_000);
    const waiting = Promise.all([up(), up(), up()]);
    await expect.poll(() => hung.clock.nextDueMs, { timeout: 10_000 }).toBe(hung.clock.now() + 3_000);
    await hung.clock.advance(3_000);
    // No more time passes.
    expect(await waiting).toEqual([0, 0, 0]);
    const { text } = await scraped();
    expect(text).not.toMatch(/^parley_(sessions|backlog_\w+)\{/m);
    expect(text).toContain('parley_calls_created_total');
    server.thaw();
    await expect.poll(up, { timeout: 10_000 }).toBe(1);
    await hung.close();
    await server.close();
  });

  it('a scrape while the store is away answers with everything else', async () => {
    const away = await openTestCalls();
    expect(sampleIn((await away.request('GET', '/metrics')).text, 'parley_store_up')).toBe(1);
    await away.context.models.sessions.db.close();
    await away.clock.advance(10_000);
    const { status, text } = await away.request('GET', '/metrics');
    expect([status, sampleIn(text, 'parley_store_up')]).toEqual([200, 0]);
    expect(text).not.toMatch(/^parley_(sessions|backlog_\w+)\{/m);
    expect(text).toContain('parley_calls_created_total');
    await away.close();
  });
});
