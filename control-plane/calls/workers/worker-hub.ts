/**
 * The control plane's end of the worker link. Keeps track of connected workers, offers them jobs, sends plans
 * and passes their reports to the `ReportSink`, in order for each session. Nothing here is durable: the
 * stored session names its worker, and workers report their running sessions on every connect.
 */
import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { fault } from '#config/errors.ts';
import type { AgentTestJob } from '#protocol/agent-test.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { type ReplayOutcome, type ReplaySettings, replayOutcome } from '#protocol/replay.ts';
import type { EndReason } from '#protocol/session-record.ts';
import {
  type AnalysisJob,
  type ControlMessage,
  type ControlRequest,
  type Handover,
  type JobKind,
  type ParticipantChange,
  WORKER_LINK_VERSION,
  type WorkerAnswer,
  type WorkerMessage,
} from '#protocol/worker-link.ts';
import {
  ANSWER_MS,
  type Dispatch,
  type HeardSoFar,
  type JobOffer,
  type JoiningParticipant,
  type Placement,
  type WorkerSlots,
} from '../../platform/dispatch.ts';
import type { ReportSink } from '../../platform/report-sink.ts';
import type { OtherReplicas, OwnWorkers } from './other-replicas.ts';
import { ReportQueue } from './report-queue.ts';
import { slotsOf } from './slots.ts';
import { SpeakingAgents } from './speaking-agents.ts';
import { storeReports } from './store-reports.ts';
import { type OfferVerdict, openWorkerConnection, type WorkerConnection } from './worker-connection.ts';

/** Time for a worker to accept an offer. */
const ACCEPT_MS = 500;
/**
 * Longer timeout for the last candidate: making a caller wait a few seconds is better than refusing the call.
 * Signalling waits for 12 s in all (http-admission.ts).
 */
const LAST_ACCEPT_MS = 6_000;
/** A worker silent for this long has lost its link; heartbeats arrive every second. */
const SILENCE_MS = 5_000;
/** Time for a dead worker's successor to send the spool left behind. */
const SPOOL_GRACE_MS = 1_500;

/** Dependencies of the hub. */
export interface WorkerHubDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A function, because the sink is created after the hub. */
  sink(): ReportSink;
  /** The other replicas' workers; null when this is the only replica. */
  others?(): OtherReplicas | null;
}

type SessionKey = { readonly sessionId: string; readonly epoch: number };

/** The connected workers; implements `Dispatch` for the rest of the control plane. */
export class WorkerHub implements Dispatch, OwnWorkers {
  readonly #deps: WorkerHubDeps;
  readonly #workers = new Map<string, WorkerConnection>();
  readonly #reports: ReportQueue;
  /** Pending link notifications of each worker, in order. */
  readonly #linkNews = new Map<string, Promise<void>>();
  readonly #dead = new Set<string>();
  readonly #speaking: SpeakingAgents;
  readonly #spoolWaiters = new Map<string, () => void>();
  /**
   * Workers whose return is still being processed, with their sessions, including those accepted in the
   * meantime.
   */
  readonly #settling = new Map<WorkerConnection, SessionKey[]>();
  /** Worker deaths whose sessions are not settled yet. */
  readonly #deaths = new Set<Promise<void>>();
  /** True while a dead worker is expected to be restarted. */
  #awaitsSuccessor = true;
  #draining = false;
  #isClosed = false;

  constructor(deps: WorkerHubDeps) {
    this.#deps = deps;
    this.#speaking = new SpeakingAgents(deps.clock);
    const storing = {
      logger: deps.logger,
      sink: deps.sink,
      onEnded: (sessionId: string) => this.#speaking.forget(sessionId),
    };
    this.#reports = new ReportQueue(deps.clock, (reports) => storeReports(storing, reports));
  }

  /** Accepts an authenticated socket. */
  accept(socket: WebSocket): void {
    openWorkerConnection(socket, {
      clock: this.#deps.clock,
      logger: this.#deps.logger,
      silenceMs: SILENCE_MS,
      onRegister: (worker) => this.#register(worker),
      onMessage: (worker, message) => this.#receive(worker, message),
      onClose: (worker) => this.#lost(worker),
    });
  }

  hasWorker(): boolean {
    return this.#workers.size > 0 || (this.#others?.instanceIds().length ?? 0) > 0;
  }

  expectsWorker(): boolean {
    return this.#awaitsSuccessor || this.hasWorker();
  }

  /** True when this worker is connected to this replica or another. */
  isHeld(instanceId: string): boolean {
    return this.#workers.has(instanceId) || (this.#others?.holds(instanceId) ?? false);
  }

