/**
 * Composes the control plane of one process: store, coordination, money, sessions, the worker link,
 * deliveries, and the server over them.
 */
import { randomUUID } from 'node:crypto';
import { availableParallelism, hostname, totalmem } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { lockDataDir } from '#base/data-dir-lock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { collectStartGarbage } from '#base/garbage.ts';
import { createLogger, type Logger } from '#base/log.ts';
import { favourThisThread } from '#base/thread-priority.ts';
import { forgetDeploymentKey, loadCredentials } from '#config/credentials.ts';
import type { Settings } from '#config/env.ts';
import { currentPlatformModels } from '#config/platform-models.ts';
import { openTracing } from '#config/tracing.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import { countPosting } from '#control-plane/accounts/wallet/low-credit.ts';
import { openHeartbeatFile } from '#control-plane/calls/sessions/heartbeat-file.ts';
import { opensNewestSession } from '#control-plane/calls/sessions/opens-newest-session.ts';
import { createReportSink } from '#control-plane/calls/settlement/settle-call.ts';
import { startSweeper } from '#control-plane/calls/settlement/sweep.ts';
import { serveMediaStreams } from '#control-plane/calls/streams/serve-media-streams.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import { serveInternal } from '#control-plane/calls/workers/internal-listener.ts';
import { NO_OTHER_REPLICAS, SharedReplicas } from '#control-plane/calls/workers/other-replicas.ts';
import { shareWorkers } from '#control-plane/calls/workers/share-workers.ts';
import { SpeakingAgents } from '#control-plane/calls/workers/speaking-agents.ts';
import { startDeathWatch } from '#control-plane/calls/workers/watch-deaths.ts';
import { startLinkWatch } from '#control-plane/calls/workers/watch-links.ts';
import { WorkerDispatch } from '#control-plane/calls/workers/worker-dispatch.ts';
import { WorkerHub } from '#control-plane/calls/workers/worker-hub.ts';
import { serveWorkerLink } from '#control-plane/calls/workers/worker-link-server.ts';
import { addWorkerMetrics } from '#control-plane/calls/workers/worker-metrics.ts';
import { startControlPlane } from '#control-plane/control-plane.ts';
import { createCallJobs } from '#control-plane/jobs/create-call-jobs.ts';
import { relayTurnEvents } from '#control-plane/jobs/text-sessions/text-turn-news.ts';
import { createFirstAttempts } from '#control-plane/platform/background/first-attempts.ts';
import { createWorkSignals } from '#control-plane/platform/background/work-signals.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { HeldPieces, roomForPieces } from '#control-plane/platform/held-pieces.ts';
import { KeyWatch } from '#control-plane/platform/http/key-watch.ts';
import { AccountTurns } from '#control-plane/platform/limits/account-turns.ts';
import { Refusals } from '#control-plane/platform/limits/refusals.ts';
import { loadRooms } from '#control-plane/platform/load-rooms.ts';
import { createMetrics } from '#control-plane/platform/metrics.ts';
import { PublicAddress } from '#control-plane/platform/public-address.ts';
import { createDataKeys, createSecretBox } from '#control-plane/platform/secrets/secret-box.ts';
import { buildIndexes } from '#control-plane/platform/store/build-indexes.ts';
import { type Coordination, createMemoryCoordination } from '#control-plane/platform/store/coordination.ts';
import { countWrites } from '#control-plane/platform/store/count-writes.ts';
import { type Database, openDatabase } from '#control-plane/platform/store/database.ts';
import { openDeploymentKey } from '#control-plane/platform/store/deployment-key.ts';
import { migrate } from '#control-plane/platform/store/migrations.ts';
import { defineModels, type Models } from '#control-plane/platform/store/models.ts';
import { createReadCaches } from '#control-plane/platform/store/read-cache.ts';
import { registerReplica, UNREGISTERED } from '#control-plane/platform/store/replica-register.ts';
import { ReportedSessions } from '#control-plane/platform/store/reported-sessions.ts';
import { SignallingReports } from '#control-plane/platform/store/signalling-reports.ts';
import { openBlobs } from '#media/blobs/blobs.ts';
import { detectCapabilities } from '#media/speech/engines.ts';
import { ModelDownloads } from '#media/speech/models/model-downloads.ts';
import { createSpeechPool } from '#media/speech/pool/speech-pool.ts';
import { localAddresses } from '#runtime/llm/local/local-addresses.ts';
import { searchLocalModels } from '#runtime/llm/local/search-models.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { chooseCarrier } from '#telephony/carriers/choose-carrier.ts';
import { startBackgroundWork } from './background-work.ts';
import { type ManagedProcess, runProcess } from './child-process.ts';
import { describeLanguageModels } from './describe-language-models.ts';
import { explainListenError } from './ports.ts';

