/**
 * A control plane of the fleet: the product's own parts, composed as its process composes them, without the
 * HTTP server and without background work that has nothing to do with calls and their webhooks.
 */
import type { Logger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import { createReportSink } from '#control-plane/calls/settlement/settle-call.ts';
import { startSweeper } from '#control-plane/calls/settlement/sweep.ts';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import { SharedReplicas } from '#control-plane/calls/workers/other-replicas.ts';
import { SpeakingAgents } from '#control-plane/calls/workers/speaking-agents.ts';
import { startDeathWatch } from '#control-plane/calls/workers/watch-deaths.ts';
import { startLinkWatch } from '#control-plane/calls/workers/watch-links.ts';
import { WorkerDispatch } from '#control-plane/calls/workers/worker-dispatch.ts';
import { WorkerHub } from '#control-plane/calls/workers/worker-hub.ts';
import { createCallJobs } from '#control-plane/jobs/create-call-jobs.ts';
import { createFirstAttempts } from '#control-plane/platform/background/first-attempts.ts';
import { createWorkSignals } from '#control-plane/platform/background/work-signals.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { AccountTurns } from '#control-plane/platform/limits/account-turns.ts';
import { createMetrics } from '#control-plane/platform/metrics.ts';
import { createDataKeys } from '#control-plane/platform/secrets/secret-box.ts';
import type { Models } from '#control-plane/platform/store/models.ts';
import { registerReplica } from '#control-plane/platform/store/replica-register.ts';
import { ReportedSessions } from '#control-plane/platform/store/reported-sessions.ts';
import { SignallingReports } from '#control-plane/platform/store/signalling-reports.ts';
import type { Network } from './network.ts';
import type { SharedBus } from './shared-bus.ts';
import { connectModels } from './store-collection.ts';
import type { StoreServer } from './store-server.ts';
import type { VirtualProcess } from './virtual-process.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';

/** Opens what is sealed in the fleet's sessions. */
export const DATA_KEYS = createDataKeys(new Uint8Array(32).fill(7));
const SETTINGS = readSettings({
  DATA_DIR: '/nonexistent',
  REDIS_URL: 'redis://redis:6379',
  MONGODB_URL: 'mongodb://store:27017',
});
/** Signs calls. */
const DEPLOYMENT_KEY = new Uint8Array(32);
/** Shared by all, because nothing in the simulation reads them. */
const METRICS = createMetrics();

/** What a control plane works with. */
export interface ControlPlaneParts {
  readonly process: VirtualProcess;
  readonly network: Network;
  readonly bus: SharedBus;
  readonly store: StoreServer;
  readonly endpoint: WebhookEndpoint;
  readonly models: Models;
  readonly logger: Logger;
}

/** A running control plane. */
export interface ControlPlaneProcess {
  readonly process: VirtualProcess;
  readonly context: Context;
  readonly hub: WorkerHub;
  /** Refuses new calls, then stops as the process does on SIGTERM. */
  stop(): Promise<void>;
}

/** Starts it; rejects if it cannot register, as when the database is away. */
export async function startControlPlane(parts: ControlPlaneParts): Promise<ControlPlaneProcess> {
  const { process, network, bus, store, endpoint, logger } = parts;
  const models = connectModels(parts.models, store, process);
  const coordination = bus.connect(process);
  const workers = new ConnectedWorkers(logger);
  const others = new SharedReplicas({ coordination, clock: process, logger, own: workers });
  const speaking = new SpeakingAgents(process);
  const dispatch = new WorkerDispatch({ workers, others, speaking });
  const signallingReports = new SignallingReports(process);
  const context = {
    settings: SETTINGS,
    credentials: { deploymentKey: DEPLOYMENT_KEY },
    clock: process,
    logger,
    models,
    coordination,
    dataKeys: DATA_KEYS,
    ledger: createLedger({ entries: models.ledger, clock: process }),
    workSignals: createWorkSignals(),
    firstAttempts: createFirstAttempts(),
    reported: new ReportedSessions(),
    turns: new AccountTurns(process, Number.POSITIVE_INFINITY),
    dispatch,
    signallingReports,
    egress: endpoint.egressOf(process),
    rooms: null,
    metrics: METRICS,
    tracing: null,
  } as unknown as Context;
  const enrolled = await registerReplica(context, {
    id: process.name,
    isShared: true,
    workers: () => workers.heardIds(),
    takePings: () => workers.takePings(),
    signalling: () => signallingReports.current(),
  });
  const sink = createReportSink(context, createCallJobs(context));
  const reach = { workers, others, speaking, dispatch };
  const told = { speechModels: () => [], hasRooms: false };
  const listWorkers = enrolled.refresh;
  const hub = new WorkerHub({ ...reach, ...told, clock: process, logger, sink, listWorkers });
  const sweeper = startSweeper(context, { lastBeat: null, beat: () => undefined });
  await sweeper.idle();
  await others.join();
  const loops = [
    sweeper,
    startDeliverer(context),
    startLinkWatch(context, { ...reach, sink }),
    startDeathWatch(context, { ...reach, sink, hasOthers: true }),
  ];
  network.listen(process, (socket) => hub.accept(socket));
  return {
    process,
    context,
    hub,
    async stop() {
      workers.drain();
      network.stopListening(process);
      await hub.close();
      await others.close();
      await Promise.all(loops.map((loop) => loop.close()));
      await coordination.close();
      await enrolled.close();
    },
  };
}
