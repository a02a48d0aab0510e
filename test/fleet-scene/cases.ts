/** The faults of the scene, one a case: what is done to the fleet, and what its callers may notice of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet, Machine } from './fleet.ts';

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
  strike(fleet: Fleet, callers: Waves): Promise<void>;
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

export const CASES: readonly Case[] = [
  {
    name: 'kill-machine',
    title: 'One machine is killed (`kill -9`)',
    isLoss: true,
    seconds: 12,
    limitMs: MACHINE_LOST_MS,
    async strike(fleet) {
      const { controlPlane, worker } = victimOf(fleet);
      await Promise.all([controlPlane.kill(), worker.kill()]);
      await sleep(MACHINE_LOST_MS);
    },
  },
  {
    name: 'cut-machine',
    title: 'One machine loses its network for 20 s',
    isLoss: true,
    seconds: 20,
    limitMs: MACHINE_LOST_MS,
    async strike(fleet) {
      const { host } = victimOf(fleet);
      host.unplug();
      await sleep(CUT_MS);
      host.plugIn();
    },
  },
  {
    name: 'cut-link',
    title: 'One worker cannot reach the control planes for 20 s',
    isLoss: false,
    seconds: 20,
    limitMs: 0,
    async strike(fleet) {
      const { host } = victimOf(fleet);
      host.cutFrom(fleet.balancerAddress);
      await sleep(CUT_MS);
      host.mend(fleet.balancerAddress);
    },
  },
  {
    name: 'stop-redis',
    title: 'Redis is away for 60 s',
    isLoss: false,
    seconds: 60,
    limitMs: 0,
    async strike({ redis }) {
      await redis.kill();
      await sleep(REDIS_AWAY_MS);
      await redis.start();
    },
  },
  {
    name: 'hang-store',
    title: 'The store hangs for 20 s',
    isLoss: false,
    seconds: 20,
    limitMs: 0,
    async strike({ store }) {
      store.signal('SIGSTOP');
      await sleep(STORE_HANGS_MS);
      store.signal('SIGCONT');
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
function victimOf({ machines }: Fleet): Machine {
  const calls = ({ worker }: Machine) => worker.output.split('"msg":"joined"').length - 1;
  console.log(`  calls of the machines: ${machines.map(calls).join(', ')}`);
  return machines.reduce((most, machine) => (calls(machine) > calls(most) ? machine : most));
}
