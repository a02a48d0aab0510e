import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import { createReportSink } from '#control-plane/calls/settlement/settle-call.ts';
import { sweep } from '#control-plane/calls/settlement/sweep.ts';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import { SharedReplicas } from '#control-plane/calls/workers/other-replicas.ts';
import { SpeakingAgents } from '#control-plane/calls/workers/speaking-agents.ts';
import { startLinkWatch } from '#control-plane/calls/workers/watch-links.ts';
import { WorkerDispatch } from '#control-plane/calls/workers/worker-dispatch.ts';
import { WorkerHub } from '#control-plane/calls/workers/worker-hub.ts';
import { serveWorkerLink } from '#control-plane/calls/workers/worker-link-server.ts';
import { createCallJobs } from '#control-plane/jobs/create-call-jobs.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { ReportSink } from '#control-plane/platform/report-sink.ts';
import type { Coordination } from '#control-plane/platform/store/coordination.ts';
import { registerReplica } from '#control-plane/platform/store/replica-register.ts';
import { connectSharedCoordination } from '#control-plane/platform/store/shared.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { type RedisServer, startRedisServer } from '../../../fakes/redis-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { has, itNeeds } from '../../../needs.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';
import { type ScriptedWorker, startWorker, TOKEN } from './scripted-worker.ts';

vi.setConfig({ testTimeout: 180_000 });

const NEEDS = ['redis-server'];
const ORIGIN = 'https://shop.example.com';
const logger = createLogger({ level: 'silent', name: 'test' });
/** These tests wait for events; their duration depends on the machine. */
const WAIT = { timeout: 60_000, interval: 20 };

/** One replica of the control plane: its API, its end of the worker link, its chores. */
interface Replica {
  readonly api: TestApi;
  readonly dispatch: WorkerDispatch;
  readonly sink: ReportSink;
  readonly workers: ConnectedWorkers;
  readonly port: number;
  /** Resolves when its last heartbeat is stored. */
  listed(): Promise<void>;
  /** Stops it as a kill does: without notifying anyone. */
  kill(): Promise<void>;
}

let redis: RedisServer | undefined;
let clock: ManualClock;
let first: Replica;
let second: Replica;
let worker: ScriptedWorker;
let receiver: WebhookReceiver;
let user: TestUser;

beforeAll(async () => {
  if (has(NEEDS)) redis = await startRedisServer();
});
afterAll(async () => redis?.stop());

