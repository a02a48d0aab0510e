/**
 * Composes one worker: media thread, engines, models, tools, spool, signalling, and the link to the control
 * plane.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { attentiveClock } from '#base/attentive-clock.ts';
import { systemClock, type Timer } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { collectStartGarbage } from '#base/garbage.ts';
import { createLogger, type Logger } from '#base/log.ts';
import { hostPort } from '#base/public-address.ts';
import { favourThisThread } from '#base/thread-priority.ts';
import { waitAtMost } from '#base/wait-at-most.ts';
import { type Settings, signallingServers } from '#config/env.ts';
import { openTracing } from '#config/tracing.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { openSpeechEngines, type SpeechEngines, type SpeechEnginesOptions } from '#media/speech/engines.ts';
import { announcedModels } from '#media/speech/models/announced-models.ts';
import { ModelDownloads } from '#media/speech/models/model-downloads.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { HEARTBEAT_MS, type JobKind } from '#protocol/worker-link.ts';
import { startLagMeter } from '#runtime/event-loop/loop-lag.ts';
import { createKnowledgeSearch } from '#runtime/knowledge/knowledge-search.ts';
import { SpeakingLease } from '#runtime/link/speaking-lease.ts';
import { adoptSpools, openSpool, type Spool } from '#runtime/link/spool.ts';
import { type SpoolWatchDeps, warnOfSpools, watchSpools } from '#runtime/link/watch-spools.ts';
import { PlanEngines } from '#runtime/worker/plan-engines.ts';
import { Worker, type WorkerDeps, type WorkerIdentity } from '#runtime/worker/worker.ts';
import { createWorkerMetrics, type WorkerMetrics } from '#runtime/worker/worker-metrics.ts';
import { type DrachtioOptions, openSignalling } from '#telephony/drachtio/drachtio-signalling.ts';
import { createSrvLookUp } from '#telephony/next-hops.ts';
import { createMediaRelay } from '#telephony/relay/media-relay.ts';
import { createNgClient } from '#telephony/relay/ng-client.ts';
import { relayedSignalling } from '#telephony/relay/relayed-signalling.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { activityDescriptor } from './activity-file.ts';
import { type ManagedProcess, runProcess } from './child-process.ts';
import { openHangAttribution } from './hang-attribution.ts';
import { describeHealth, openHealthPort } from './health-server.ts';
import { WarmUp } from './warm-up.ts';
import { healthOf } from './worker-health.ts';
import { openRecordings, type Recordings } from './worker-recordings.ts';

/** Calls per worker unless configured; the lag of its event loop closes it earlier. */
const DEFAULT_CAPACITY = 200;
/**
 * A worker reports that it is ready once it is connected to the control plane and to a SIP server, or after
 * this long anyway; it keeps trying.
 */
const CONNECT_MS = 5_000;
/**
 * Delay after which a ready worker loads what its first calls would wait for, which must not delay the start:
 * the other processes have started by then.
 */
const WARM_UP_AFTER_MS = 300;

/** Runs one worker as a process. */
export async function runWorkerProcess(settings: Settings): Promise<void> {
  const { CONTROL_PLANE_URL, WORKER_TOKEN } = settings;
  if (CONTROL_PLANE_URL === undefined || WORKER_TOKEN === undefined)
    throw new Error(
      'CONTROL_PLANE_URL, WORKER_TOKEN: must be set for a worker started alone (the token is in the ' +
        'credentials.json of the control plane’s DATA_DIR)',
    );
  favourThisThread();
  const logger = createLogger({ level: settings.LOG_LEVEL, format: settings.LOG_FORMAT, name: 'worker' });
  const within = openHangAttribution(activityDescriptor(process.env), logger);
  await runProcess(logger, () =>
    compose(settings, logger, { controlPlaneUrl: CONTROL_PLANE_URL, token: WORKER_TOKEN, within }),
  );
}

