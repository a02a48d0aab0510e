import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let receiver: WebhookReceiver;
let deliverer: BackgroundLoop;

beforeAll(async () => {
  api = await openTestCalls();
});
beforeEach(async () => {
  user = await api.createUser();
  receiver = await openWebhookReceiver();
  deliverer = startDeliverer(api.context);
});
afterEach(async () => {
  await deliverer.close();
  await receiver.close();
  const { deliveries, sessions } = api.context.models;
  await Promise.all([deliveries.deleteMany({}), sessions.deleteMany({})]);
});
afterAll(() => api.close());

/** A web session of `seconds` whose agent posts to these paths of the receiver. */
async function call(
  paths: readonly { path: string; secret?: string }[],
  body: Record<string, unknown> = {},
): Promise<string> {
  const post_call = paths.map(({ path, secret }) => ({
    url: `${receiver.url}${path}`,
    ...(secret ? { secret } : {}),
  }));
  const agent_id = await api.publishAgent(user, { webhooks: { post_call } });
  const created = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id, ...body },
  });
  const id: string = created.body.session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  await api.clock.advance(12_500);
  return id;
}

const end = (id: string) => api.report(id, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });

async function analyse(id: string): Promise<void> {
  const session = await api.context.models.sessions.findById(id).lean();
  await api.context.models.sessions.updateOne(
    { _id: id },
    { $set: { 'analysis.state': 'running', 'analysis.job_id': `job-${session?.analysis.runs}` } },
  );
  const result = {
    status: 'completed' as const,
    summary: 'Fine.',
    data: [],
    criteria_results: [],
    error: null,
  };
  await api.report(id, { type: 'analysis', job_id: `job-${session?.analysis.runs}`, result });
}

/** Lets running attempts finish, then `ms` pass. */
async function pass(ms: number): Promise<void> {
  await deliverer.idle();
  await api.clock.advance(ms);
  await deliverer.idle();
}

