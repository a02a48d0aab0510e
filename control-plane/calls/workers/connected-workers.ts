/** The workers connected to this replica and their load. Offers a job to one worker after another. */
import type { Logger } from '#base/log.ts';
import type { ControlMessage, ControlRequest, JobKind, WorkerAnswer } from '#protocol/worker-link.ts';
import { ANSWER_MS, type JobOffer, type Placement, type SessionKey } from '../../platform/dispatch.ts';
import type { OwnWorkers } from './other-replicas.ts';
import { toWire } from './session-wire.ts';
import { takesOffer } from './slots.ts';
import type { OfferVerdict, WorkerConnection } from './worker-connection.ts';

/** Time for a worker to accept an offer. */
const ACCEPT_MS = 500;
/**
 * Longer timeout for the last candidate: making a caller wait a few seconds is better than refusing the call.
 * Signalling waits 12 s in total.
 */
const LAST_ACCEPT_MS = 6_000;

/** A worker sends a heartbeat every second; one that is late is not listed for other replicas. */
const HEARD_MS = 2_500;

/** A worker and its load, for metrics and the operator. */
export interface WorkerLoad {
  readonly instanceId: string;
  readonly kinds: JobKind[];
  /** It takes turns of text sessions. */
  readonly takesText?: boolean | undefined;
  readonly judgesPauses?: boolean | undefined;
  /** Whether it answers `rehearse`. */
  readonly rehearses?: boolean | undefined;
  /** Whether it answers `judge_turn`. */
  readonly judgesTurns?: boolean | undefined;
  /** Whether it answers `measure_regret`. */
  readonly measuresRegret?: boolean | undefined;
  /** Whether it answers `ask_of_test_call`. */
  readonly asksOfTestCalls?: boolean | undefined;
  /** Whether it answers `send_sip`, and is connected to a SIP server. */
  readonly sendsSip?: boolean | undefined;
  /** Whether it takes phone calls over media streams. */
  readonly joinsMediaStreams?: boolean | undefined;
  readonly capacity: number;
  readonly calls: number;
  readonly freeSlots: number;
  readonly loopLagMs: number;
  /** It has loaded what web calls need. */
  readonly isWebReady: boolean;
}

/** The connected workers by instance. */
export class ConnectedWorkers implements OwnWorkers {
  readonly #logger: Logger;
  readonly #workers = new Map<string, WorkerConnection>();
  /** Sessions of workers whose return is still being settled. */
  readonly #returning = new Map<WorkerConnection, SessionKey[]>();
  /** True while a dead worker is expected to be restarted. */
  #awaitsSuccessor = true;
  #isStopping = false;
  #isDraining = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Adds a registered worker, replacing an older connection of the same instance. `running` lists its
   * sessions; jobs the worker accepts before `markSettled` are added to it.
   */
  add(worker: WorkerConnection, running: SessionKey[]): void {
    const { instance_id: instanceId } = worker.registration;
    this.#workers.get(instanceId)?.close();
    this.#workers.set(instanceId, worker);
    this.#returning.set(worker, running);
    this.#awaitsSuccessor = true;
  }

  /**
   * Called once the worker's sessions are settled: jobs it accepts from then on are no longer added to
   * `running`.
   */
  markSettled(worker: WorkerConnection): void {
    this.#returning.delete(worker);
  }

  /** False once the connection is closed or its instance has another one. */
  isCurrent(worker: WorkerConnection): boolean {
    return this.#workers.get(worker.registration.instance_id) === worker;
  }

  /** Removes a closed connection; false when its instance has another one. */
  remove(worker: WorkerConnection): boolean {
    this.#returning.delete(worker);
    return this.isCurrent(worker) && this.#workers.delete(worker.registration.instance_id);
  }

  /**
   * Closes the connection of a worker whose process ended; `isReplaced` is true if a successor is being
   * started.
   */
  closeDead(instanceId: string, isReplaced: boolean): void {
    this.#workers.get(instanceId)?.close();
    this.#awaitsSuccessor = isReplaced;
  }