async function compose(
  settings: Settings,
  logger: Logger,
  link: Pick<WorkerDeps, 'controlPlaneUrl' | 'token' | 'within'>,
): Promise<ManagedProcess> {
  const clock = systemClock;
  const vendorClock = attentiveClock(clock);
  const instanceId = settings.WORKER_INSTANCE ?? `worker-${randomUUID().slice(0, 8)}`;
  const root = join(settings.DATA_DIR, 'spool');
  const health = await openHealthPort(settings, clock, logger);
  const metrics = createWorkerMetrics();
  const media = await startMedia(settings, logger, metrics);
  const warmUp = new WarmUp(media);
  const lease = leaseOf(settings, logger, media);
  const sip = openSip(settings, { tag: instanceId, watch: lease, logger });
  const signalling = sip?.signalling ?? null;
  const [speech, spool, tracing] = await Promise.all([
    openSpeech(settings, { clock: vendorClock, logger, vendors: metrics.vendors }),
    openSpool(root, instanceId, settings.SUPERVISOR_RUN !== undefined),
    openTracing(settings, { name: 'worker', instance: instanceId }, { clock, logger }),
  ]);
  const egress = createEgressGuard({ allow: settings.EGRESS_ALLOW, clock });
  const knowledge = createKnowledgeSearch({ clock, logger });
  const parts = { settings, speech, knowledge, egress, clock, vendorClock, logger, vendors: metrics.vendors };
  const downloads = new ModelDownloads({ settings, clock, logger, onReady: speech.prepare });
  const recordings = await openRecordings(link, { metrics, logger, instanceId, spools: root });
  const worker = new Worker({
    identity: identityOf(settings, instanceId, signalling !== null),
    ...link,
    clock,
    logger,
    random: Math.random,
    spool,
    lease,
    adopted: await adoptLeft(root, recordings, logger),
    uploads: recordings.uploads,
    media,
    engines: new PlanEngines(parts),
    interruptions: metrics.interruptions,
    egress,
    phone: signalling && { signalling, clock, logger, media, egress, ...phoneSettings(settings) },
    tracing,
    drainMs: settings.DRAIN_SECONDS * 1000,
    loopLagMs: startLagMeter(HEARTBEAT_MS),
    onSpeechModels: announcedModels({ downloads, prepare: speech.prepare, logger }),
    onRooms: () => warmUp.addRooms(),
  });
  const others = watchOthers(settings, { worker, recordings }, { clock, logger, root, instanceId });
  health?.serve(healthOf({ worker, ...recordings, meters: metrics.meters, clock }));
  const reached = { ...link, isConnected: await connected(worker, sip) };
  const relays = describeRelays(settings);
  const warming = clock.after(WARM_UP_AFTER_MS, () => warmUp.begin(worker.kinds));
  return {
    facts: { engines: speech.describe() },
    lines: describeWork(speech.describe(), worker.kinds, reached).concat(relays, describeHealth(health)),
    isAtRest: () => worker.isIdle,
    drain: () => worker.drain(),
    async close() {
      for (const timer of [warming, others]) timer?.cancel();
      await health?.close();
      signalling?.close();
      await recordings.close();
      await worker.close();
      lease?.close();
      for (const part of [downloads, tracing, speech, knowledge]) await part?.close();
    },
  };
}

function openSpeech(
  settings: Settings,
  parts: Pick<SpeechEnginesOptions, 'clock' | 'logger' | 'vendors'>,
): Promise<SpeechEngines> {
  return openSpeechEngines({ settings, searchPath: process.env['PATH'] ?? '', ...parts });
}

/** Null under a supervisor, which reports the death of its worker itself, with the cause. */
function watchOthers(
  settings: Settings,
  { worker, recordings }: { readonly worker: Worker; readonly recordings: Recordings },
  watched: Omit<SpoolWatchDeps, 'onLeft'>,
): Timer | null {
  if (settings.SUPERVISOR_RUN !== undefined) return null;
  return watchSpools({
    ...watched,
    onLeft: (spools) => {
      worker.adopt(spools);
      void recordings.takeLeft(spools.keys());
    },
  });
}

/** The spools of dead workers, whose recordings this worker takes, too. */
async function adoptLeft(
  root: string,
  recordings: Recordings,
  logger: Logger,
): Promise<ReadonlyMap<string, Spool>> {
  const adopted = await adoptSpools(root, { onUnusable: warnOfSpools(logger) });
  await recordings.takeLeft(adopted.keys());
  return adopted;
}

/** What a worker without signalling lacks. */
const PHONE_NEEDS = ' (also phone calls if DRACHTIO_HOST or DRACHTIO_SERVERS is set)';

function describeWork(
  engines: readonly string[],
  kinds: readonly JobKind[],
  { controlPlaneUrl, isConnected }: { readonly controlPlaneUrl: string; readonly isConnected: boolean },
): string[] {
  return [
    ...engines.map((line) => `Engines      ${line}`),
    `Takes        ${kinds.join(', ')}${kinds.includes('phone') ? '' : PHONE_NEEDS}`,
    `Works for    ${controlPlaneUrl}${isConnected ? '' : ' (not reached yet; still trying)'}`,
  ];
}

