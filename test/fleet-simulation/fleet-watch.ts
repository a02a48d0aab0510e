/**
 * Watches a fleet while it runs: compares what the database says of each call with what is true, at every
 * change of a session and twice a second.
 */
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { isLive } from '#control-plane/platform/store/session-status.ts';
import type { ControlMessage, DurableReport } from '#protocol/worker-link.ts';
import { SILENCE_REPORTED_MS } from '#protocol/worker-watch.ts';
import type { Job } from '#runtime/worker/job-table.ts';
import type { Caller } from './caller.ts';
import type { Fleet, FleetObserver } from './fleet.ts';
import { ReportLog } from './report-log.ts';
import type { SignallingProcess } from './signalling-process.ts';
import type { Fields } from './store-engine.ts';
import type { VirtualProcess } from './virtual-process.ts';
import type { WorkerProcess } from './worker-process.ts';

/**
 * A worker that all this time was connected to a control plane that works gave signs of life in every way
 * there is: two looks of the watch over the links, and a margin.
 */
const HEALTHY_MS = 12_000;
/** Time for a call whose worker's death was noticed to be taken over or ended, in a fleet that works. */
const NOTICED_MS = 30_000;
/**
 * The same for a death that nobody noticed: the worker is missed for 15 s, its session doubted for 150 s, and
 * each look takes a few seconds.
 */
const UNNOTICED_MS = 190_000;
/** Signalling reports a silent worker until then; the margin is for the way of a report. */
const WITNESSED_MS = SILENCE_REPORTED_MS - 5_000;
/** Slowest majority of a healthy store. */
const MAX_LAG_MS = 1_000;

interface Death {
  readonly worker: WorkerProcess;
  readonly sessionIds: readonly string[];
  /** Null if others than signalling notice it. */
  readonly witnesses: readonly SignallingProcess[] | null;
  /** The control plane that a supervisor told of the death. */
  readonly told: VirtualProcess | undefined;
  readonly diedMs: number;
  /** Last time at which a fault kept the fleet from ending its calls. */
  sinceMs: number;
  /** Last time at which a fault kept it from learning of the death, or from moving its calls. */
  movableMs: number;
}

/** By then its calls must have been taken over or ended. */
function dueMs({ witnesses, diedMs, sinceMs, movableMs }: Death): number {
  const isNoticed =
    witnesses === null ||
    (witnesses.some(({ process }) => process.isAlive) && movableMs - diedMs <= WITNESSED_MS);
  return Math.min(sinceMs + UNNOTICED_MS, isNoticed ? movableMs + NOTICED_MS : Number.POSITIVE_INFINITY);
}

function isWatchPaused({ witnesses }: Death): boolean {
  const alive = witnesses?.filter(({ process }) => process.isAlive) ?? [];
  return alive.length > 0 && !alive.some(({ process }) => process.isRunning);
}

/** The watch over one run. */
export class FleetWatch implements FleetObserver {
  readonly violations: string[] = [];
  readonly notes: string[] = [];
  readonly reports = new ReportLog();
  /** Figures: what the run has contained. */
  readonly seen = { doubted: 0, takenOver: 0, lost: 0 };
  readonly #unhealthyMs = new Map<WorkerProcess, number>();
  readonly #last = new Map<
    string,
    Pick<SessionDocument, 'status' | 'epoch'> & { readonly instanceId: string }
  >();
  readonly #ends = new Set<string>();
  #deaths: Death[] = [];
  #fleet: Fleet | null = null;
  #callers: readonly Caller[] = [];