describe('webhooks', () => {
  it('a retry due during a store outage is sent once the store is back', async () => {
    const id = await call([{ path: '/a' }]);
    receiver.answer = () => ({ status: 500 });
    await end(id);
    await receiver.waitFor(1);
    await deliverer.idle();
    receiver.answer = () => ({ status: 200 });
    const outage = vi.spyOn(api.context.models.deliveries, 'findOne').mockImplementation(() => {
      throw new Error('the store is away');
    });
    await pass(1_000);
    outage.mockRestore();
    await pass(5_000);
    expect(await receiver.waitFor(2)).toHaveLength(2);
  });

  it('call.ended carries the session’s facts, empty strings on the web, and the reason', async () => {
    const id = await call([{ path: '/a' }], { metadata: { order: 7 }, end_user_id: 'u-1' });
    await end(id);
    const [webhook] = await receiver.waitFor(1);
    const session = await api.context.models.sessions.findById(id).lean();
    expect(webhook?.headers['content-type']).toBe('application/json');
    expect(webhook?.headers['x-service-webhook-signature']).toBeUndefined();
    expect(webhook?.body).toEqual({
      event: 'call.ended',
      ended_reason: 'agent_hangup',
      session: {
        id,
        agent_id: session?.agent_id,
        branch_id: session?.version_id,
        source: 'api_key',
        status: 'completed',
        direction: 'inbound',
        dial_status: null,
        answered_by: null,
        batch_call_id: null,
        conversation_started_at: api.at(-12_500),
        conversation_ended_at: api.at(),
        duration_seconds: 13,
        end_user_id: 'u-1',
        metadata: { order: 7 },
        agent_name: 'Ada',
        config_hash: session?.config_hash,
        end_reason: 'agent_hangup',
        caller_number: '',
        dialed_number: '',
        sip_call_id: '',
      },
    });
  });

  it('requests are signed over the raw bytes with each endpoint’s own secret', async () => {
    await end(
      await call([
        { path: '/a', secret: 'one' },
        { path: '/b', secret: 'two' },
      ]),
    );
    const received = await receiver.waitFor(2);
    for (const { path, headers, raw } of received) {
      const [, t, v1] =
        /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-service-webhook-signature'])) ?? [];
      expect(Number(t)).toBe(Math.floor(api.clock.wallTime() / 1000));
      expect(v1).toBe(
        createHmac('sha256', path === '/a' ? 'one' : 'two')
          .update(`${t}.`)
          .update(raw)
          .digest('hex'),
      );
    }
  });

  it('a failure is retried after 1 s and 5 s, same bytes, new signature; the third drops the event', async () => {
    receiver.answer = () => ({ status: 500 });
    await end(await call([{ path: '/a', secret: 'one' }]));
    await receiver.waitFor(1);
    await pass(999);
    expect(receiver.received.length).toBe(1);
    await pass(1);
    await receiver.waitFor(2);
    await pass(4_999);
    expect(receiver.received.length).toBe(2);
    await pass(1);
    await receiver.waitFor(3);
    await pass(600_000);
    expect(receiver.received.length).toBe(3);
    expect(new Set(receiver.received.map(({ raw }) => raw.toString())).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['x-service-webhook-signature'])).size).toBe(
      3,
    );
    expect(await api.context.models.deliveries.findOne().lean()).toMatchObject({
      state: 'dropped',
      attempts: 3,
      last_result: '500',
    });
  });

  it('an answer later than 10 s is a failed attempt', async () => {
    receiver.answer = () => 'hang';
    await end(await call([{ path: '/a' }]));
    await receiver.waitFor(1);
    await api.clock.advance(10_000);
    await deliverer.idle();
    receiver.answer = () => ({ status: 200 });
    await pass(1_000);
    await receiver.waitFor(2);
  });

  it('an attempt cut off by a shutdown does not count and is due again at once', async () => {
    receiver.answer = () => 'hang';
    await end(await call([{ path: '/a' }]));
    await receiver.waitFor(1);
    await deliverer.close();
    expect(await api.context.models.deliveries.findOne().lean()).toMatchObject({
      state: 'pending',
      attempts: 0,
      lease: null,
    });
    receiver.answer = () => ({ status: 200 });
    deliverer = startDeliverer(api.context);
    await receiver.waitFor(2);
  });

  it('a redirect is a failure and is not followed', async () => {
    receiver.answer = ({ path }) =>
      path === '/a' ? { status: 307, headers: { location: '/b' } } : { status: 200 };
    await end(await call([{ path: '/a' }]));
    await receiver.waitFor(1);
    await pass(1_000);
    await receiver.waitFor(2);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/a', '/a']);
  });

  it('an event waits for earlier events of the same endpoint only', async () => {
    receiver.answer = ({ path, body }) => ({
      status: path === '/slow' && body.event === 'call.ended' ? 500 : 200,
    });
    const id = await call([{ path: '/slow' }, { path: '/quick' }]);
    await end(id);
    await analyse(id);
    await receiver.waitFor(3);
    await deliverer.idle();
    const events = (path: string) =>
      receiver.received.filter((webhook) => webhook.path === path).map(({ body }) => body.event);
    expect([events('/quick'), events('/slow')]).toEqual([['call.ended', 'call.analyzed'], ['call.ended']]);
    await pass(1_000);
    await pass(5_000);
    await receiver.waitFor(6);
    expect(events('/slow')).toEqual(['call.ended', 'call.ended', 'call.ended', 'call.analyzed']);
  });

  it('call.analyzed carries the analysis; a repeated one has a newer finished_at', async () => {
    const id = await call([{ path: '/a' }]);
    await end(id);
    await analyse(id);
    await receiver.waitFor(2);
    await deliverer.idle();
    await api.clock.advance(5_000);
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { 'analysis.state': 'error' } });
    expect((await api.request('POST', `/v1/agent/sessions/${id}/analysis`, { key: user.key })).status).toBe(
      202,
    );
    await analyse(id);
    await receiver.waitFor(3);
    const analyses = receiver.received
      .filter(({ body }) => body.event === 'call.analyzed')
      .map(({ body }) => body.analysis);
    expect(analyses.map(({ finished_at: _, ...analysis }) => analysis)).toEqual(
      Array.from({ length: 2 }, () => ({
        status: 'completed',
        summary: 'Fine.',
        data: [],
        criteria_results: [],
        error: null,
      })),
    );
    expect(analyses[1].finished_at > analyses[0].finished_at).toBe(true);
  });

  it('an endpoint whose address is private at the time of delivery receives nothing', async () => {
    const id = await call([{ path: '/a' }]);
    await api.context.models.sessions.updateOne(
      { _id: id },
      { $set: { endpoints: [{ url: 'http://private.example.com/', secret: null }] } },
    );
    await end(id);
    for (const ms of [1_000, 5_000]) await pass(ms);
    expect(await api.context.models.deliveries.findOne().lean()).toMatchObject({
      state: 'dropped',
      last_result: 'The host is not a public address',
    });
    expect(receiver.received).toEqual([]);
  });

  it('a deliverer killed in the middle of an attempt loses nothing: its lease expires', async () => {
    receiver.answer = () => 'hang';
    await end(await call([{ path: '/a' }]));
    await receiver.waitFor(1);
    // A kill leaves a lease without a holder.
    const leased = await api.context.models.deliveries.findOne().lean();
    expect(leased?.lease).not.toBeNull();
    receiver.answer = () => ({ status: 200 });
    await api.context.models.deliveries.updateOne(
      { _id: leased?._id ?? '' },
      { $set: { lease: 'of a dead process' } },
    );
    const successor = startDeliverer(api.context);
    // It has seen when the lease expires.
    await successor.idle();
    await api.clock.advance(21_000);
    await receiver.waitFor(2);
    await Promise.all([successor.idle(), deliverer.idle()]);
    await successor.close();
    expect((await api.context.models.deliveries.findOne().lean())?.state).toBe('delivered');
  });

  it('a preview triggers no webhook and is not listed', async () => {
    const agent_id = await api.publishAgent(user, {
      webhooks: { post_call: [{ url: `${receiver.url}/a` }] },
    });
    const { status, body } = await api.request('POST', `/v1/agent/agents/${agent_id}/preview-sessions`, {
      key: user.key,
    });
    expect([status, body.max_duration_seconds]).toEqual([201, 600]);
    await api.report(body.session_id, { type: 'joined', at: api.at() });
    await api.clock.advance(120_000);
    await end(body.session_id);
    expect(await api.balance(user.userId)).toBe(10_000_000);
    expect(await api.context.models.deliveries.countDocuments()).toBe(0);
    expect((await api.request('GET', '/v1/agent/sessions', { key: user.key })).body.sessions).toEqual([]);
    expect(
      (await api.request('GET', `/v1/agent/sessions/${body.session_id}`, { key: user.key })).status,
    ).toBe(404);
    expect(
      (await api.request('POST', `/v1/agent/sessions/${body.session_id}/analysis`, { key: user.key })).status,
    ).toBe(404);
    const preview = await api.request(
      'GET',
      `/v1/agent/agents/${agent_id}/preview-sessions/${body.session_id}`,
      { key: user.key },
    );
    expect([preview.status, preview.body.status, preview.body.duration_seconds]).toEqual([
      200,
      'completed',
      120,
    ]);
  });
});