function describeRelays({ RTPENGINE }: Settings): string[] {
  const addresses = RTPENGINE.map(({ host, port }) => hostPort(host, port)).join(', ');
  return addresses === '' ? [] : [`Phone audio  through rtpengine at ${addresses}`];
}

function startMedia(
  settings: Settings,
  logger: Logger,
  { mediaLateness }: WorkerMetrics,
): Promise<LegFactory> {
  return startMediaThread({
    rtpPortMin: settings.RTP_PORT_MIN,
    rtpPortMax: settings.RTP_PORT_MAX,
    publicIp: settings.MEDIA_PUBLIC_IP,
    iceServers: settings.ICE_SERVERS,
    clock: systemClock,
    logger,
    onLateness: (ms) => mediaLateness.observe({}, ms / 1000),
  });
}

function phoneSettings({ SIP_HOST, SIP_PUBLIC_IP, SIP_SRTP, RTPENGINE }: Settings) {
  // With a media relay the peer gets the relay's address, and the relay that of this machine.
  const sipPublicIp = RTPENGINE.length > 0 ? undefined : SIP_PUBLIC_IP;
  return {
    sipHost: SIP_HOST,
    sipPublicIp,
    relayHost: RTPENGINE[0]?.host,
    offersSrtp: SIP_SRTP !== 'off',
    random: Math.random,
    lookUpSrv: createSrvLookUp(),
  };
}

function identityOf(settings: Settings, instanceId: string, hasSignalling: boolean): WorkerIdentity {
  return {
    instanceId,
    supervisorRun: settings.SUPERVISOR_RUN ?? null,
    kinds: kindsOf(settings, hasSignalling),
    sipTag: hasSignalling ? instanceId : null,
    capacity: settings.WORKER_MAX_CALLS ?? DEFAULT_CAPACITY,
  };
}

/** Agent tests are text for a model, as analyses are: a worker that takes one takes the other, and texts. */
function kindsOf(settings: Settings, hasSignalling: boolean): JobKind[] {
  const kinds = settings.WORKER_KINDS.filter((kind) => kind !== 'phone' || hasSignalling);
  return kinds.includes('analysis') ? [...kinds, 'agent_test'] : kinds;
}

/**
 * The lease of a worker that was started alone. The death of a supervisor's worker is known by that
 * supervisor, and is never concluded from silence.
 */
function leaseOf(settings: Settings, logger: Logger, media: LegFactory): SpeakingLease | undefined {
  if (settings.SUPERVISOR_RUN !== undefined) return undefined;
  return new SpeakingLease({
    clock: systemClock,
    logger,
    onChange: (untilMs) => media.speakUntil(untilMs),
  });
}

/** The signalling servers of a worker. */
interface Sip {
  readonly signalling: Signalling;
  readonly connected: Promise<void>;
}

/** Connects to every SIP server; declines phone calls until then. Null: the worker takes no phone calls. */
function openSip(settings: Settings, worker: Pick<DrachtioOptions, 'tag' | 'watch' | 'logger'>): Sip | null {
  if (!settings.WORKER_KINDS.includes('phone') || signallingServers(settings).length === 0) return null;
  const { logger } = worker;
  const { signalling, connected } = openSignalling({
    servers: signallingServers(settings),
    secret: settings.DRACHTIO_SECRET,
    clock: systemClock,
    ...worker,
  });
  if (settings.RTPENGINE.length === 0) return { signalling, connected };
  const relays = settings.RTPENGINE.map((address) =>
    createNgClient(address, { clock: systemClock, cookie: randomUUID }),
  );
  const interfaces = settings.RTPENGINE_INTERFACES ?? null;
  const relay = createMediaRelay({ relays, interfaces, clock: systemClock, logger, callId: randomUUID });
  // Calls are refused while none answers; one may come back later.
  void relay.check();
  return { signalling: relayedSignalling(signalling, relay), connected };
}

/** Waits for both connections, for a limited time; returns whether that to the control plane exists. */
async function connected(worker: Worker, sip: Sip | null): Promise<boolean> {
  // Before it gets calls, which would wait.
  collectStartGarbage();
  const [isConnected] = await Promise.all([
    worker.connected(CONNECT_MS),
    sip && waitAtMost(systemClock, CONNECT_MS, sip.connected),
  ]);
  return isConnected;
}
