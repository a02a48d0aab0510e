/**
 * The control plane's end of the worker link: accepts the workers' sockets and passes registrations, reports,
 * lost links and deaths to the `ReportSink`, in order for each session. It stores nothing durable: sessions
 * name their worker, and workers list their sessions whenever they connect.
 */
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '#base/clock.ts';
import { clockProblem } from '#base/clock-difference.ts';
import type { Logger } from '#base/log.ts';
import { WORKER_LINK_VERSION, type WorkerMessage } from '#protocol/worker-link.ts';
import type { Dispatch, SessionKey } from '../../platform/dispatch.ts';
import type { ReportSink } from '../../platform/report-sink.ts';
import type { ConnectedWorkers } from './connected-workers.ts';
import type { OtherReplicas } from './other-replicas.ts';
import { ReportQueue } from './report-queue.ts';
import type { SpeakingAgents } from './speaking-agents.ts';
import { storeReports } from './store-reports.ts';
import { openWorkerConnection, type WorkerConnection } from './worker-connection.ts';

/** A link without a message for this long counts as lost; heartbeats arrive every second. */
const SILENCE_MS = 5_000;
/** Time for a dead worker's successor to send the spool left behind. */
const SPOOL_GRACE_MS = 1_500;
/** Time for a worker to answer before its call is handed over. */
const REACHED_MS = 1_000;
/** Interval between looks whether another replica still has a worker's link, ms. */
const HELD_LOOK_MS = 100;
/** Interval between attempts to settle the sessions of a returned or dead worker, ms. */
const SETTLE_RETRY_MS = 1_000;
/** How often workers get the list of speech models: some are installed by hand, and downloads fail. */
const SPEECH_MODELS_MS = 120_000;

/** Dependencies of the hub. */
export interface WorkerHubDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly workers: ConnectedWorkers;
  readonly others: OtherReplicas;
  readonly dispatch: Pick<Dispatch, 'expectsWorker' | 'releaseStream'>;
  readonly speaking: SpeakingAgents;
  readonly sink: ReportSink;
  /** Stores for the other replicas which workers are connected; absent if there can be none. */
  readonly listWorkers?: () => Promise<void>;
  /** Ids of the speech models that this control plane has. */
  readonly speechModels: () => readonly string[];
  /** Web calls are in LiveKit rooms: only then workers load its library. */
  readonly hasRooms: boolean;
  /** Called with each live event of a session or a turn; absent: they are dropped. */
  readonly onLive?: (id: string, event: Readonly<Record<string, unknown>>) => void;
}

/** How a worker's process ended. */
interface WorkerDeath {
  /** False when no successor is started. */
  readonly isReplaced: boolean;
  /** The session that had blocked its event loop when it was killed. */
  readonly hungIn?: string | null;
}

/** Receives what workers report. */
export class WorkerHub {
  readonly #deps: WorkerHubDeps;
  readonly #reports: ReportQueue;
  /** Pending link notifications of each worker, in order. */
  readonly #linkNews = new Map<string, Promise<void>>();
  /** Workers whose death was reported and that have not registered since. */
  readonly #dead = new Set<string>();
  readonly #spoolWaiters = new Map<string, () => void>();
  /** Worker deaths whose sessions are not settled yet. */
  readonly #deaths = new Set<Promise<void>>();
  /** Sessions that are being handed over: a second attempt could undo the first. */
  readonly #handOvers = new Map<string, Promise<void>>();
  readonly #announcing: Timer;
  #isClosed = false;