  /** The connected workers and their load, for metrics and the operator. */
  describe(): {
    instanceId: string;
    kinds: JobKind[];
    capacity: number;
    calls: number;
    freeSlots: number;
    loopLagMs: number;
  }[] {
    return [...this.#workers.values()].map(
      ({ registration: { instance_id: instanceId, kinds, capacity }, load }) => {
        return { instanceId, kinds, capacity, ...load };
      },
    );
  }

  slots(kind: JobKind): WorkerSlots {
    return slotsOf([...this.describe(), ...(this.#others?.workers() ?? [])], kind);
  }

  /** Stops placing new calls. Running calls continue on their workers, which may outlive this process. */
  drain(): void {
    this.#draining = true;
  }

  async place(offer: JobOffer): Promise<Placement> {
    if (this.#draining && offer.kind !== 'analysis') throw fault('draining');
    const placement = (await this.placeHere(offer)) ?? (await this.#others?.place(offer));
    if (!placement) throw fault('no_capacity');
    return placement;
  }

  async placeHere(offer: JobOffer): Promise<Placement | null> {
    if (this.#draining && offer.kind !== 'analysis') return null;
    const candidates = [...this.#workers.values()]
      .filter((worker) => worker.registration.kinds.includes(offer.kind))
      // Full workers are asked last rather than skipped, because their last heartbeat may be a second old.
      .sort((a, b) => b.load.freeSlots - a.load.freeSlots);
    const verdicts = new Map<WorkerConnection, OfferVerdict>();
    const ask = async (worker: WorkerConnection, withinMs: number): Promise<boolean> => {
      const verdict = await this.#offer(worker, offer, withinMs);
      verdicts.set(worker, verdict);
      return verdict === 'accepted';
    };
    for (const worker of candidates)
      if (await ask(worker, candidates.length > 1 ? ACCEPT_MS : LAST_ACCEPT_MS)) return placementAt(worker);
    // A worker that did not answer in time has a delayed event loop. If no other worker has room, the one
    // with the least delay is asked again with a longer timeout.
    const [late] = candidates
      .filter((worker) => verdicts.get(worker) === 'late')
      .sort((a, b) => a.load.loopLagMs - b.load.loopLagMs);
    if (late && candidates.length > 1 && (await ask(late, LAST_ACCEPT_MS))) return placementAt(late);
    // Not logged for an analysis, which stays queued; a call is refused.
    if (offer.kind !== 'analysis' && candidates.length > 0)
      this.#deps.logger.warn(
        { sessionId: offer.sessionId, kind: offer.kind, refusals: refusalsOf(verdicts) },
        'no worker took it',
      );
    return null;
  }

  tellHere(instanceId: string, message: ControlMessage): void {
    this.#workers.get(instanceId)?.send(message);
  }

  async askHere(instanceId: string, message: ControlMessage): Promise<WorkerAnswer | null> {
    const worker = this.#workers.get(instanceId);
    if (!worker || !('request_id' in message)) return null;
    const answer = worker.waitForAnswer(message.request_id, ANSWER_MS[message.type]);
    worker.send(message);
    return answer;
  }

  assign(placement: Placement, session: SessionKey, plan: CallPlan, handover: Handover | null = null): void {
    this.#tell(placement.instanceId, { type: 'assign', ...wire(session), plan, handover });
  }

  assignAnalysis(placement: Placement, session: SessionKey, job: AnalysisJob): void {
    this.#tell(placement.instanceId, { type: 'assign_analysis', ...wire(session), job });
  }

  assignAgentTest(placement: Placement, session: SessionKey, job: AgentTestJob): void {
    this.#tell(placement.instanceId, { type: 'assign_agent_test', ...wire(session), job });
  }

  withdraw(placement: Placement, session: SessionKey): void {
    const { instanceId } = placement;
    if (this.isHeld(instanceId)) this.#tell(instanceId, { type: 'withdraw', ...wire(session) });
  }

  end(instanceId: string, session: SessionKey, reason: EndReason): void {
    this.#tell(instanceId, { type: 'end', ...wire(session), end_reason: reason });
  }

  async offerWebrtc(instanceId: string, session: SessionKey, sdp: string): Promise<{ readonly sdp: string }> {
    const message = { type: 'webrtc.offer', ...wire(session), request_id: randomUUID(), sdp } as const;
    const result = await this.#ask(instanceId, message);
    if (result === null) throw fault('gateway_unreachable');
    if (!result.ok) throw fault(result.code === 'sdp_unusable' ? 'sdp_unusable' : 'gateway_unreachable');
    const value = result.value as { sdp?: unknown };
    if (typeof value?.sdp !== 'string') throw fault('gateway_unreachable');
    return { sdp: value.sdp };
  }

  async joinParticipant(
    instanceId: string,
    session: SessionKey,
    participant: JoiningParticipant,
  ): Promise<{ readonly sdp: string | null }> {
    const { id: participantId, name, mode, connection } = participant;
    const about = { ...wire(session), request_id: randomUUID(), participant_id: participantId };
    const result = await this.#ask(instanceId, {
      type: 'participant.join',
      ...about,
      name,
      mode,
      connection,
    });
    return joinedParticipant.parse(answered(result));
  }

  async changeParticipant(
    instanceId: string,
    session: SessionKey,
    participantId: string,
    change: ParticipantChange,
  ): Promise<void> {
    const about = { ...wire(session), request_id: randomUUID(), participant_id: participantId };
    answered(await this.#ask(instanceId, { type: 'participant.change', ...about, change }));
  }

  async replay(log: string, settings: ReplaySettings): Promise<ReplayOutcome> {
    const [idlest] = [...this.#workers.values()].sort((a, b) => b.load.freeSlots - a.load.freeSlots);
    const instanceId = idlest?.registration.instance_id ?? this.#others?.instanceIds()[0];
    if (instanceId === undefined) throw fault('no_capacity');
    const result = await this.#ask(instanceId, { type: 'replay', request_id: randomUUID(), log, settings });
    if (result?.ok === false) throw fault('not_replayable');
    const outcome = replayOutcome.safeParse(result?.value);
    if (!outcome.success) throw fault('gateway_unreachable');
    return outcome.data;
  }

  /**
   * Called when the supervisor sees a worker's process end. Its sessions are settled once its spool has been
   * read, or after SPOOL_GRACE_MS, or at once when no successor is expected (`isReplaced` false). `stoodIn`
   * is the session that had blocked its event loop when it was killed.
   */
  async workerDied(
    instanceId: string,
    options: { readonly isReplaced: boolean; readonly stoodIn?: string | null },
  ): Promise<void> {
    // After closing, the store is gone; the next start handles what is left.
    if (this.#isClosed || this.#dead.has(instanceId)) return;
    const settled = this.#settleWhenRead(instanceId, options);
    this.#deaths.add(settled);
    await settled.finally(() => this.#deaths.delete(settled));
  }

  async #settleWhenRead(
    instanceId: string,
    { isReplaced, stoodIn }: { readonly isReplaced: boolean; readonly stoodIn?: string | null },
  ): Promise<void> {
    const diedAt = new Date(this.#deps.clock.wallTime());
    this.#dead.add(instanceId);
    this.#workers.get(instanceId)?.close();
    this.#awaitsSuccessor = isReplaced;
    if (!this.expectsWorker()) for (const waiter of this.#spoolWaiters.values()) waiter();
    else
      await Promise.race([
        new Promise<void>((resolve) => this.#spoolWaiters.set(instanceId, resolve)),
        this.#deps.clock.sleep(SPOOL_GRACE_MS),
      ]);
    this.#spoolWaiters.delete(instanceId);
    await this.#settleDead(instanceId, diedAt, stoodIn);
  }

  heardSoFar(sessionId: string): HeardSoFar | null {
    return this.#speaking.heardSoFar(sessionId);
  }

  /** Resolves when no write is in progress, so that the store may be closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const worker of this.#workers.values()) worker.close();
    for (const waiter of this.#spoolWaiters.values()) waiter();
    await Promise.allSettled([this.#reports.close(), ...this.#linkNews.values(), ...this.#deaths]);
  }

  async #offer(worker: WorkerConnection, offer: JobOffer, withinMs: number): Promise<OfferVerdict> {
    const waiting = worker.waitForVerdict(offer, withinMs);
    worker.send({ type: 'offer', ...wire(offer), kind: offer.kind, sip_call_id: offer.sipCallId });
    const verdict = await waiting;
    // A late accept must not hold a slot for a call that was placed elsewhere.
    if (verdict === 'late') worker.send({ type: 'withdraw', ...wire(offer) });
    if (verdict === 'accepted')
      this.#settling.get(worker)?.push({ sessionId: offer.sessionId, epoch: offer.epoch });
    return verdict;
  }

  async #ask(instanceId: string, message: ControlRequest): Promise<WorkerAnswer | null> {
    const others = this.#workers.has(instanceId) ? null : this.#others;
    return others ? others.ask(instanceId, message) : this.askHere(instanceId, message);
  }

  get #others(): OtherReplicas | null {
    return this.#deps.others?.() ?? null;
  }

  #tell(instanceId: string, message: ControlMessage): void {
    const worker = this.#workers.get(instanceId);
    if (worker) worker.send(message);
    else if (this.#others) this.#others.tell(instanceId, message);
    else throw fault('gateway_unreachable');
  }

  #register(worker: WorkerConnection): void {
    const { instance_id, sessions, link_version } = worker.registration;
    this.#workers.get(instance_id)?.close();
    this.#workers.set(instance_id, worker);
    this.#awaitsSuccessor = true;
    this.#others?.changed();
    worker.send({ type: 'registered', link_version: Math.min(link_version, WORKER_LINK_VERSION) });
    this.#deps.logger.info(
      { instanceId: instance_id, capacity: worker.registration.capacity, kinds: worker.registration.kinds },
      'worker registered',
    );
    const running = sessions.map((session) => ({ sessionId: session.session_id, epoch: session.epoch }));
    this.#settling.set(worker, running);
    this.#tellInOrder(instance_id, () =>
      this.#deps
        .sink()
        .workerBack(instance_id, running)
        .finally(() => this.#settling.delete(worker)),
    );
  }

  #lost(worker: WorkerConnection): void {
    const instanceId = worker.registration.instance_id;
    if (this.#workers.get(instanceId) !== worker) return;
    this.#workers.delete(instanceId);
    this.#others?.changed();
    this.#deps.logger.warn({ instanceId }, 'worker link lost');
    // If another replica already has the worker, its sessions were never lost.
    if (this.#isClosed || this.#dead.has(instanceId) || this.#others?.holds(instanceId)) return;
    this.#tellInOrder(instanceId, async () => {
      // A report stored after this notification would mark the session active again.
      await this.#reports.settled();
      await this.#deps.sink().workerLost(instanceId);
    });
  }

  /** Stores a dead worker's reports before its sessions are handed to another worker. */
  async #settleDead(
    instanceId: string,
    diedAt = new Date(this.#deps.clock.wallTime()),
    stoodIn?: string | null,
  ): Promise<void> {
    await this.#reports.settled();
    await this.#deps.sink().workerDead(instanceId, diedAt, stoodIn);
  }

  /**
   * Runs notifications of one worker in order. Otherwise the loss of a link that was re-established within
   * milliseconds could be processed last and leave its sessions `unknown`.
   */
  #tellInOrder(instanceId: string, tell: () => Promise<void>): void {
    inTurn(this.#linkNews, instanceId, () => tell().catch((error: unknown) => this.#failed(error)));
  }

  #receive(worker: WorkerConnection, message: WorkerMessage): void {
    switch (message.type) {
      case 'report':
        this.#reports.add({ worker, envelope: message.envelope });
        return;
      case 'spool.flushed':
        this.#spoolFlushed(message.instance_id);
        return;
      case 'live':
        this.#speaking.follow(message.session_id, message.event);
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

  #spoolFlushed(instanceId: string): void {
    const waiter = this.#spoolWaiters.get(instanceId);
    if (waiter) waiter();
    // A worker of an earlier run: its end was not observed, but a flushed spool proves it.
    else if (!this.#workers.has(instanceId) && !this.#dead.has(instanceId)) {
      this.#dead.add(instanceId);
      this.#tellInOrder(instanceId, () => this.#settleDead(instanceId));
    }
  }

  #failed(error: unknown): void {
    this.#deps.logger.error({ err: error }, 'worker hub');
  }
}

function placementAt({ registration }: WorkerConnection): Placement {
  return {
    instanceId: registration.instance_id,
    supervisorRun: registration.supervisor_run,
    sipTag: registration.sip_tag,
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

const joinedParticipant = z.object({ sdp: z.string().nullable() });
const PARTICIPANT_FAULTS = z.enum([
  'not_found',
  'call_taken',
  'call_not_takeable',
  'call_not_running',
  'participants_full',
  'sdp_unusable',
]);

/** Returns a worker's answer to a request about a colleague. Throws its refusal, or `gateway_unreachable`. */
function answered(result: WorkerAnswer | null): unknown {
  if (result?.ok) return result.value;
  throw fault(PARTICIPANT_FAULTS.safeParse(result?.code).data ?? 'gateway_unreachable');
}

/** Runs `work` after earlier work queued under the same name; `work` never rejects. */
function inTurn(queues: Map<string, Promise<void>>, name: string, work: () => Promise<void>): void {
  const next = (queues.get(name) ?? Promise.resolve()).then(work);
  queues.set(name, next);
  void next.then(() => {
    if (queues.get(name) === next) queues.delete(name);
  });
}

function wire(session: SessionKey): { session_id: string; epoch: number } {
  return { session_id: session.sessionId, epoch: session.epoch };
}
