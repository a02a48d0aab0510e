/**
 * The supervisor of `npm start`: runs the control plane, the embedded signalling and the workers as
 * processes, restarts those that die, kills those that hang, and stops everything in order. No call or
 * request passes through it, so that nothing it supervises can crash it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { execArgv } from 'node:process';
import { setImmediate } from 'node:timers/promises';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { type MainThreadTimes, mainThreadTimes, setSessionPriority } from '#base/platform.ts';
import { PROCESS_PRIORITIES } from '#base/thread-priority.ts';
import {
  type ActivityFile,
  activityEnvironment,
  closeActivityFile,
  openActivityFile,
  readActivity,
  readAlive,
  sessionIn,
} from './activity-file.ts';
import { HangDetector } from './hang-detector.ts';

/** The processes of one machine. */
export type Role = 'control-plane' | 'signalling' | 'worker';

/** Child → supervisor. */
export type ChildMessage =
  | { readonly type: 'ready'; readonly facts: Readonly<Record<string, unknown>> }
  /** Proof that the child's event loop runs, every half second if it cannot be noted in the activity file. */
  | { readonly type: 'alive' };

/** Supervisor → child. */
export type SupervisorMessage =
  | ({ readonly type: 'worker_died' } & WorkerDeath)
  /** Take no new calls; end the running ones within `DRAIN_SECONDS`, then exit 0. */
  | { readonly type: 'drain' };

/** Report to the control plane about a worker that ended. */
export interface WorkerDeath {
  readonly instanceId: string;
  /**
   * False if its replacements repeatedly fail before they are ready: callers should not wait for the next
   * one.
   */
  readonly isReplaced: boolean;
  /** The session in which it hung before it was killed; null if it ended otherwise, or had no session. */
  readonly hungIn: string | null;
}

/**
 * A process that hangs for this long is killed. Time in which it waits for CPU or for a disk does not count.
 * Calls in progress do not need the control plane, and starting it again takes 2 s, on a busy machine 20 s.
 * New calls wait up to 12 s for it.
 */
const HANG_MS: Readonly<Record<Role, number>> = { 'control-plane': 5_000, signalling: 2_000, worker: 2_000 };
const CHECK_MS = 1_000;
/** Until the next check while a process seems to hang. */
const CHECK_AGAIN_MS = 500;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;
/** A process that ran this long is restarted with the shortest backoff. */
const STABLE_MS = 10_000;
/** This many consecutive starts that never became ready are no coincidence. */
const HOPELESS_STARTS = 2;
/** What a worker needs beyond its drain: a goodbye, the hang-up, its last reports. */
const GOODBYE_MS = 13_000;
/** Longest wait for a child to become ready. */
const START_TIMEOUT_MS = 60_000;

/** A process to keep running. `environment` is evaluated at each start. */
export interface ChildSpec {
  readonly name: string;
  readonly role: Role;
  /** Options of Node in addition to the supervisor's own. */
  readonly nodeOptions?: readonly string[];
  environment(instanceId: string): Readonly<Record<string, string>>;
}

/** What the supervisor needs. */
export interface SupervisorDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The program to fork, with the role as its argument. */
  readonly program: string;
  readonly baseEnvironment: NodeJS.ProcessEnv;
  /** A child became ready, the first time or again. */
  onReady(child: {
    readonly name: string;
    readonly role: Role;
    readonly facts: Readonly<Record<string, unknown>>;
  }): void;
  /** A child ended before it ever became ready: the start has failed. */
  onStartFailed(name: string): void;
  /** Times of the main thread of a process; null if unknown. Tests replace the kernel's figures. */
  readonly mainThreadTimes?: (pid: number) => MainThreadTimes | null;
  /** Tests replace the system's. */
  readonly openActivityFile?: () => ActivityFile | null;
}