  watch(fleet: Fleet, callers: readonly Caller[]): void {
    this.#fleet = fleet;
    this.#callers = callers;
    fleet.store.onWrite = (command) => this.#written(command);
    fleet.network.clock.every(500, () => this.#look());
  }

  note(what: string): void {
    this.notes.push(`${(this.#nowMs / 1_000).toFixed(3).padStart(8)} ${what}`);
  }

  violated(what: string): void {
    this.violations.push(what);
    this.note(`VIOLATED: ${what}`);
  }

  reported(worker: WorkerProcess, job: Job, report: DurableReport): void {
    const key = this.reports.add(job, report);
    if (report.type !== 'ended') return;
    this.#ends.add(key);
    this.note(`${worker.instanceId} reports the end of ${key}: ${report.end_reason}`);
  }

  /** Every acknowledged report is stored at that moment. */
  acknowledged(message: Extract<ControlMessage, { type: 'ack' }>): void {
    const key = this.reports.acknowledge(message);
    const { session_id, epoch, seq } = message;
    const session = this.#read(session_id);
    if (!session || session.epoch > epoch || session.last_seq >= seq) return;
    this.violated(`${key}: report ${seq} was acknowledged, but ${session.last_seq} is stored`);
  }

  died(
    worker: WorkerProcess,
    noticedBy: 'others' | readonly SignallingProcess[],
    told?: VirtualProcess,
  ): void {
    const sessionIds = worker.sessionIds();
    this.note(`${worker.instanceId} is dead with ${sessionIds.join() || 'no calls'}`);
    const witnesses = noticedBy === 'others' ? null : noticedBy;
    this.seen.lost += sessionIds.length;
    const diedMs = this.#nowMs;
    this.#deaths.push({ worker, sessionIds, witnesses, told, diedMs, sinceMs: diedMs, movableMs: diedMs });
  }

  get #nowMs(): number {
    return this.#fleet?.network.clock.now() ?? 0;
  }

