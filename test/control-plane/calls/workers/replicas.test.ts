import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { connectSharedCoordination } from '#control-plane/platform/store/shared.ts';
import type { ControlMessage } from '#protocol/worker-link.ts';
import { type ControlPlaneClient, connectControlPlane } from '#runtime/link/control-plane-client.ts';
import { openSpool, type Spool } from '#runtime/link/spool.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { type RedisServer, startRedisServer } from '../../../fakes/redis-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { has, itNeeds } from '../../../needs.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

vi.setConfig({ testTimeout: 180_000 });

const NEEDS = ['redis-server'];
const TOKEN = 'a-token-of-the-workers';
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
    worker = await startWorker(first.port);
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
    clock,
    logger,
    workers,
    others,
    dispatch,
    speaking,
    sink,
    speechModels: () => [],
  });
  await others.join();
  const server: Server = createServer();
  const link = serveWorkerLink(server, hub, TOKEN);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const chores: BackgroundLoop[] = [startDeliverer(api.context)];
  return {
    api,
    dispatch,
    sink,
    workers,
    port: (server.address() as AddressInfo).port,
    kill: async () => {
      // The Redis connection closes first, so that no other replica is notified.
      await coordination.close();
      await link.close();
      server.close();
      await others.close();
      for (const chore of chores.splice(0)) await chore.close();
    },
  };
}

/** A worker that accepts every job over the real link, through an address that leads to either replica. */
interface ScriptedWorker {
  readonly plans: string[];
  isFull: boolean;
  report(report: Parameters<ControlPlaneClient['report']>[1]): void;
  /** Routes its connections to this port from now on; null refuses them. */
  route(port: number | null): void;
  close(): Promise<void>;
}

async function startWorker(firstPort: number): Promise<ScriptedWorker> {
  let port: number | null = firstPort;
  const sockets = new Set<Socket>();
  const balancer = createTcpServer((socket) => {
    const target = port === null ? null : connectTcp(port, '127.0.0.1');
    for (const end of [socket, target]) {
      end
        ?.on('error', () => undefined)
        .on('close', () => {
          for (const each of [socket, target]) each?.destroy();
        });
    }
    sockets.add(socket);
    if (target) socket.pipe(target).pipe(socket);
    else socket.destroy();
  });
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  const directory = await mkdtemp(join(tmpdir(), 'parley-replicas-'));
  const spool: Spool = await openSpool(directory, 'w1');
  const running: { sessionId: string; epoch: number }[] = [];
  const plans: string[] = [];
  const scripted: ScriptedWorker = {
    plans,
    isFull: false,
    report: (report) => {
      const session = running.at(-1);
      if (session) client.report(session, report);
    },
    route: (to) => {
      port = to;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    close: async () => {
      client.close();
      scripted.route(null);
      balancer.close();
      await spool.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  const onMessage = (message: ControlMessage) => {
    if (message.type === 'offer') {
      const session = { session_id: message.session_id, epoch: message.epoch };
      client.send(
        scripted.isFull ? { type: 'decline', ...session, reason: 'full' } : { type: 'accept', ...session },
      );
    } else if (message.type === 'assign') {
      plans.push(message.session_id);
      running.push({ sessionId: message.session_id, epoch: message.epoch });
    } else if (message.type === 'webrtc.offer') {
      client.send({
        type: 'answer',
        request_id: message.request_id,
        result: { ok: true, value: { sdp: `answer to ${message.sdp}` } },
      });
    } else if (message.type === 'end') {
      scripted.report({ type: 'ended', at: now(), end_reason: message.end_reason });
    }
  };
  const client: ControlPlaneClient = connectControlPlane({
    url: `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`,
    token: TOKEN,
    clock: systemClock,
    logger,
    spool,
    adopted: new Map(),
    facts: () => ({
      instanceId: 'w1',
      supervisorRun: null,
      capacity: 9,
      codecs: ['PCMU'],
      sipTag: 'w1',
      kinds: ['phone', 'web'],
      sessions: running,
    }),
    load: () => ({ calls: running.length, freeSlots: 9, loopLagMs: 0 }),
    onMessage,
    onAlone: () => undefined,
  });
  return scripted;
}
