/**
 * The fleet: machines with a control plane and a worker each, two of them with a signalling server, their
 * supervisors, and what connects them. It can be hurt in every way that faults need.
 */

import mongoose from 'mongoose';
import type { WebSocket } from 'ws';
import { createLogger, type Logger } from '#base/log.ts';
import { defineModels, type Models } from '#control-plane/platform/store/models.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';
import type { Random } from '../simulation/random.ts';
import type { SimulatedClock } from '../simulation/simulated-clock.ts';
import { type ControlPlaneProcess, startControlPlane } from './control-plane-process.ts';
import { Disk } from './disks.ts';
import { openIndexedEngine } from './indexed-engine.ts';
import { Network } from './network.ts';
import { SharedBus } from './shared-bus.ts';
import { type AppSocket, SignallingProcess } from './signalling-process.ts';
import { openEngine } from './store-engine.ts';
import { StoreServer } from './store-server.ts';
import { VirtualProcess } from './virtual-process.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';
import { type Callers, type WorkerObserver, WorkerProcess } from './worker-process.ts';

/** Sets of models, reused from run to run: compiling one takes as long as a small run. */
const modelSets: Models[] = [];

function modelSet(index: number): Models {
  modelSets[index] ??= defineModels(mongoose.createConnection());
  return modelSets[index];
}

/** How a fleet is laid out. */
export interface FleetPlan {
  readonly machines: number;
  /** Worker and control plane of a machine have one supervisor, which tells the latter of a death. */
  readonly isSupervised: boolean;
  /** Difference of each machine's clock, ms. */
  readonly skewsMs: readonly number[];
  /** Calls of a worker; absent: few, so that workers become full. */
  readonly capacity?: number;
  /** Machines with a control plane: the first ones; absent: all. */
  readonly controlPlanes?: number;
  /** The database has the product's indexes; absent: it searches lists, which is faster for few calls. */
  readonly isIndexed?: boolean;
}

/** A machine. */
export interface Machine {
  readonly index: number;
  readonly disk: Disk;
  isOn: boolean;
  controlPlane: ControlPlaneProcess | null;
  worker: WorkerProcess | null;
  /** Null too on a machine that has none. */
  signalling: SignallingProcess | null;
}

/** What is told to those who watch. */
export interface FleetObserver extends WorkerObserver {
  note(what: string): void;
  /**
   * A worker's process has ended. What notices it: its supervisor or its successor on that disk, or only
   * these signalling servers. A supervisor tells the control plane beside it.
   */
  died(
    worker: WorkerProcess,
    noticedBy: 'others' | readonly SignallingProcess[],
    told?: VirtualProcess,
  ): void;
}

/** What a fleet is made of. */
export interface FleetParts {
  readonly clock: SimulatedClock;
  readonly random: Random;
  readonly plan: FleetPlan;
  readonly callers: Callers;
  readonly observer: FleetObserver;
}

const SILENT = createLogger({ level: 'silent', name: 'fleet' });
/** A supervisor kills what does not stop. */
const STOP_MS = 30_000;
const MOST_SIGNALLING = 2;
/** Calls of a worker. */
const CAPACITY = 3;
/** A signalling server gives a report up after this time. */
const REPORT_MS = 2_000;

/** A running fleet. */
export class Fleet {
  readonly network: Network;
  readonly bus: SharedBus;
  readonly store: StoreServer;
  readonly endpoint: WebhookEndpoint;
  readonly machines: readonly Machine[];
  readonly #parts: FleetParts;
  readonly #workers = new Map<string, WorkerProcess>();
  /** The control plane that each worker is connected to. */
  readonly #linkedTo = new Map<WorkerProcess, VirtualProcess>();
  #processes = 0;
  #controlPlanes = 0;

  constructor(parts: FleetParts) {
    this.#parts = parts;
    const { clock, random, plan } = parts;
    this.network = new Network(clock, random.fork());
    this.bus = new SharedBus(this.network);
    this.endpoint = new WebhookEndpoint(this.network);
    const open = plan.isIndexed ? openIndexedEngine : openEngine;
    this.store = new StoreServer(open(Object.values(modelSet(0))), this.network, random.fork());
    this.machines = Array.from({ length: plan.machines }, (_, index) => ({
      index,
      disk: new Disk(),
      isOn: true,
      controlPlane: null,
      worker: null,
      signalling: null,
    }));
  }