/** Runs the control plane as a process. */
export async function runControlPlaneProcess(settings: Settings): Promise<void> {
  favourThisThread();
  const logger = createLogger({
    level: settings.LOG_LEVEL,
    format: settings.LOG_FORMAT,
    name: 'control-plane',
  });
  // Under a supervisor, the supervisor holds the data directory.
  if (settings.SUPERVISOR_RUN === undefined) lockDataDir(settings.DATA_DIR);
  await runProcess(logger, (noteActivity) => compose(settings, logger, noteActivity));
}

async function compose(
  settings: Settings,
  logger: Logger,
  noteActivity: Context['noteActivity'],
): Promise<ManagedProcess> {
  const [clock, metrics] = [systemClock, createMetrics()];
  const stored = await openStored(settings, { clock, logger, metrics });
  const { database, credentials } = stored;
  const coordination = await openCoordination(settings, { clock, logger, metrics });
  const hasOthers = settings.REDIS_URL !== undefined;
  const reach = createDispatch({ coordination, clock, logger }, hasOthers);
  const { workers, others, dispatch } = reach;
  const publicAddress = new PublicAddress(settings);
  const context = await buildContext(settings, {
    ...stored,
    clock,
    logger,
    coordination,
    dispatch,
    publicAddress,
    noteActivity,
    metrics,
  });
  const enrolled = await enroll(context, workers, hasOthers);
  const sink = createReportSink(context, createCallJobs(context));
  const told = { ...toldOf(context), clock, logger, sink };
  const hub = new WorkerHub({ ...reach, ...told, listWorkers: enrolled.refresh });
  // Cleans up after an earlier process before anything new is created or a worker returns.
  const sweeper = startSweeper(context, openHeartbeatFile(settings.DATA_DIR));
  await sweeper.idle();
  await others.join();
  // Before it listens: work would wait.
  collectStartGarbage();
  const server = await startControlPlane(context).catch((error: unknown) => {
    throw explainListenError(error, { setting: 'HOST, PORT', host: settings.HOST, port: settings.PORT });
  });
  const backgroundWork = [
    sweeper,
    ...startBackgroundWork(context, database.kind),
    ...(hasOthers ? [startLinkWatch(context, { ...reach, sink })] : []),
    startDeathWatch(context, { ...reach, sink, hasOthers }),
  ];
  const sharing = shareWorkers({ ...reach, clock, logger });
  addWorkerMetrics(context.metrics.meters, workers);
  const started = { port: server.port, languageModels: languageModelsOf(context) };
  const { INTERNAL_PORT } = settings;
  const internal = INTERNAL_PORT === undefined ? null : await serveInternal(INTERNAL_PORT, server.handle);
  const servers = [server.server, ...(internal ? [internal] : [])];
  const links = servers.map((http) => serveWorkerLink(http, hub, credentials.workerToken));
  const streams = serveMediaStreams(context, { vendors: server.server, workers: servers });
  return {
    facts: { outlivesDrain: true, demoNumber: server.seeded.demoNumber, ...started },
    lines: startLines({ ...started, url: publicAddress.url, file: credentials.file, hasOthers }),
    // It may hang for longer than others, so that signs every second are enough.
    isAtRest: () => true,
    workerDied: ({ instanceId, ...death }) => {
      hub.workerDied(instanceId, death).catch((error: unknown) => {
        logger.error({ err: error, instanceId }, 'failed to settle the sessions of a dead worker');
      });
    },
    drain: () => drain(workers, settings),
    async close() {
      sharing.cancel();
      await Promise.all([streams, ...links].map((link) => link.close()));
      internal?.close();
      await others.close();
      await server.close();
      await Promise.all(backgroundWork.map((loop) => loop.close()));
      await closeContext(context);
      await enrolled.close();
      await database.close();
    },
  };
}