  constructor(deps: WorkerHubDeps) {
    this.#deps = deps;
    const { clock, logger, sink, speaking } = deps;
    const storing = { logger, sink, onEnded: (sessionId: string) => speaking.forget(sessionId) };
    this.#reports = new ReportQueue(clock, (reports) => storeReports(storing, reports));
    this.#announcing = clock.every(SPEECH_MODELS_MS, () => {
      for (const { instanceId } of deps.workers.describe()) this.#announceSpeechModels(instanceId);
    });
  }

  /** Accepts an authenticated socket. */
  accept(socket: WebSocket): void {
    openWorkerConnection(socket, {
      clock: this.#deps.clock,
      logger: this.#deps.logger,
      silenceMs: SILENCE_MS,
      isListed: this.#deps.others.mayExist,
      onRegister: (worker) => this.#register(worker),
      onMessage: (worker, message) => this.#receive(worker, message),
      onClose: (worker) => this.#handleLoss(worker),
    });
  }

  /**
   * Called by the supervisor when this worker's process has ended. Its sessions are settled once its
   * successor has read its spool or has had time to; immediately if no worker is left to read it.
   */
  async workerDied(instanceId: string, death: WorkerDeath): Promise<void> {
    // Once the hub is closed, the store is too; the next start settles these sessions.
    if (this.#isClosed || this.#dead.has(instanceId)) return;
    const settled = this.#settleWhenRead(instanceId, death);
    this.#deaths.add(settled);
    await settled.finally(() => this.#deaths.delete(settled));
  }

  /** Resolves when no write is in progress, so that the store may be closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#announcing.cancel();
    await Promise.all(this.#handOvers.values());
    this.#deps.workers.closeAll();
    for (const waiter of this.#spoolWaiters.values()) waiter();
    await Promise.allSettled([this.#reports.close(), ...this.#linkNews.values(), ...this.#deaths]);
  }

  #register(worker: WorkerConnection): void {
    const { logger, workers, others, hasRooms } = this.#deps;
    const { instance_id: instanceId, capacity, kinds, sessions, link_version } = worker.registration;
    const running = sessions.map((session) => ({ sessionId: session.session_id, epoch: session.epoch }));
    workers.add(worker, running);
    // It lives, and may die once more.
    this.#dead.delete(instanceId);
    others.changed();
    const version = Math.min(link_version, WORKER_LINK_VERSION);
    const rooms = hasRooms ? ({ has_rooms: true } as const) : {};
    worker.send({ type: 'registered', link_version: version, checks_sessions: true, ...rooms });
    this.#announceSpeechModels(instanceId);
    logger.info({ instanceId, capacity, kinds }, 'worker registered');
    this.#compareClocks(worker);
    this.#runInOrder(instanceId, () => this.#settleReturn(worker, running));
  }

  /** Repeated until it succeeds: sessions that the worker no longer runs must not stay live. */
  async #settleReturn(worker: WorkerConnection, running: SessionKey[]): Promise<void> {
    const { clock, logger, workers, sink, listWorkers } = this.#deps;
    const { instance_id: instanceId, awaits_check: awaitsCheck } = worker.registration;
    while (workers.isCurrent(worker) && !this.#isClosed) {
      try {
        // Before the check: another replica that takes it for dead looks again before it takes its calls.
        if (awaitsCheck) await listWorkers?.();
        await sink.workerBack(instanceId, running, {
          isCurrent: () => workers.isCurrent(worker),
          onChecked: () => {
            if (awaitsCheck) worker.send({ type: 'sessions_checked' });
          },
        });
        workers.markSettled(worker);
        return;
      } catch (error) {
        logger.error({ err: error, instanceId }, 'failed to settle the sessions of a returned worker');
        await clock.sleep(SETTLE_RETRY_MS);
      }
    }
  }

  #compareClocks({ registration }: WorkerConnection): void {
    const { clock, logger } = this.#deps;
    const { instance_id: instanceId, wall_time: wallTime } = registration;
    const problem = wallTime === undefined ? null : clockProblem('a worker', wallTime, clock.wallTime());
    if (problem !== null) logger.warn({ instanceId }, problem);
  }

  #announceSpeechModels(instanceId: string): void {
    const models = this.#deps.speechModels();
    if (models.length > 0)
      this.#deps.workers.tellHere(instanceId, { type: 'speech_models', models: [...models] });
  }

  #handleLoss(worker: WorkerConnection): void {
    const { logger, workers, others, sink } = this.#deps;
    const instanceId = worker.registration.instance_id;
    if (!workers.remove(worker)) return;
    others.changed();
    logger[workers.isDraining ? 'info' : 'warn']({ instanceId }, 'worker link lost');
    // The worker may be connected to another replica: `watch-links.ts` finds out.
    if (this.#isClosed || this.#dead.has(instanceId) || others.mayExist) return;
    this.#runInOrder(instanceId, async () => {
      // A report stored after this notification would mark the session active again.
      await this.#reports.whenStored();
      await sink.workerLost(instanceId);
    });
  }

  async #settleWhenRead(instanceId: string, { isReplaced, hungIn }: WorkerDeath): Promise<void> {
    const { clock, workers, dispatch } = this.#deps;
    const diedAt = new Date(clock.wallTime());
    this.#dead.add(instanceId);
    workers.closeDead(instanceId, isReplaced);
    if (!dispatch.expectsWorker()) for (const waiter of this.#spoolWaiters.values()) waiter();
    else
      await Promise.race([
        new Promise<void>((resolve) => this.#spoolWaiters.set(instanceId, resolve)),
        clock.sleep(SPOOL_GRACE_MS),
      ]);
    this.#spoolWaiters.delete(instanceId);
    await this.#settleDead(instanceId, diedAt, hungIn);
  }

  /**
   * Stores a dead worker's reports before its sessions are handed to another worker. Repeated until it
   * succeeds: the death is not reported a second time.
   */
  async #settleDead(instanceId: string, diedAt: Date | null = null, hungIn?: string | null): Promise<void> {
    const { clock, logger, sink } = this.#deps;
    await this.#reports.whenStored();
    do {
      try {
        await sink.workerDead(instanceId, diedAt, hungIn);
        return;
      } catch (error) {
        logger.error({ err: error, instanceId }, 'failed to settle the sessions of a dead worker');
        await clock.sleep(SETTLE_RETRY_MS);
      }
    } while (!this.#isClosed);
  }

  /**
   * Runs the notifications of one worker in order. Otherwise the loss of a link that was re-established
   * within milliseconds could be processed last and leave its sessions `unknown`.
   */
  #runInOrder(instanceId: string, notify: () => Promise<void>): void {
    inTurn(this.#linkNews, instanceId, () =>
      notify().catch((error: unknown) =>
        this.#deps.logger.error({ err: error }, 'failed to process an event of a worker'),
      ),
    );
  }

  #receive(worker: WorkerConnection, message: WorkerMessage): void {
    switch (message.type) {
      case 'report':
        this.#reports.add({ worker, envelope: message.envelope });
        return;
      case 'hand_over':
        this.#beginHandOver(worker, message);
        return;
      case 'take_stream':
        void this.#passStream(worker, message);
        return;
      case 'spool.flushed':
        this.#spoolFlushed(message.instance_id, message.alive_at);
        return;
      case 'live':
        this.#deps.speaking.follow(message.session_id, message.event);
        this.#deps.onLive?.(message.session_id, message.event);
        return;
      case 'register':
      case 'heartbeat':
      case 'accept':
      case 'decline':
      case 'answer':
        return;
      default:
        message satisfies never;
    }
  }

  /** The worker asks again until `stale` tells it that another one has the call. */
  #beginHandOver(worker: WorkerConnection, message: Extract<WorkerMessage, { type: 'hand_over' }>): void {
    const { session_id: sessionId } = message;
    if (this.#isClosed || this.#deps.workers.isDraining || this.#handOvers.has(sessionId)) return;
    const ended = this.#handOver(worker, message).finally(() => this.#handOvers.delete(sessionId));
    this.#handOvers.set(sessionId, ended);
  }

  async #handOver(
    worker: WorkerConnection,
    message: Extract<WorkerMessage, { type: 'hand_over' }>,
  ): Promise<void> {
    const { sink, logger } = this.#deps;
    const { session_id: sessionId, epoch, variables } = message;
    const isBetweenTurns = message.is_mid_turn !== true;
    const confirmsLeaving = message.confirms_leaving === true;
    const givesStream = message.gives_stream === true;
    const canWait = message.can_wait === true;
    const call = { sessionId, epoch, variables, isBetweenTurns, confirmsLeaving, givesStream, canWait };
    // One that is heard but hears nothing would not learn that it must leave, and two agents would speak.
    if (confirmsLeaving && !(await worker.answersWithin(REACHED_MS))) return;
    try {
      await sink.handOver(worker.registration.instance_id, call);
    } catch (error) {
      logger.warn({ err: error, sessionId }, 'failed to hand a call over');
    }
  }

  /** Never rejects. The next worker is waiting with its first packet. */
  async #passStream(
    worker: WorkerConnection,
    { session_id, epoch, former }: Extract<WorkerMessage, { type: 'take_stream' }>,
  ): Promise<void> {
    const call = { sessionId: session_id, epoch: former.epoch };
    const stream = await this.#deps.dispatch.releaseStream(former.instance_id, call);
    worker.send({ type: 'stream', session_id, epoch, stream });
  }

  #spoolFlushed(instanceId: string, aliveAt: string | undefined): void {
    const waiter = this.#spoolWaiters.get(instanceId);
    if (waiter) waiter();
    else if (!this.#isClosed && !this.#dead.has(instanceId)) {
      const settled = this.#settleLeft(instanceId, aliveAt).finally(() => this.#deaths.delete(settled));
      this.#deaths.add(settled);
    }
  }

  /**
   * Settles the sessions of a worker whose end nobody observed: that another worker reads its spool proves
   * it, even if its link has not been closed yet. The calls ended when it was last alive, which may be long
   * ago: its machine was off.
   */
  async #settleLeft(instanceId: string, aliveAt: string | undefined): Promise<void> {
    const { clock, logger, workers } = this.#deps;
    const link = workers.get(instanceId);
    // Its supervisor reports the death, with the cause.
    if (typeof link?.registration.supervisor_run === 'string') return;
    const isHeard = await this.#isHeard(instanceId, link);
    // The next start settles them.
    if (this.#isClosed) return;
    if (isHeard) {
      logger.error({ instanceId }, 'another worker has the spool of a worker that is alive');
      return;
    }
    if (this.#dead.has(instanceId)) return;
    this.#dead.add(instanceId);
    logger.warn({ instanceId }, 'a worker is dead: another one has its spool, and takes over its calls');
    workers.closeDead(instanceId, workers.awaitsSuccessor);
    const nowMs = clock.wallTime();
    const diedAt = aliveAt === undefined ? null : new Date(Math.min(Date.parse(aliveAt), nowMs));
    this.#runInOrder(instanceId, () => this.#settleDead(instanceId, diedAt));
  }

  /**
   * Whether the worker is alive: it answers over its link to this replica, has opened a new one, or has one
   * to another replica that stays open although a dead worker's would have been closed by then.
   */
  async #isHeard(instanceId: string, link: WorkerConnection | undefined): Promise<boolean> {
    const { clock, workers, others } = this.#deps;
    if (await link?.answersWithin(REACHED_MS)) return true;
    const untilMs = clock.now() + 2 * SILENCE_MS;
    while (others.holds(instanceId) && !this.#isClosed) {
      if (clock.now() >= untilMs) return true;
      await clock.sleep(HELD_LOOK_MS);
    }
    const newest = workers.get(instanceId);
    return newest !== undefined && newest !== link;
  }
}

/** Runs `work` after earlier work queued under the same name; `work` never rejects. */
function inTurn(queues: Map<string, Promise<void>>, name: string, work: () => Promise<void>): void {
  const next = (queues.get(name) ?? Promise.resolve()).then(work);
  queues.set(name, next);
  void next.then(() => {
    if (queues.get(name) === next) queues.delete(name);
  });
}