  /** Starts every part. */
  start(): void {
    for (const machine of this.machines) {
      this.#startAll(machine);
    }
  }

  workerOf(instanceId: string): WorkerProcess | null {
    return this.#workers.get(instanceId) ?? null;
  }

  workers(): readonly WorkerProcess[] {
    return [...this.#workers.values()].filter(({ process }) => process.isAlive);
  }

  /** The control plane that a worker is connected to; null when it is not registered anywhere. */
  controlPlaneOf(worker: WorkerProcess): VirtualProcess | null {
    return worker.isConnected ? (this.#linkedTo.get(worker) ?? null) : null;
  }

  /** The control plane that a load balancer chooses for a request from outside. */
  controlPlane(): ControlPlaneProcess | null {
    const running = this.machines.flatMap(({ controlPlane }) =>
      controlPlane && this.network.isListening(controlPlane.process) ? [controlPlane] : [],
    );
    return running.length === 0 ? null : this.#parts.random.pick(running);
  }

  /** The signalling server that a carrier chooses. */
  signalling(): SignallingProcess | null {
    const running = this.#signalling();
    return running.length === 0 ? null : this.#parts.random.pick(running);
  }

  killWorker(machine: Machine): void {
    const { worker } = machine;
    if (!worker?.process.isAlive) return;
    worker.process.kill();
    this.network.closeAllOf(worker.process);
    machine.worker = null;
    const { isSupervised } = this.#parts.plan;
    const { clock, random } = this.#parts;
    const { controlPlane } = machine;
    this.#parts.observer.died(worker, 'others', isSupervised ? controlPlane?.process : undefined);
    if (isSupervised)
      clock.after(20, () =>
        controlPlane?.process.enter(
          () =>
            void controlPlane.hub.workerDied(worker.instanceId, { isReplaced: true }).catch(() => undefined),
        ),
      );
    clock.after(random.between(500, 5_000), () => this.#startWorker(machine));
  }

  killControlPlane(machine: Machine): void {
    const { controlPlane } = machine;
    if (!controlPlane?.process.isAlive) return;
    this.#end(controlPlane.process);
    machine.controlPlane = null;
    const { clock, random } = this.#parts;
    clock.after(random.between(1_000, 4_000), () => this.#startControlPlane(machine));
  }

  killSignalling(machine: Machine): void {
    if (!machine.signalling) return;
    this.#end(machine.signalling.process);
    machine.signalling = null;
    const { clock, random } = this.#parts;
    clock.after(random.between(500, 4_000), () => this.#startSignalling(machine));
  }

  /** The machine loses its power, until it gets it back after `forMs`. */
  powerOff(machine: Machine, forMs: number | null): void {
    machine.isOn = false;
    const { worker, controlPlane, signalling } = machine;
    const watching = this.#signalling().filter(
      (server) => server !== signalling && worker?.isLeased && server.watches(worker.instanceId),
    );
    for (const part of [worker, controlPlane, signalling]) {
      part?.process.kill();
      if (part) this.network.vanish(part.process);
    }
    if (worker) this.#parts.observer.died(worker, watching);
    machine.worker = null;
    machine.controlPlane = null;
    machine.signalling = null;
    if (forMs === null) return;
    this.#parts.clock.after(forMs, () => {
      machine.isOn = true;
      this.#startAll(machine);
    });
  }

  /** Stops the control plane as a deploy does, and starts the next. */
  async restartControlPlane(machine: Machine): Promise<void> {
    const { controlPlane } = machine;
    if (!controlPlane?.process.isAlive) return;
    machine.controlPlane = null;
    const { clock } = this.#parts;
    controlPlane.process.enter(() => {
      void Promise.race([controlPlane.stop(), clock.sleep(STOP_MS)])
        .catch(() => undefined)
        .then(() => {
          this.#end(controlPlane.process);
          clock.after(1_000, () => this.#startControlPlane(machine));
        });
    });
  }

  /** Drains the worker as a deploy does, and starts the next. */
  async restartWorker(machine: Machine): Promise<void> {
    const { worker } = machine;
    if (!worker?.process.isAlive) return;
    const { clock } = this.#parts;
    worker.process.enter(() => {
      void Promise.race([worker.drain(), clock.sleep(STOP_MS)]).then(() => {
        if (!worker.process.isAlive) return;
        this.#end(worker.process);
        if (machine.worker === worker) machine.worker = null;
        this.#parts.observer.died(worker, 'others');
        clock.after(1_000, () => this.#startWorker(machine));
      });
    });
  }

  #end(process: VirtualProcess): void {
    process.kill();
    this.network.closeAllOf(process);
  }

  #signalling(): SignallingProcess[] {
    return this.machines.flatMap(({ signalling }) => (signalling?.process.isRunning ? [signalling] : []));
  }

  #startAll(machine: Machine): void {
    this.#startControlPlane(machine);
    this.#startSignalling(machine);
    this.#startWorker(machine);
  }

  #startSignalling(machine: Machine): void {
    if (!machine.isOn || machine.signalling || machine.index >= MOST_SIGNALLING) return;
    const process = this.#newProcess(machine, 's');
    const { network } = this;
    const report = (about: SignallingReport) => this.#report(process, about);
    machine.signalling = new SignallingProcess({ process, network, logger: SILENT, report });
  }

