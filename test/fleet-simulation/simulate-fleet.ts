/** One simulated fleet: layout, calls and faults drawn from the seed, run until every call is over. */
import process from 'node:process';
import { createRandom, type Random } from '../simulation/random.ts';
import { SimulatedClock } from '../simulation/simulated-clock.ts';
import { ACCOUNT, Caller, type CallerPlan } from './caller.ts';
import { Fleet } from './fleet.ts';
import { drawFaults, scheduleFaults } from './fleet-faults.ts';
import { finalViolations } from './fleet-invariants.ts';
import { FleetWatch } from './fleet-watch.ts';
import { isOver } from './is-over.ts';
import { seedWallets } from './seed-wallets.ts';
import type { WorkerProcess } from './worker-process.ts';

/** Calls begin within this time. */
const BUSY_MS = 60_000;
/** Faults begin within this time. */
const FAULTS_MS = 70_000;
/** Everything is over by then: a fault takes 90 s at most, a call 90 s, a lost machine 190 s. */
const LONGEST_MS = 900_000;
/** Slots and leases are free this long after the last call. */
const RELEASE_MS = 24_000;
const STARTING_CREDIT = 100_000_000;
const LARGEST_SKEW_MS = 2_400;
const TIMERS_A_ROUND = 64;

/** Commands that a control plane needs, at most: in a second without calls, for a call, for a report. */
const IDLE_COMMANDS = 4.5;
const CALL_COMMANDS = 100;
const REPORT_COMMANDS = 1;

/** What runs contained. */
export interface FleetFigures {
  readonly calls: number;
  readonly faults: number;
  /** Callers who were connected to an agent. */
  readonly connected: number;
  /** Calls of processes and machines that died. */
  readonly lost: number;
  readonly takenOver: number;
  readonly doubted: number;
  /** Commands that the store received. */
  readonly commands: number;
  /** Virtual time they took, ms. */
  readonly lastedMs: number;
}

/** The figures of no run. */
export const NO_FIGURES: FleetFigures = {
  calls: 0,
  faults: 0,
  connected: 0,
  lost: 0,
  takenOver: 0,
  doubted: 0,
  commands: 0,
  lastedMs: 0,
};

/** The figures of two together. */
export function sumOf(one: FleetFigures, other: FleetFigures): FleetFigures {
  const names = Object.keys(one) as (keyof FleetFigures)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as never;
}

/** A finished run. */
export interface FleetRun {
  readonly violations: readonly string[];
  /** Its timeline. */
  readonly notes: readonly string[];
  readonly figures: FleetFigures;
}