  #read(sessionId: string): SessionDocument | null {
    const found = this.#fleet?.store.peek({ find: 'sessions', filter: { _id: sessionId }, limit: 1 });
    return (found?.['documents'] as SessionDocument[] | undefined)?.[0] ?? null;
  }

  #written(command: Fields): void {
    const name = Object.keys(command)[0] ?? '';
    if (command[name] !== 'sessions') return;
    const filter = (command['query'] ?? (command['updates'] as Fields[] | undefined)?.[0]?.['q']) as Fields;
    const id = filter?.['_id'];
    const session = typeof id === 'string' ? this.#read(id) : null;
    if (session) this.#changed(session);
  }

  #changed(session: SessionDocument): void {
    const { _id, status, epoch } = session;
    const before = this.#last.get(_id);
    if (before?.status === status && before.epoch === epoch) return;
    this.#last.set(_id, { status, epoch, instanceId: session.worker?.instance_id ?? '' });
    const reason = session.end_reason === null ? '' : ` (${session.end_reason})`;
    this.note(`${_id} is ${status}${reason}, epoch ${epoch}, at ${session.worker?.instance_id}`);
    if (status === 'unknown') this.seen.doubted += 1;
    if (before && before.epoch > 0 && epoch > before.epoch) this.#takenOver(session, before.instanceId);
    const isDoubt = status === 'unknown' && before?.status === 'active';
    const isEnd = !isLive(status) && status !== 'creating' && before && isLive(before.status);
    if (isDoubt || (isEnd && !this.#ends.has(`${_id}:${epoch}`)))
      this.#judge(_id, session.worker?.instance_id ?? '', isDoubt ? 'doubted' : 'ended');
  }

  #takenOver({ _id, status }: SessionDocument, instanceId: string): void {
    this.seen.takenOver += 1;
    const caller = this.#callers.find(({ plan }) => plan.sessionId === _id);
    // If its caller had joined, that was never stored: the call begins again with the next worker.
    if (status === 'pending' && caller) caller.provableFromMs = null;
    // A draining worker gives its calls away.
    if (!this.#fleet?.workerOf(instanceId)?.isDraining) this.#judge(_id, instanceId, 'taken');
  }

  /**
   * No session is doubted, ended or given to another worker while its worker talks and its caller is there.
   */
  #judge(_id: string, instanceId: string, what: string): void {
    const worker = this.#fleet?.workerOf(instanceId);
    const caller = this.#callers.find(({ plan }) => plan.sessionId === _id);
    if (!worker?.process.isRunning || caller?.state !== 'connected' || !worker.isTalking(_id)) return;
    const healthyMs = this.#healthyMs(worker);
    if (healthyMs >= HEALTHY_MS)
      this.violated(
        `${_id} was ${what}, but its worker talks, connected for ${(healthyMs / 1_000).toFixed(0)} s`,
      );
  }

  #look(): void {
    const fleet = this.#fleet as Fleet;
    const workers = fleet.workers();
    for (const worker of workers) {
      if (!this.#isHealthy(worker)) this.#unhealthyMs.set(worker, this.#nowMs);
      const healthyMs = this.#healthyMs(worker);
      if (worker.isSilent && healthyMs > HEALTHY_MS)
        this.violated(`${worker.instanceId} is silent, but has been connected for ${healthyMs / 1_000} s`);
    }
    const canLook = this.#canLook;
    for (const caller of this.#callers) {
      const { plan } = caller;
      // While it cannot look, the fleet does not see that nobody serves the caller any more.
      if (caller.isHeld || !canLook || this.#owesEnd(caller)) caller.servedMs = this.#nowMs;
      if (caller.isHeld && this.#healthyMs(caller.holder) >= HEALTHY_MS) caller.provenMs = this.#nowMs;
      const agents = workers.filter((worker) => worker.speaks(plan.sessionId));
      if (agents.length > 1)
        this.violated(
          `two agents in ${plan.sessionId}: ${agents.map(({ instanceId }) => instanceId).join()}`,
        );
    }
    this.#checkDoubts();
    this.#checkDeaths();
  }

  /** The call is over, but its worker lives and reaches no control plane that it could tell. */
  #owesEnd({ holder, plan }: Caller): boolean {
    const { status, epoch } = this.#last.get(plan.sessionId) ?? { status: 'completed', epoch: 0 };
    const isKnown = isLive(status) && this.#ends.has(`${plan.sessionId}:${epoch}`);
    return isKnown && holder?.process.isRunning === true && !this.#isHealthy(holder);
  }

  /** A doubt is withdrawn once the worker gives signs of life again. */
  #checkDoubts(): void {
    for (const [id, { status, instanceId }] of this.#last) {
      const worker = status === 'unknown' ? this.#fleet?.workerOf(instanceId) : null;
      if (!worker?.process.isRunning || !worker.hasCall(id)) continue;
      const healthyMs = this.#healthyMs(worker);
      if (healthyMs > HEALTHY_MS)
        this.violated(`${id} is doubted, but its worker has been connected for ${healthyMs / 1_000} s`);
    }
  }

  /** How long the worker has been healthy. */
  #healthyMs(worker: WorkerProcess | null): number {
    return worker ? this.#nowMs - (this.#unhealthyMs.get(worker) ?? 0) : 0;
  }

  #isHealthy(worker: WorkerProcess): boolean {
    const { network, store } = this.#fleet as Fleet;
    const controlPlane = this.#fleet?.controlPlaneOf(worker);
    const { process } = worker;
    return (
      process.isRunning &&
      controlPlane?.isRunning === true &&
      !network.isCut(process.host, controlPlane.host) &&
      !network.isCut(controlPlane.host, process.host) &&
      store.reaches(controlPlane) &&
      this.#isStoreHealthy
    );
  }

  get #isStoreHealthy(): boolean {
    const { store } = this.#fleet as Fleet;
    return store.isHealthy && store.lostShare === 0 && store.majorityLagMs <= MAX_LAG_MS;
  }

  /** Every machine that has power reads the database. */
  get #canLook(): boolean {
    const { machines, store } = this.#fleet as Fleet;
    const isWhole = ({ isOn, controlPlane }: Fleet['machines'][number]) =>
      !isOn || (controlPlane?.process.isRunning === true && store.reaches(controlPlane.process));
    return this.#isStoreHealthy && machines.every(isWhole);
  }

  /** Every call of a dead worker is taken over or ended within its time, while the fleet can do so. */
  #checkDeaths(): void {
    this.#notePrevented();
    const due = this.#deaths.filter((death) => dueMs(death) <= this.#nowMs);
    if (due.length === 0) return;
    this.#deaths = this.#deaths.filter((death) => !due.includes(death));
    for (const { worker, sessionIds } of due)
      for (const id of sessionIds) {
        const session = this.#read(id);
        if (session && isLive(session.status) && session.worker?.instance_id === worker.instanceId)
          this.violated(`${id} is ${session.status}, but its worker died long ago`);
      }
  }

  /** A death that could not be acted on now is due later. */
  #notePrevented(): void {
    const fleet = this.#fleet as Fleet;
    const canAct = this.#canLook && fleet.machines.some(({ isOn }) => isOn);
    const hasWorker = fleet.workers().some((worker) => this.#isHealthy(worker));
    for (const death of this.#deaths) {
      if (!canAct) death.sinceMs = this.#nowMs;
      // Those not told of a death learn of it when a worker brings the spool, or is there to take the calls.
      const isHandled = death.told?.isRunning === true || hasWorker;
      if (!canAct || !isHandled || isWatchPaused(death)) death.movableMs = this.#nowMs;
    }
  }
}
