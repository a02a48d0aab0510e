/** One cell: a fleet with its calls, the wallets of its accounts, and its messages to other cells. */
import process from 'node:process';
import { memoised } from '#base/memoised.ts';
import type { Ledger } from '#control-plane/platform/ledger.ts';
import type { LedgerDocument } from '#control-plane/platform/store/models/ledger-model.ts';
import type { ControlMessage, DurableReport } from '#protocol/worker-link.ts';
import type { Job } from '#runtime/worker/job-table.ts';
import { createRandom, type Random } from '../../simulation/random.ts';
import { SimulatedClock } from '../../simulation/simulated-clock.ts';
import { Caller } from '../caller.ts';
import { Fleet, type FleetObserver } from '../fleet.ts';
import { finalViolations } from '../fleet-invariants.ts';
import { isOver } from '../is-over.ts';
import { ReportLog } from '../report-log.ts';
import { seedWallets } from '../seed-wallets.ts';
import type { Fields } from '../store-engine.ts';
import type { WorkerProcess } from '../worker-process.ts';
import { Allotments, type TierMessage } from './allotments.ts';
import {
  accountsOf,
  callsOf,
  creditOf,
  homeOf,
  type Line,
  linesOf,
  type PlacedCall,
  type TierPlan,
} from './tier.ts';

/** Calls of a worker, and of a control plane, as docs/scale.md divides them. */
const PER_WORKER = 200;
const PER_CONTROL_PLANE = 600;
/** Slots for the calls of a lost cell, and for those that come unevenly. */
const SPARE = 1.15;
/** Reports of one call in so many are compared with what is stored: all of them take too much memory. */
const COMPARED = 10;
/** As in the benchmark of a control plane: a turn each ten seconds. */
const TURN_AFTER_MS = 9_000;
const TIMERS_A_ROUND = 64;
const LOOK_MS = 5_000;
/** An allotment, in micro-dollars. */
const ALLOTMENT = 4_000_000;

/** Counts of a cell. */
export interface CellFigures {
  readonly workers: number;
  readonly controlPlanes: number;
  /** Calls that arrived, and those of them to numbers whose first cell was lost. */
  readonly calls: number;
  readonly ofLost: number;
  readonly connected: number;
  /** Commands to the store: all, and the most in a second. */
  readonly commands: number;
  readonly commandsASecond: number;
  /** Entries in ledgers: those of calls, and those of allotments. */
  readonly entries: number;
  readonly tierEntries: number;
  readonly webhooks: number;
  /** Calls at the same time, each second. */
  readonly series: readonly number[];
}

/** A finished cell. Amounts by account, in micro-dollars. */
export interface CellResult {
  readonly figures: CellFigures;
  readonly violations: readonly string[];
  readonly balances: ReadonlyMap<string, number>;
  readonly paid: ReadonlyMap<string, number>;
}

/** A running cell. */
export class Cell {
  readonly #index: number;
  readonly #plan: TierPlan;
  readonly #clock = new SimulatedClock(TIMERS_A_ROUND);
  readonly #fleet: Fleet;
  readonly #callers = new Map<string, Caller>();
  readonly #allotments: Allotments;
  readonly #calls: readonly PlacedCall[];
  readonly #size: { readonly workers: number; readonly controlPlanes: number };
  readonly #observed = new ObservedReports();
  readonly #violations: string[] = [];
  #outbox: TierMessage[] = [];
  #isOver = false;
  readonly #series: number[] = [];
  #peak = { commands: 0, before: 0 };