interface Child {
  readonly spec: ChildSpec;
  process: ChildProcess | null;
  instanceId: string;
  isReady: boolean;
  wasEverReady: boolean;
  /** Consecutive starts that ended before they were ready. */
  failedStarts: number;
  startedMs: number;
  hangDetector: HangDetector;
  /** File in which the process records what it is doing. */
  activityFile: ActivityFile | null;
  /** Its last sign of life in that file; null if there was none. */
  aliveMs: number | null;
  /** The session in which it hung before it was killed. */
  hungIn: string | null;
  /** It hung and was killed: on a busy machine it takes a while to end, and is not killed again. */
  isKilled: boolean;
  backoffMs: number;
}

type DeadWorker = Omit<WorkerDeath, 'isReplaced'> & { readonly child: Child };

/** Keeps the processes of one machine running. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #children: Child[] = [];
  readonly #deadWorkers: DeadWorker[] = [];
  readonly #timers = new Set<Timer>();
  #nextCheck: Timer | null = null;
  #isStopping = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#timers.add(deps.clock.every(CHECK_MS, () => this.#check()));
  }

  /** Starts one process and keeps it running. */
  start(spec: ChildSpec): void {
    const now = this.#deps.clock.now();
    const child: Child = {
      spec,
      process: null,
      instanceId: '',
      isReady: false,
      wasEverReady: false,
      failedStarts: 0,
      startedMs: now,
      hangDetector: new HangDetector(now),
      activityFile: null,
      aliveMs: null,
      hungIn: null,
      isKilled: false,
      backoffMs: BACKOFF_FIRST_MS,
    };
    this.#children.push(child);
    this.#spawn(child);
  }

  /** Instances of workers that ended in this run, whose spools a replacement adopts. */
  get deadWorkers(): readonly string[] {
    return this.#deadWorkers.map(({ instanceId }) => instanceId);
  }

  /**
   * Drains the workers first, then ends the signalling and the control plane, which must outlive them to
   * take their reports. Resolves when all have ended; those left after `drainMs` and a moment are killed.
   */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    const ofRole = (role: Role) => this.#children.filter((child) => child.spec.role === role);
    for (const child of this.#children) {
      if (child.isReady) this.#send(child, { type: 'drain' });
      // It has nothing to drain, and may be waiting for another process.
      else child.process?.kill('SIGTERM');
    }
    await this.#ended(ofRole('worker'), drainMs + GOODBYE_MS);
    for (const child of [...ofRole('signalling'), ...ofRole('control-plane')]) child.process?.kill('SIGTERM');
    await this.#ended([...ofRole('signalling'), ...ofRole('control-plane')], 10_000);
    for (const timer of [...this.#timers, this.#nextCheck]) timer?.cancel();
  }

  /** Kills everything at once. */
  kill(): void {
    this.#isStopping = true;
    for (const child of this.#children) child.process?.kill('SIGKILL');
  }

  #spawn(child: Child): void {
    const { clock, logger, program, baseEnvironment, openActivityFile: open = openActivityFile } = this.#deps;
    child.instanceId = `${child.spec.name}-${randomUUID().slice(0, 8)}`;
    child.isReady = false;
    child.startedMs = clock.now();
    child.hangDetector = new HangDetector(child.startedMs);
    child.activityFile = open();
    child.aliveMs = null;
    child.hungIn = null;
    child.isKilled = false;
    const process = fork(program, [child.spec.role], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc', child.activityFile?.fd ?? 'ignore'],
      execArgv: [...execArgv, ...(child.spec.nodeOptions ?? [])],
      env: {
        ...baseEnvironment,
        ...child.spec.environment(child.instanceId),
        ...activityEnvironment(child.activityFile),
      },
      // Ctrl-C in a terminal reaches only the supervisor, which then stops the others in order.
      detached: true,
    });
    child.process = process;
    if (process.pid !== undefined) void setSessionPriority(process.pid, PROCESS_PRIORITIES[child.spec.role]);
    process.on('message', (message) => this.#receive(child, message as ChildMessage));
    process.on('error', (error) => {
      logger.error({ err: error, name: child.spec.name }, 'a process could not be started or reached');
      // Without a process there will be no exit event.
      if (process.pid === undefined) this.#exited(child, process, { code: null, signal: null });
    });
    process.on('exit', (code, signal) => this.#exited(child, process, { code, signal }));
  }

  #receive(child: Child, message: ChildMessage): void {
    child.hangDetector.alive(this.#deps.clock.now());
    if (message.type !== 'ready') return;
    child.isReady = true;
    child.wasEverReady = true;
    child.failedStarts = 0;
    if (child.spec.role === 'control-plane')
      for (const dead of this.#deadWorkers) this.#reportDeath(child, dead);
    this.#deps.onReady({ name: child.spec.name, role: child.spec.role, facts: message.facts });
  }

  #exited(
    child: Child,
    process: ChildProcess,
    how: { readonly code: number | null; readonly signal: NodeJS.Signals | null },
  ): void {
    if (child.process !== process) return;
    const { clock, logger } = this.#deps;
    child.process = null;
    if (child.activityFile !== null) closeActivityFile(child.activityFile.fd);
    child.activityFile = null;
    if (!child.isReady) child.failedStarts += 1;
    if (child.spec.role === 'worker') {
      const dead = { instanceId: child.instanceId, hungIn: child.hungIn, child };
      this.#deadWorkers.push(dead);
      for (const other of this.#children)
        if (other.spec.role === 'control-plane') this.#reportDeath(other, dead);
    }
    if (this.#isStopping) return;
    if (!child.wasEverReady) {
      this.#deps.onStartFailed(child.spec.name);
      return;
    }
    logger.error({ name: child.spec.name, ...how }, 'a process ended; starting it again');
    if (clock.now() - child.startedMs > STABLE_MS) child.backoffMs = BACKOFF_FIRST_MS;
    const timer = clock.after(child.backoffMs, () => {
      this.#timers.delete(timer);
      if (!this.#isStopping) this.#spawn(child);
    });
    this.#timers.add(timer);
    child.backoffMs = Math.min(child.backoffMs * 2, BACKOFF_MAX_MS);
  }

  #check(): void {
    for (const child of this.#children) if (child.process) void this.#judge(child, child.process);
  }

  #checkAgain(): void {
    this.#nextCheck ??= this.#deps.clock.after(CHECK_AGAIN_MS, () => {
      this.#nextCheck = null;
      this.#check();
    });
  }

  /** Messages waiting to be read are read first: the event loop reads them before it comes back here. */
  async #judge(child: Child, process: ChildProcess): Promise<void> {
    const { clock, logger, mainThreadTimes: readTimes = mainThreadTimes } = this.#deps;
    await setImmediate();
    if (child.process !== process || child.isKilled) return;
    const { activityFile: file } = child;
    const aliveMs = file && readAlive(file.fd);
    if (aliveMs !== null && aliveMs !== child.aliveMs) child.hangDetector.alive(aliveMs);
    child.aliveMs = aliveMs;
    const times = process.pid === undefined ? null : readTimes(process.pid);
    const hungMs = child.hangDetector.sample(clock.now(), times);
    if (hungMs > CHECK_AGAIN_MS) this.#checkAgain();
    if (hungMs < (child.isReady ? HANG_MS[child.spec.role] : START_TIMEOUT_MS)) return;
    const doing = (file && readActivity(file.fd)) ?? 'unknown work';
    logger.error(
      { name: child.spec.name, hungMs: Math.round(hungMs), doing },
      `${child.spec.name} hung for ${Math.round(hungMs).toLocaleString('en')} ms in ${doing}; killing it`,
    );
    child.hungIn = sessionIn(doing);
    child.isKilled = true;
    process.kill('SIGKILL');
  }

  #reportDeath(controlPlane: Child, { child, ...dead }: DeadWorker): void {
    this.#send(controlPlane, {
      type: 'worker_died',
      ...dead,
      isReplaced: !this.#isStopping && child.failedStarts < HOPELESS_STARTS,
    });
  }

  #send(child: Child, message: SupervisorMessage): void {
    if (child.process?.connected) child.process.send(message, () => undefined);
  }

  async #ended(children: readonly Child[], ms: number): Promise<void> {
    const deadline = this.#deps.clock.now() + ms;
    while (children.some((child) => child.process !== null)) {
      if (this.#deps.clock.now() >= deadline) for (const child of children) child.process?.kill('SIGKILL');
      await this.#deps.clock.sleep(20);
    }
  }
}