  /** True unless a worker died without a successor and none has registered since. */
  get awaitsSuccessor(): boolean {
    return this.#awaitsSuccessor;
  }

  get size(): number {
    return this.#workers.size;
  }

  has(instanceId: string): boolean {
    return this.#workers.has(instanceId);
  }

  /** The worker's connection to this replica. */
  get(instanceId: string): WorkerConnection | undefined {
    return this.#workers.get(instanceId);
  }

  /** Ids of the workers whose sessions are settled since they connected. */
  settledIds(): readonly string[] {
    return [...this.#workers].flatMap(([id, worker]) => (this.#returning.has(worker) ? [] : [id]));
  }

  /** Ids of the connected workers whose messages arrive. */
  heardIds(): readonly string[] {
    return this.#heard().map(({ registration }) => registration.instance_id);
  }

  /** Takes the pings of the workers in `heardIds`; the result answers them, once the ids are stored. */
  takePings(): () => void {
    const answers = this.#heard().map((worker) => worker.takePing());
    return () => {
      for (const answer of answers) answer();
    };
  }

  #heard(): readonly WorkerConnection[] {
    return [...this.#workers.values()].filter(({ silentMs }) => silentMs <= HEARD_MS);
  }

  /** Time since the last message of each connected worker, ms. */
  silences(): ReadonlyMap<string, number> {
    return new Map([...this.#workers].map(([id, { silentMs }]) => [id, silentMs]));
  }

  describe(): WorkerLoad[] {
    return [...this.#workers.values()].map(loadOf);
  }

  /** Closes the link of the worker with the fewest calls, which then connects anew; null without a worker. */
  closeQuietest(): string | null {
    const [quietest] = this.describe().sort((a, b) => a.calls - b.calls);
    if (quietest) this.#workers.get(quietest.instanceId)?.close();
    return quietest?.instanceId ?? null;
  }

  /** The worker with most free slots, of those that suit; null when none does. */
  idlest(suits: (worker: WorkerLoad) => boolean): string | null {
    const [idlest] = this.describe()
      .filter(suits)
      .sort((a, b) => b.freeSlots - a.freeSlots);
    return idlest?.instanceId ?? null;
  }

  /** Says that this replica will drain soon; it still places calls. */
  announceStop(): void {
    this.#isStopping = true;
  }

  /** True once the replica will drain or drains. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Stops placing new calls. Running calls continue on their workers, which may outlive this process. */
  drain(): void {
    this.#isStopping = true;
    this.#isDraining = true;
  }

  /** True once `drain` was called: the workers are about to leave. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** True when this job may no longer be placed. */
  isClosedTo(kind: JobKind): boolean {
    return this.#isDraining && kind !== 'analysis';
  }

  async placeHere(offer: JobOffer): Promise<Placement | null> {
    if (this.isClosedTo(offer.kind)) return null;
    const { needsReady = false } = offer;
    const suitable = [...this.#workers.values()].filter((worker) => takesOffer(loadOf(worker), offer));
    const candidates = suitable
      .filter((worker) => isReached(worker, offer.route))
      // Full workers are asked last rather than skipped, because their last heartbeat may be a second old.
      .sort((a, b) => b.load.freeSlots - a.load.freeSlots);
    const verdicts = new Map<WorkerConnection, OfferVerdict>();
    const ask = async (worker: WorkerConnection, withinMs: number): Promise<boolean> => {
      const verdict = await this.#offer(worker, offer, withinMs);
      verdicts.set(worker, verdict);
      return verdict === 'accepted';
    };
    const withinMs = candidates.length > 1 || needsReady ? ACCEPT_MS : LAST_ACCEPT_MS;
    for (const worker of candidates) if (await ask(worker, withinMs)) return placementAt(worker);
    // The job is offered again: to all workers, or later.
    if (needsReady) return null;
    // A worker that did not answer in time has a delayed event loop. If no other worker has room, the one
    // with the least delay is asked again with a longer timeout.
    const [late] = candidates
      .filter((worker) => verdicts.get(worker) === 'late')
      .sort((a, b) => a.load.loopLagMs - b.load.loopLagMs);
    if (late && candidates.length > 1 && (await ask(late, LAST_ACCEPT_MS))) return placementAt(late);
    if (candidates.length === 0 && suitable.length > 0)
      this.#logger.warn(
        { sessionId: offer.sessionId, server: offer.route?.server },
        'no worker of this replica is connected to the SIP server of a call',
      );
    // An analysis or a text turn stays queued, so it is not logged; a call is refused.
    if (offer.kind !== 'analysis' && offer.kind !== 'text_turn' && candidates.length > 0)
      this.#logger.warn(
        { sessionId: offer.sessionId, kind: offer.kind, refusals: refusalsOf(verdicts) },
        'no worker accepted a job',
      );
    return null;
  }

  tellHere(instanceId: string, message: ControlMessage): void {
    this.#workers.get(instanceId)?.send(message);
  }

  async askHere(instanceId: string, message: ControlMessage): Promise<WorkerAnswer | null> {
    const worker = this.#workers.get(instanceId);
    if (!worker || !isRequest(message)) return null;
    const answer = worker.waitForAnswer(message.request_id, ANSWER_MS[message.type]);
    worker.send(message);
    return answer;
  }

  closeAll(): void {
    for (const worker of this.#workers.values()) worker.close();
  }

  async #offer(worker: WorkerConnection, offer: JobOffer, withinMs: number): Promise<OfferVerdict> {
    const waiting = worker.waitForVerdict(offer, withinMs);
    const { kind, sipCallId, isMediaStream } = offer;
    worker.send({
      type: 'offer',
      ...toWire(offer),
      kind,
      sip_call_id: sipCallId,
      ...(isMediaStream && { is_media_stream: true }),
    });
    const verdict = await waiting;
    // A late accept must not keep a slot for a call that went to another worker.
    if (verdict === 'late') worker.send({ type: 'withdraw', ...toWire(offer) });
    if (verdict === 'accepted')
      this.#returning.get(worker)?.push({ sessionId: offer.sessionId, epoch: offer.epoch });
    return verdict;
  }
}

/** True if the SIP server of the call can pass it to this worker, as far as the two say. */
function isReached({ registration, sipServers }: WorkerConnection, route: JobOffer['route']): boolean {
  const { sip_tag: tag } = registration;
  if (!route) return true;
  if (route.workerTags !== null) return tag !== null && route.workerTags.includes(tag);
  return route.server === null || sipServers === null || sipServers.includes(route.server);
}

function isRequest(message: ControlMessage): message is ControlRequest {
  return 'request_id' in message && message.request_id !== undefined;
}

function placementAt({ registration }: WorkerConnection): Placement {
  return {
    instanceId: registration.instance_id,
    supervisorRun: registration.supervisor_run,
    sipTag: registration.sip_tag,
    takesStream: registration.takes_stream === true,
  };
}

/** Refusals by worker, for the log. */
function refusalsOf(verdicts: ReadonlyMap<WorkerConnection, OfferVerdict>): readonly object[] {
  return [...verdicts].map(([{ registration, load }, verdict]) => {
    const { instance_id, capacity } = registration;
    return {
      instanceId: instance_id,
      verdict,
      calls: load.calls,
      capacity,
      loopLagMs: Math.round(load.loopLagMs),
    };
  });
}

function loadOf({ registration, load, isWebReady, sipServers }: WorkerConnection): WorkerLoad {
  const { instance_id: instanceId, kinds, capacity } = registration;
  const able = {
    takesText: registration.takes_text === true,
    judgesPauses: registration.judges_pauses === true,
    rehearses: registration.rehearses === true,
    judgesTurns: registration.judges_turns === true,
    measuresRegret: registration.measures_regret === true,
    asksOfTestCalls: registration.asks_of_test_calls === true,
    sendsSip: registration.sends_sip === true && (sipServers?.length ?? 0) > 0,
    joinsMediaStreams: registration.joins_media_streams === true,
  };
  return { instanceId, kinds, ...able, capacity, ...load, isWebReady };
}