describe('two replicas of the control plane', () => {
  beforeEach(async () => {
    if (!redis) return;
    clock = new ManualClock();
    first = await startReplica(redis.url);
    second = await startReplica(redis.url, first.api);
    receiver = await openWebhookReceiver();
    worker = await startWorker(first.port, now);
    await vi.waitFor(
      () =>
        expect([first.dispatch.isConnected('w1'), second.dispatch.isConnected('w1')]).toEqual([true, true]),
      WAIT,
    );
    user = await first.api.createUser();
  });
  afterEach(async () => {
    if (!redis) return;
    await worker.close();
    await receiver.close();
    await second.kill();
    await first.kill();
    await second.api.close();
    await first.api.close();
  });

  itNeeds(NEEDS)(
    'share sessions: one created through one is carried by a worker of the other, and ended through it',
    async () => {
      const sessionId = await createThrough(second);
      await vi.waitFor(() => expect(worker.plans).toEqual([sessionId]), WAIT);
      const offer = await second.api.request('POST', `/v1/agent/sessions/${sessionId}/webrtc`, {
        body: { sdp: 'v=0', type: 'offer' },
        headers: { authorization: `Bearer ${tokens.get(sessionId)}` },
      });
      expect(offer.body).toEqual({ sdp: 'answer to v=0', type: 'answer' });
      worker.report({ type: 'joined', at: now() });
      await untilStatus(second, sessionId, 'active');
      const ended = await second.api.request('POST', `/v1/agent/sessions/${sessionId}/end`, {
        key: user.key,
      });
      expect(ended.status).toBe(204);
      await untilStatus(first, sessionId, 'completed');
      await expectSettledOnce(sessionId);
    },
  );

  itNeeds(NEEDS)(
    'share calls: a session whose worker’s replica is killed is unknown until the worker connects to the other one, then continues and is settled once',
    async () => {
      const sessionId = await createThrough(second);
      await vi.waitFor(() => expect(worker.plans).toEqual([sessionId]), WAIT);
      worker.report({ type: 'joined', at: now() });
      await untilStatus(second, sessionId, 'active');

      worker.route(null);
      await first.kill();
      // The watch runs every five seconds; after fifteen, an absent worker has not reached another replica.
      const watch = startLinkWatch(second.api.context, second);
      for (let look = 0; look < 6; look++) {
        await clock.advance(5_000);
        await watch.idle();
      }
      await untilStatus(second, sessionId, 'unknown');
      await watch.close();

      worker.route(second.port);
      await untilStatus(second, sessionId, 'active');
      worker.report({ type: 'ended', at: now(), end_reason: 'user_hangup' });
      await untilStatus(second, sessionId, 'completed');
      await expectSettledOnce(sessionId);
    },
  );

  itNeeds(NEEDS)(
    'share nothing while Redis is away: no session is doubted for a minute, nor when its worker moves to the other',
    async () => {
      const sessionId = await createThrough(first);
      await vi.waitFor(() => expect(worker.plans).toEqual([sessionId]), WAIT);
      worker.report({ type: 'joined', at: now() });
      await untilStatus(first, sessionId, 'active');
      const watches = [first, second].map((replica) => startLinkWatch(replica.api.context, replica));
      const statuses = new Set<string>();
      const look = async () => {
        await clock.advance(2_500);
        for (const replica of [first, second]) await replica.listed();
        for (const watch of watches) await watch.idle();
        const session = await first.api.context.models.sessions.findById(sessionId).lean();
        statuses.add(session?.status ?? '');
      };
      redis?.freeze();
      try {
        for (let times = 0; times < 24; times++) await look();
        worker.route(null);
        await vi.waitFor(() => expect(first.workers.heardIds()).toEqual([]), WAIT);
        await look();
        worker.route(second.port);
        await vi.waitFor(() => expect(second.workers.heardIds()).toEqual(['w1']), WAIT);
        for (let times = 0; times < 12; times++) await look();
      } finally {
        redis?.thaw();
        for (const watch of watches) await watch.close();
      }
      expect([...statuses]).toEqual(['active']);
    },
  );

  itNeeds(NEEDS)('count public rates together', async () => {
    const agentId = await publish({ public_enabled: true, allowed_origins: [ORIGIN] });
    const statuses: number[] = [];
    for (const replica of [first, second, first, second]) {
      const created = await replica.api.request('POST', '/v1/agent/sessions', {
        body: { agent_id: agentId },
        headers: { origin: ORIGIN },
      });
      statuses.push(created.status);
    }
    expect(statuses).toEqual([201, 201, 201, 429]);
  });

  itNeeds(NEEDS)('answer 503 and charge nothing if neither has a free worker', async () => {
    worker.isFull = true;
    const agentId = await publish();
    const refused = await second.api.request('POST', '/v1/agent/sessions', {
      key: user.key,
      body: { agent_id: agentId },
    });
    expect(refused.status).toBe(503);
    const balance = (await first.api.context.ledger.wallet(user.userId))?.newest.balanceMicros;
    expect(balance).toBe(10_000_000);
  });
});

const tokens = new Map<string, string>();

async function publish(profile?: Record<string, unknown>): Promise<string> {
  const config = { webhooks: { post_call: [{ url: `${receiver.url}/hook` }] } };
  const created = await first.api.request('POST', '/v1/agent/agents', {
    key: user.key,
    body: { name: 'Ada', config },
  });
  expect(created.text).toContain('agent_id');
  const id: string = created.body.agent_id;
  if (profile) await first.api.request('PATCH', `/v1/agent/agents/${id}`, { key: user.key, body: profile });
  await first.api.request('POST', `/v1/agent/agents/${id}/publish`, { key: user.key });
  return id;
}