describe('an endpoint that hangs', () => {
  /** Sessions of a user whose webhooks go to one path; all end at once. */
  async function endCalls(count: number, path: string): Promise<void> {
    const ids: string[] = [];
    const agent_id = await api.publishAgent(user, {
      webhooks: { post_call: [{ url: `${receiver.url}${path}` }] },
    });
    for (let index = 0; index < count; index++) {
      const { session_id } = (
        await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } })
      ).body;
      await api.report(session_id, { type: 'joined', at: api.at() });
      ids.push(session_id);
    }
    for (const id of ids) await end(id);
  }
  const came = (path: string) => receiver.received.filter((webhook) => webhook.path === path).length;

  beforeEach(() => {
    receiver.answer = ({ path }) => (path.startsWith('/hangs') ? 'hang' : { status: 200 });
  });

  it('webhooks: delays its own deliveries only, four at once', async () => {
    await endCalls(40, '/hangs');
    await endCalls(6, '/answers');
    await expect.poll(() => came('/answers'), { timeout: 10_000 }).toBe(6);
    await expect.poll(() => came('/hangs')).toBe(4);
  });

  it('webhooks: delays its own account only, even when the account has many of them', async () => {
    for (let endpoint = 0; endpoint < 8; endpoint++) await endCalls(5, `/hangs/${endpoint}`);
    user = await api.createUser();
    await endCalls(6, '/answers');
    await expect.poll(() => came('/answers'), { timeout: 10_000 }).toBe(6);
    expect(receiver.received.length - came('/answers')).toBe(16);
  });
});