  /** A signalling server reports to any control plane. */
  async #report(from: VirtualProcess, report: SignallingReport): Promise<void> {
    const to = this.controlPlane();
    if (!to) throw new Error('no control plane takes the report');
    const { clock } = this.#parts;
    const text = JSON.stringify(report);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timeout = from.after(REPORT_MS, () => reject(new Error('the report has timed out')));
    clock.after(this.network.delayMs(from.host, to.process.host), () =>
      to.process.enter(() => {
        to.context.signallingReports.take(JSON.parse(text) as SignallingReport);
        clock.after(this.network.delayMs(to.process.host, from.host), () => from.enter(resolve));
      }),
    );
    await promise.finally(() => timeout.cancel());
  }

  #startControlPlane(machine: Machine): void {
    const { clock, random, plan } = this.#parts;
    if (!machine.isOn || machine.controlPlane || machine.index >= (plan.controlPlanes ?? plan.machines))
      return;
    const process = this.#newProcess(machine, 'cp');
    const models = modelSet(++this.#controlPlanes);
    const { network, bus, store, endpoint } = this;
    startControlPlane({ process, network, bus, store, endpoint, models, logger: SILENT as Logger }).then(
      (controlPlane) => {
        if (process.isAlive && machine.isOn) machine.controlPlane = controlPlane;
      },
      () => {
        // It says why and ends; its supervisor tries again.
        this.#end(process);
        clock.after(random.between(1_000, 2_000), () => this.#startControlPlane(machine));
      },
    );
  }

  #startWorker(machine: Machine): void {
    if (!machine.isOn || machine.worker) return;
    const { random, callers, observer, plan } = this.#parts;
    const process = this.#newProcess(machine, 'w');
    const adopted = machine.disk.adopt(process);
    const worker: WorkerProcess = new WorkerProcess({
      instanceId: process.name,
      process,
      random: random.fork(),
      logger: SILENT,
      spool: machine.disk.open(process.name, process),
      adopted,
      callers,
      observer,
      openSocket: (self) => this.#openLink(self),
      isSupervised: plan.isSupervised,
      capacity: plan.capacity ?? CAPACITY,
      servers: this.machines.slice(0, MOST_SIGNALLING).map(({ index }) => `s${index}`),
      openSignalling: (server) => {
        const to = this.#signalling().find(({ name }) => name === server)?.process ?? null;
        return this.network.connect(process, to) as unknown as AppSocket;
      },
    });
    machine.worker = worker;
    this.#workers.set(process.name, worker);
  }

  #openLink(worker: WorkerProcess): WebSocket {
    const target = this.controlPlane()?.process ?? null;
    if (target) this.#linkedTo.set(worker, target);
    return this.network.connect(worker.process, target);
  }

  #newProcess({ index }: Machine, kind: 'cp' | 's' | 'w'): VirtualProcess {
    const { clock, plan } = this.#parts;
    const facts = { name: `${kind}${index}-${++this.#processes}`, host: `${kind}${index}` };
    return new VirtualProcess(clock, { ...facts, skewMs: plan.skewsMs[index] ?? 0 });
  }
}