async function createThrough(replica: Replica): Promise<string> {
  const created = await replica.api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: await publish() },
  });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  tokens.set(created.body.session_id, created.body.token);
  return created.body.session_id;
}

async function untilStatus(replica: Replica, sessionId: string, status: string): Promise<void> {
  await vi.waitFor(async () => {
    const read = await replica.api.request('GET', `/v1/agent/sessions/${sessionId}`, { key: user.key });
    expect(read.body.status).toBe(status);
  }, WAIT);
}

/** Both replicas sweep and deliver, yet each entry and each event exists once. */
async function expectSettledOnce(sessionId: string): Promise<void> {
  const { models } = first.api.context;
  await vi.waitFor(
    async () => expect((await models.sessions.findById(sessionId).lean())?.billing.state).toBe('settled'),
    WAIT,
  );
  const entries = await models.ledger
    .find({ user_id: user.userId, key: new RegExp(`^s:${sessionId}:`) })
    .lean();
  expect(entries.map((entry) => entry.kind).sort()).toEqual(['hold', 'settle']);
  for (const { api } of [first, second]) await sweep(api.context, { graceMs: 0, startedAtMs: 0 });
  await vi.waitFor(
    () => expect(receiver.received.map(({ body }) => body.event)).toContain('call.ended'),
    WAIT,
  );
  await vi.waitFor(
    async () =>
      expect(
        await models.deliveries.countDocuments({
          session_id: sessionId,
          state: { $in: ['queued', 'pending'] },
        }),
      ).toBe(0),
    WAIT,
  );
  expect(receiver.received.map(({ body }) => body.event)).toEqual(['call.ended']);
}

function now(): string {
  return new Date(clock.wallTime()).toISOString();
}

/** Starts a replica over another one's store, or over its own. */
async function startReplica(redisUrl: string, beside?: TestApi): Promise<Replica> {
  const coordination: Coordination = await connectSharedCoordination({ url: redisUrl, clock, logger });
  const workers = new ConnectedWorkers(logger);
  const others = new SharedReplicas({ coordination, clock, logger, own: workers });
  const speaking = new SpeakingAgents(clock);
  const dispatch = new WorkerDispatch({ workers, others, speaking });
  const shared = beside && {
    models: beside.context.models,
    secretBox: beside.context.secretBox,
    dataKeys: beside.context.dataKeys,
    credentials: beside.context.credentials,
    ledger: createLedger({ entries: beside.context.models.ledger, clock }),
  };
  const api = await openTestApi(
    { EGRESS_ALLOW: '127.0.0.1', PUBLIC_RATE_PER_IP: '3' },
    { clock, coordination, dispatch, ...shared },
  );
  const sink = createReportSink(api.context, createCallJobs(api.context));
  const hub = new WorkerHub({
    // The worker sends its heartbeats in real time.
    clock: systemClock,
    logger,
    workers,
    others,
    dispatch,
    speaking,
    sink,
    speechModels: () => [],
    hasRooms: false,
  });
  await others.join();
  const server: Server = createServer();
  const link = serveWorkerLink(server, hub, TOKEN);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const name = beside ? 'second' : 'first';
  const entry = await registerReplica(api.context, {
    id: name,
    isShared: true,
    workers: () => workers.heardIds(),
  });
  const chores: BackgroundLoop[] = [startDeliverer(api.context)];
  return {
    api,
    dispatch,
    sink,
    workers,
    port: (server.address() as AddressInfo).port,
    listed: async () => {
      const dueMs = clock.wallTime() - 2_000;
      await vi.waitFor(async () => {
        const { seen_at: seenAt } = (await api.context.models.replicas.findById(name).lean()) ?? {};
        expect(seenAt?.getTime()).toBeGreaterThanOrEqual(dueMs);
      }, WAIT);
    },
    kill: async () => {
      // The Redis connection closes first, so that no other replica is notified.
      await coordination.close();
      await link.close();
      server.close();
      await others.close();
      await entry.close();
      for (const chore of chores.splice(0)) await chore.close();
    },
  };
}