/**
 * The data directory is locked: without Redis, a process that starts with it is the same replica. Machines
 * that share a Redis may have the same name and directory.
 */
async function enroll(context: Context, workers: ConnectedWorkers, isShared: boolean) {
  if (context.settings.MONGODB_URL === undefined && !isShared) return UNREGISTERED;
  const place = `${hostname()}:${context.settings.DATA_DIR}`;
  const id = isShared ? `${place}:${randomUUID()}` : place;
  return registerReplica(context, {
    id,
    isShared,
    workers: () => workers.heardIds(),
    takePings: () => workers.takePings(),
    signalling: () => context.signallingReports.current(),
  });
}

/** Messages to the workers, and the readers of their live events. */
function toldOf(context: Context) {
  return {
    speechModels: () => context.speechModels.ready(),
    hasRooms: context.rooms !== null,
    onLive: relayTurnEvents(context),
  };
}

/** Stops the placement of calls. */
async function drain(
  workers: ConnectedWorkers,
  { SUPERVISOR_RUN, STOP_DELAY_SECONDS }: Settings,
): Promise<void> {
  workers.announceStop();
  // Under a supervisor the workers stop now; alone, requests come until a load balancer has noticed.
  if (SUPERVISOR_RUN === undefined) await systemClock.sleep(STOP_DELAY_SECONDS * 1000);
  workers.drain();
}

async function closeContext(context: Context): Promise<void> {
  const { coordination, egress, localModels, speech, speechModels } = context;
  await Promise.all([coordination, egress, localModels, speech, speechModels].map((part) => part.close()));
  await context.tracing?.close();
}

/** Dependencies of the stores. */
type StoreParts = Pick<Context, 'clock' | 'logger' | 'metrics'>;

/** Opens the database, and the deployment key, which with a master key is in the database only. */
async function openStored(settings: Settings, parts: StoreParts) {
  const found = loadCredentials(settings);
  const database = await openProcessDatabase(settings, parts);
  const models = await openModels(database, parts);
  const { MASTER_KEY: masterKey, MASTER_KEY_OLD: oldKeys } = settings;
  const deploymentKey = await openDeploymentKey(database.connection, {
    masterKey,
    oldKeys,
    fileKey: found.deploymentKey,
    derivedKey: found.derivedKey,
    opensData: (key) => opensNewestSession(models, key),
    isNew: async () => (await models.users.estimatedDocumentCount()) === 0,
  });
  if (masterKey !== undefined) forgetDeploymentKey(settings, deploymentKey);
  return { database, models, credentials: { ...found, deploymentKey } };
}

/** Opens the database; ends this process if the embedded database fails later. */
function openProcessDatabase(settings: Settings, { clock, logger }: StoreParts): Promise<Database> {
  return openDatabase({
    mongodbUrl: settings.MONGODB_URL,
    dataDir: settings.DATA_DIR,
    clock,
    logger,
    onFatal: (error) => {
      logger.fatal({ err: error }, 'the database has failed; the control plane stops');
      process.exit(1);
    },
  });
}

/** The access to the workers of this replica and, with `hasOthers`, to those of the others. */
function createDispatch(deps: Pick<Context, 'coordination' | 'clock' | 'logger'>, hasOthers: boolean) {
  const workers = new ConnectedWorkers(deps.logger);
  const others = hasOthers ? new SharedReplicas({ ...deps, own: workers }) : NO_OTHER_REPLICAS;
  const speaking = new SpeakingAgents(deps.clock);
  return { workers, others, speaking, dispatch: new WorkerDispatch({ workers, others, speaking }) };
}

function languageModelsOf({ platform, localModels, settings }: Context): string[] {
  const unanswered = settings.LOCAL_LLM_URL === undefined ? undefined : localModels.unanswered()[0];
  return describeLanguageModels(platform.llm, localModels.offered(), unanswered);
}

/** The lines printed once the control plane is ready. */
function startLines({
  port,
  url,
  file,
  languageModels,
  hasOthers,
}: {
  readonly port: number;
  readonly url: string;
  /** The file of the generated credentials. */
  readonly file: string;
  readonly languageModels: readonly string[];
  readonly hasOthers: boolean;
}): string[] {
  return [
    `Console      ${url}/console`,
    `API docs     ${url}/docs`,
    `Credentials  in ${file} (root_api_key; worker_token for the workers)`,
    ...languageModels.map((line) => `Engines      ${line}`),
    ...(hasOthers
      ? []
      : ['Replicas     this one only: more than one control plane needs REDIS_URL (and MONGODB_URL)']),
    `ready ${JSON.stringify({ port })}`,
  ];
}

