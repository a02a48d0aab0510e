/** The faults of the scene, one a case: what is done to the fleet, and what its callers may notice of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Fleet, HTTP_PORT, type Machine } from './fleet.ts';
import { isThere, lastFor, type Probe, type Probed, storeAnswers } from './probes.ts';

/** One fault, or a series. */
export interface Case {
  readonly name: string;
  readonly title: string;
  /** Something is lost: a participant whose agent changes was disturbed. */
  readonly isLoss: boolean;
  /** Longest time the fault lasts, seconds. */
  readonly seconds: number;
  /** Limit of the time until the agent is heard again, ms at p95; 0: no call may be disturbed. */
  readonly limitMs: number;
  /** The fleet starts from the last release, with one signalling server. */
  readonly isUpgrade?: boolean;
  strike(fleet: Fleet, callers: Waves): Promise<Struck>;
}

/** What a fault hit. */
export interface Struck {
  /** Calls of the lost machine; 0 if none was lost. */
  readonly calls: number;
  /** What must have worked before the fault, and not during it. */
  readonly probed: readonly Probed[];
}

/** The callers of a case: those in their calls may hang up, and others may call. */
interface Waves {
  begin(): Promise<void>;
  end(): Promise<void>;
}

const MACHINE_LOST_MS = 12_000;
const CUT_MS = 20_000;
const REDIS_AWAY_MS = 60_000;
const STORE_HANGS_MS = 20_000;
const BETWEEN_RESTARTS_MS = 3_000;
/** A part that does not end or does not start again ends the case with an error. */
const ONLY_RESTARTS: Struck = { calls: 0, probed: [] };

export const CASES: readonly Case[] = [
  {
    name: 'kill-machine',
    title: 'One machine is killed (`kill -9`)',
    isLoss: true,
    seconds: 12,
    limitMs: MACHINE_LOST_MS,
    async strike(fleet) {
      const { machine, calls } = victimOf(fleet);
      const { controlPlane, worker } = machine;
      const probes = [
        controlPlaneOf(machine),
        { of: 'the control plane’s process', works: () => controlPlane.isRunning },
        { of: 'the worker’s process', works: () => worker.isRunning },
      ];
      const probed = await lastFor(MACHINE_LOST_MS, probes, async () => {
        await Promise.all([controlPlane.kill(), worker.kill()]);
      });
      return { calls, probed };
    },
  },
  {
    name: 'cut-machine',
    title: 'One machine loses its network for 20 s',
    isLoss: true,
    seconds: 20,
    limitMs: MACHINE_LOST_MS,
    async strike(fleet) {
      const { machine, calls } = victimOf(fleet);
      const probes = [controlPlaneOf(machine), linkOf(machine, fleet)];
      const probed = await lastFor(CUT_MS, probes, () => machine.host.unplug());
      machine.host.plugIn();
      return { calls, probed };
    },
  },
  {
    name: 'cut-link',
    title:
      'One machine loses the load balancer for 20 s: its worker and its control plane are cut off from it',
    isLoss: false,
    seconds: 20,
    limitMs: 0,
    async strike(fleet) {
      const { machine } = victimOf(fleet);
      const begin = () => machine.host.cutFrom(fleet.balancerAddress);
      const probed = await lastFor(CUT_MS, [linkOf(machine, fleet)], begin);
      machine.host.mend(fleet.balancerAddress);
      return { calls: 0, probed };
    },
  },
  {
    name: 'stop-redis',
    title: 'Redis is away for 60 s',
    isLoss: false,
    seconds: 60,
    limitMs: 0,
    async strike({ redis, redisPlace }) {
      const probes = [{ of: 'Redis', works: () => isThere(redisPlace) }];
      const probed = await lastFor(REDIS_AWAY_MS, probes, () => redis.kill());
      await redis.start();
      return { calls: 0, probed };
    },
  },
  {
    name: 'hang-store',
    title: 'The store hangs for 20 s',
    isLoss: false,
    seconds: 20,
    limitMs: 0,
    async strike({ store, storeUrl }) {
      const probes = [{ of: 'the store', works: () => storeAnswers(storeUrl) }];
      const probed = await lastFor(STORE_HANGS_MS, probes, () => store.signal('SIGSTOP'));
      store.signal('SIGCONT');
      return { calls: 0, probed };
    },
  },
  {
    name: 'restart-all',
    title: 'Every part is restarted in turn',
    isLoss: false,
    seconds: 180,
    limitMs: 0,
    async strike({ machines, signalling, store, redis }) {
      const parts = [
        ...machines.map(({ controlPlane }) => controlPlane),
        ...machines.map(({ worker }) => worker),
        ...signalling,
        redis,
        store,
      ];
      for (const part of parts) {
        await timed(`${part.name} is restarted`, async () => {
          await part.stop();
          await part.start();
        });
        await sleep(BETWEEN_RESTARTS_MS);
      }
      return ONLY_RESTARTS;
    },
  },
  {
    name: 'upgrade',
    title: 'Every part is upgraded from the last release',
    isUpgrade: true,
    isLoss: false,
    seconds: 120,
    limitMs: 0,
    async strike(fleet, callers) {
      const { machines, signalling } = fleet;
      fleet.upgrade();
      await timed('the control planes are upgraded', async () => {
        await Promise.all(machines.map(({ controlPlane }) => controlPlane.stop()));
        await Promise.all(machines.map(({ controlPlane }) => controlPlane.start()));
      });
      const successors = machines.map((_, index) => fleet.addWorker(index));
      await timed('new workers are started', () => Promise.all(successors.map((part) => part.start())));
      // A worker of the last release keeps its calls until they end.
      const drained = Promise.all(machines.map(({ worker }) => worker.stop()));
      await callers.end();
      await timed('the old workers have ended', () => drained);
      await callers.begin();
      // The second first: it takes the calls of the first.
      for (const part of signalling.toReversed())
        await timed(`${part.name} is upgraded`, async () => {
          await part.stop();
          await part.start();
          await sleep(BETWEEN_RESTARTS_MS);
        });
      return ONLY_RESTARTS;
    },
  },
];

async function timed(what: string, step: () => Promise<unknown>): Promise<void> {
  const startedMs = performance.now();
  await step();
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(`  ${what}: ${seconds.toFixed(1)} s, at ${new Date().toISOString().slice(14, 21)}`);
}

/** The machine that suffers: the one with the most calls. */
function victimOf({ machines }: Fleet): { readonly machine: Machine; readonly calls: number } {
  const calls = ({ worker }: Machine) => worker.output.split('"msg":"joined"').length - 1;
  console.log(`  calls of the machines: ${machines.map(calls).join(', ')}`);
  const machine = machines.reduce((most, each) => (calls(each) > calls(most) ? each : most));
  return { machine, calls: calls(machine) };
}

function controlPlaneOf({ host }: Machine): Probe {
  return { of: 'the control plane', works: () => isThere({ host: host.address, port: HTTP_PORT }) };
}

function linkOf({ host }: Machine, { balancerAddress }: Fleet): Probe {
  return {
    of: 'the link to the load balancer',
    works: () => host.reaches(balancerAddress, HTTP_PORT),
  };
}