  constructor(index: number, plan: TierPlan) {
    this.#index = index;
    this.#plan = plan;
    const random = createRandom(plan.seed);
    const lines = linesOf(plan);
    this.#calls = callsOf(plan, lines, random.fork()).filter(({ cell }) => cell === index);
    const own = createRandom(plan.seed + 1 + index);
    const workers = Math.max(2, Math.ceil((plan.callsPerCell * SPARE) / PER_WORKER));
    this.#size = { workers, controlPlanes: Math.ceil(workers / (PER_CONTROL_PLANE / PER_WORKER)) };
    this.#fleet = this.#build(own.fork());
    for (const call of this.#calls) this.#addCaller(call, own);
    this.#allotments = this.#openAllotments(lines);
    this.#seedWallets();
  }

  /** Starts the fleet, and plans calls and loss. */
  start(): void {
    process.on('unhandledRejection', this.#onError);
    this.#fleet.start();
    for (const caller of this.#callers.values())
      this.#clock.after(caller.plan.atMs - this.#clock.now(), () => caller.call());
    this.#clock.every(LOOK_MS, () => this.#allotments.look());
    this.#clock.every(1_000, () => this.#measure());
    const { loss } = this.#plan;
    if (loss?.cell !== this.#index) return;
    this.#clock.after(loss.fromMs - this.#clock.now(), () => this.#lose(loss.untilMs - loss.fromMs));
  }

  /** Lets time pass to `untilMs`, after the messages of others have arrived; returns its own. */
  async advance(untilMs: number, inbox: readonly TierMessage[]): Promise<TierMessage[]> {
    for (const message of inbox) this.#allotments.take(message);
    await this.#clock.run(() => false, untilMs).catch(this.#onError);
    const outbox = this.#outbox;
    this.#outbox = [];
    return outbox;
  }

  /** Every call is over and settled. */
  isOver(): boolean {
    // Looked for until it is so: it reads every session.
    this.#isOver ||= isOver(this.#fleet.store, [...this.#callers.values()]);
    return this.#isOver;
  }

  giveBack(): void {
    this.#allotments.giveBack();
  }

  /** Once giving back: every allotment is home. */
  get hasGivenBack(): boolean {
    return this.#allotments.isQuiet;
  }

  /** Checks what is stored, and sums it up. */
  finish(): CellResult {
    process.off('unhandledRejection', this.#onError);
    const { reports } = this.#observed;
    const { endpoint, store } = this.#fleet;
    const read = memoised((collection: string) => this.#readAll(collection));
    this.#violations.push(...finalViolations(read, [], { reports, endpoint }));
    const ledger = read('wallet_ledger') as unknown as LedgerDocument[];
    const ofCalls = ledger.filter(({ key }) => key.startsWith('s:'));
    const callers = [...this.#callers.values()];
    const figures = {
      ...this.#size,
      calls: this.#calls.length,
      ofLost: this.#calls.filter(({ line, cell }) => line.first !== cell).length,
      connected: callers.filter(({ connectedMs }) => connectedMs !== null).length,
      commands: store.commands,
      commandsASecond: this.#peak.commands,
      entries: ofCalls.length,
      tierEntries: ledger.filter(({ kind }) => kind === 'adjust' || kind === 'void').length,
      webhooks: read('webhook_deliveries').filter(({ state }) => state === 'delivered').length,
      series: this.#series,
    };
    const balances = new Map<string, number>();
    for (const { user_id: account, balance } of ledger.toSorted((a, b) => a.seq - b.seq))
      balances.set(account, balance);
    const paid = new Map<string, number>();
    for (const { user_id: account, amount } of ofCalls) paid.set(account, (paid.get(account) ?? 0) - amount);
    this.#fleet.bus.close();
    return { figures, violations: this.#violations, balances, paid };
  }

  readonly #onError = (error: unknown): void => {
    this.#violations.push(`an error that nobody handles: ${String(error)}`);
  };

  #build(random: Random): Fleet {
    const { workers, controlPlanes } = this.#size;
    const callerOf = (sessionId: string) => this.#callers.get(sessionId) as Caller;
    return new Fleet({
      clock: this.#clock,
      random,
      plan: {
        machines: workers,
        controlPlanes,
        isSupervised: true,
        skewsMs: [],
        capacity: PER_WORKER,
        isIndexed: true,
      },
      observer: this.#observed,
      callers: {
        script: (sessionId) => callerOf(sessionId).plan.script,
        connect: (sessionId, worker, offer) => callerOf(sessionId).connect(worker, offer),
        hangUp: (sessionId) => callerOf(sessionId).hungUp(),
      },
    });
  }

  #addCaller({ sessionId, line, atMs }: PlacedCall, random: Random): void {
    const fleet = this.#fleet;
    const plan = {
      sessionId,
      account: line.account,
      atMs,
      staysMs: this.#plan.callMs,
      script: { channel: 'phone', isQuiet: false, agentEndsAfterMs: null, turnAfterMs: TURN_AFTER_MS },
    } as const;
    const reach = {
      clock: this.#clock,
      random: random.fork(),
      controlPlane: () => fleet.controlPlane(),
      signalling: () => fleet.signalling(),
      workerOf: (instanceId: string) => fleet.workerOf(instanceId),
    };
    this.#callers.set(sessionId, new Caller(plan, reach));
  }

  #openAllotments(lines: readonly Line[]): Allotments {
    const index = this.#index;
    const accounts = new Map<string, number>();
    for (const { account, first, second } of lines) {
      const home = homeOf(account, this.#plan);
      if (home !== index && (first === index || second === index)) accounts.set(account, home);
    }
    const host = {
      now: () => this.#clock.now(),
      ledger: <T>(use: (ledger: Ledger) => Promise<T>) => this.#useLedger(use),
      send: (message: TierMessage) => void this.#outbox.push(message),
    };
    return new Allotments(index, host, { amountMicros: ALLOTMENT, accounts });
  }

  #useLedger<T>(use: (ledger: Ledger) => Promise<T>): Promise<T> {
    const controlPlane = this.#fleet.controlPlane();
    if (!controlPlane) return Promise.reject(new Error('the cell is lost'));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // One that dies meanwhile answers nothing.
    const timeout = this.#clock.after(LOOK_MS, () => reject(new Error('timed out')));
    controlPlane.process.enter(() => {
      use(controlPlane.context.ledger).then(resolve, reject);
    });
    return promise.finally(() => timeout.cancel());
  }

  #seedWallets(): void {
    const own = accountsOf(this.#plan).filter((account) => homeOf(account, this.#plan) === this.#index);
    const credits = new Map(own.map((account) => [account, creditOf(account, this.#plan)]));
    seedWallets(this.#fleet.store, credits, new Date(this.#clock.wallTime()));
  }

  /** Every machine loses its power, and the database cannot be reached. */
  #lose(forMs: number): void {
    this.#fleet.store.hang();
    for (const machine of this.#fleet.machines) this.#fleet.powerOff(machine, forMs);
    this.#clock.after(forMs, () => this.#fleet.store.recover());
  }

  #measure(): void {
    const { commands } = this.#fleet.store;
    this.#series.push(this.#fleet.workers().reduce((sum, { slots }) => sum + slots, 0));
    this.#peak = {
      commands: Math.max(this.#peak.commands, commands - this.#peak.before),
      before: commands,
    };
  }

  /** In pieces: a reply of the engine has a limit. */
  #readAll(collection: string): Fields[] {
    const all: Fields[] = [];
    for (;;) {
      const after = all.at(-1)?.['_id'];
      const filter = after === undefined ? {} : { _id: { $gt: after } };
      const command = { find: collection, filter, sort: { _id: 1 }, limit: 200, singleBatch: true };
      const found = this.#fleet.store.peek({ ...command, batchSize: 200 })['documents'] as Fields[];
      if (found.length === 0) return all;
      all.push(...found);
    }
  }
}

/** Remembers the reports of some calls. */
class ObservedReports implements FleetObserver {
  readonly reports = new ReportLog();

  note(): void {}

  died(): void {}

  reported(_worker: WorkerProcess, job: Job, report: DurableReport): void {
    if (isCompared(job.sessionId)) this.reports.add(job, report);
  }

  acknowledged(message: Extract<ControlMessage, { type: 'ack' }>): void {
    if (isCompared(message.session_id)) this.reports.acknowledge(message);
  }
}

function isCompared(sessionId: string): boolean {
  return Number(sessionId.slice(sessionId.lastIndexOf('-') + 1)) % COMPARED === 0;
}