/** MongoDB builds the other indexes beside the traffic; the embedded database does one thing at a time. */
async function openModels({ connection, kind }: Database, { clock, metrics }: StoreParts): Promise<Models> {
  const models = defineModels(connection, {
    clock,
    onCommand: (command, outcome, ms) => metrics.storeCommands.observe({ command, outcome }, ms / 1000),
  });
  await migrate(connection, new Date(clock.wallTime()));
  await buildIndexes(models, kind === 'embedded' ? 'all' : 'unique');
  return models;
}

async function openCoordination(
  { REDIS_URL }: Settings,
  { clock, logger, metrics }: StoreParts,
): Promise<Coordination> {
  if (REDIS_URL === undefined) return createMemoryCoordination(clock);
  const { connectSharedCoordination } = await import('#control-plane/platform/store/shared.ts');
  return connectSharedCoordination({
    url: REDIS_URL,
    clock,
    logger,
    onCommand: (outcome, ms) => metrics.redisCommands.observe({ outcome }, ms / 1000),
  });
}

async function buildContext(
  settings: Settings,
  parts: Pick<
    Context,
    | 'clock'
    | 'logger'
    | 'credentials'
    | 'models'
    | 'coordination'
    | 'dispatch'
    | 'publicAddress'
    | 'noteActivity'
    | 'metrics'
  > & {
    readonly database: Database;
  },
): Promise<Context> {
  const { clock, logger, credentials, database, models, metrics } = parts;
  const localModels = await searchLocalModels({
    addresses: localAddresses(settings),
    file: join(settings.DATA_DIR, 'local-models.json'),
    clock,
    logger,
  });
  if (settings.LLM_DEFAULT !== undefined) localModels.want(settings.LLM_DEFAULT);
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = process.env;
  const turns = new AccountTurns(clock, settings.LIMIT_REQUESTS);
  return {
    ...parts,
    settings,
    caches: createReadCaches(models, database.kind === 'embedded'),
    keyWatch: new KeyWatch(parts),
    storeWrites: database.kind === 'embedded' ? countWrites(models) : undefined,
    secretBox: createSecretBox(credentials.deploymentKey),
    dataKeys: createDataKeys(credentials.deploymentKey),
    blobs: openBlobs(
      settings.BLOBS_URL,
      accessKeyId !== undefined && secretAccessKey !== undefined
        ? { accessKeyId, secretAccessKey }
        : undefined,
    ),
    // `constrainedMemory` is 0 outside a container, or more than the machine has.
    held: new HeldPieces(roomForPieces(Math.min(totalmem(), process.constrainedMemory() || Infinity))),
    turns,
    refusals: new Refusals(clock, settings.LIMIT_REFUSALS_PER_SECOND),
    ledger: createLedger({ entries: models.ledger, clock, posted: (entry) => countPosting(metrics, entry) }),
    signallingReports: new SignallingReports(clock),
    workSignals: createWorkSignals(),
    firstAttempts: createFirstAttempts(),
    reported: new ReportedSessions(),
    egress: createEgressGuard({ allow: settings.EGRESS_ALLOW, clock }),
    platform: currentPlatformModels(
      settings,
      detectCapabilities({ settings, searchPath: process.env['PATH'] ?? '', clock }),
      () => localModels.offered(),
    ),
    localModels,
    rooms: await loadRooms(settings, logger),
    speech: createSpeechPool({
      settings,
      searchPath: process.env['PATH'] ?? '',
      cores: availableParallelism(),
      clock,
      hasOthers: (account) => turns.hasOthers(account),
    }),
    speechModels: new ModelDownloads({
      settings,
      clock,
      logger,
      onReady: (id) => parts.dispatch.announceSpeechModels([id]),
    }),
    carrier: await chooseCarrier(settings, logger),
    troubleLine: (language) => phrasesFor(language).trouble,
    tracing: await openTracing(
      settings,
      { name: 'control-plane', instance: randomUUID() },
      { clock, logger },
    ),
  };
}