/** Runs the fleet of this seed. */
export async function simulateFleet(seed: number): Promise<FleetRun> {
  const random = createRandom(seed);
  const clock = new SimulatedClock(TIMERS_A_ROUND);
  const machines = random.pick([1, 2, 2, 3, 3]);
  const plan = {
    machines,
    isSupervised: random.chance(0.5),
    skewsMs: Array.from({ length: machines }, () => random.between(-LARGEST_SKEW_MS, LARGEST_SKEW_MS) / 2),
  };
  const faults = drawFaults(random.fork(), machines, FAULTS_MS);
  const watch = new FleetWatch();
  const callers: Caller[] = [];
  const byId = new Map<string, Caller>();
  const scriptOf = (sessionId: string) => (byId.get(sessionId) as Caller).plan.script;
  const fleet: Fleet = new Fleet({
    clock,
    random: random.fork(),
    plan,
    observer: watch,
    callers: {
      script: scriptOf,
      connect: (sessionId, worker, offer) => byId.get(sessionId)?.connect(worker, offer) ?? false,
      hangUp: (sessionId, worker) => hangUp(byId.get(sessionId), worker),
    },
  });
  for (const callerPlan of drawCallers(random.fork(), machines)) {
    const caller = new Caller(callerPlan, {
      clock,
      random: random.fork(),
      controlPlane: () => fleet.controlPlane(),
      signalling: () => fleet.signalling(),
      workerOf: (instanceId) => fleet.workerOf(instanceId),
    });
    callers.push(caller);
    byId.set(callerPlan.sessionId, caller);
  }
  watch.watch(fleet, callers);
  watch.note(`${machines} machines, ${plan.isSupervised ? 'supervised' : 'on their own'}`);
  seedWallets(fleet.store, new Map([[ACCOUNT, STARTING_CREDIT]]), new Date(clock.wallTime()));
  fleet.start();
  for (const caller of callers) clock.after(caller.plan.atMs, () => caller.call());
  scheduleFaults(clock, fleet, faults, (what) => watch.note(what));
  // Either would end the process it happens in.
  const onError = (error: unknown) => watch.violated(`an error that nobody handles: ${String(error)}`);
  process.on('unhandledRejection', onError);
  const startedMs = clock.now();
  const busyUntilMs = Math.max(BUSY_MS, ...faults.map(({ atMs, forMs }) => atMs + forMs)) + 5_000;
  const hasFailed = () => watch.violations.length > 0;
  await clock
    .run(() => hasFailed() || (clock.now() > busyUntilMs && isOver(fleet.store, callers)), LONGEST_MS)
    .catch(onError);
  if (!hasFailed()) await clock.run(hasFailed, clock.now() + RELEASE_MS).catch(onError);
  process.off('unhandledRejection', onError);
  if (!hasFailed()) finish(fleet, watch, callers);
  if (faults.length === 0) checkBudget(fleet, watch, callers.length, clock.now() - startedMs);
  fleet.bus.close();
  return {
    violations: watch.violations,
    notes: watch.notes,
    figures: {
      calls: callers.length,
      faults: faults.length,
      connected: callers.filter(({ connectedMs }) => connectedMs !== null).length,
      ...watch.seen,
      commands: fleet.store.commands,
      lastedMs: clock.now() - startedMs,
    },
  };

  function hangUp(caller: Caller | undefined, worker: WorkerProcess): void {
    if (caller?.state !== 'connected') return;
    const { holder } = caller;
    const { sessionId } = caller.plan;
    // One that was cut off, or is dead, need not know that its call was taken; nobody hears it any more.
    const isAnothers =
      holder !== null &&
      holder !== worker &&
      (holder.speaks(sessionId) || holder.epochOf(sessionId) > worker.epochOf(sessionId));
    // Signalling refuses its hang-up.
    if (isAnothers && worker.isSilent) return;
    if (isAnothers) watch.violated(`${worker.instanceId} hung up on a caller of ${holder.instanceId}`);
    caller.hungUp();
  }
}

function drawCallers(random: Random, machines: number): CallerPlan[] {
  return Array.from({ length: 1 + Math.floor(random.next() * 3 * machines) }, (_, index) => ({
    sessionId: `session-${index}`,
    // The fleet has started by then.
    atMs: random.between(8_000, BUSY_MS),
    staysMs: random.chance(0.04) ? random.between(180_000, 300_000) : random.between(5_000, 90_000),
    script: {
      channel: random.chance(0.6) ? 'phone' : 'web',
      isQuiet: random.chance(0.4),
      agentEndsAfterMs: random.chance(0.2) ? random.between(5_000, 60_000) : null,
    },
  }));
}

function finish(fleet: Fleet, watch: FleetWatch, callers: readonly Caller[]): void {
  const read = (find: string) =>
    fleet.store.peek({ find, filter: {}, batchSize: 10_000, singleBatch: true })['documents'] as never;
  const { reports } = watch;
  const { endpoint } = fleet;
  for (const violation of finalViolations(read, callers, { reports, endpoint })) watch.violated(violation);
  for (const worker of fleet.workers())
    if (worker.slots > 0) watch.violated(`${worker.instanceId} still holds ${worker.sessionIds().join()}`);
}

function checkBudget(fleet: Fleet, watch: FleetWatch, calls: number, lastedMs: number): void {
  const reports = [...watch.reports.sent.values()].reduce((sum, { length }) => sum + length, 0);
  const most =
    (lastedMs / 1_000) * IDLE_COMMANDS * fleet.machines.length +
    calls * CALL_COMMANDS +
    reports * REPORT_COMMANDS;
  if (fleet.store.commands > most)
    watch.violated(`${fleet.store.commands} commands of the store, at most ${most.toFixed(0)} are needed`);
}
