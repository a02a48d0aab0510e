/** What happens to a fleet besides calls: drawn from the seed, each fault begins and ends at given times. */
import type { Random } from '../simulation/random.ts';
import type { SimulatedClock } from '../simulation/simulated-clock.ts';
import type { Fleet, Machine } from './fleet.ts';
import type { Network } from './network.ts';
import { REDIS_HOST } from './shared-bus.ts';
import { STORE_HOST } from './store-server.ts';

/** One fault of a run. */
export interface Fault {
  readonly name: string;
  readonly atMs: number;
  /** How long it lasts, ms. */
  readonly forMs: number;
  begin(fleet: Fleet): void;
  end?(fleet: Fleet): void;
}

type Draw = (random: Random, machines: number) => Omit<Fault, 'atMs'>;

const KINDS: readonly (readonly [weight: number, draw: Draw])[] = [
  [
    3,
    (random, machines) =>
      at('worker killed', random, machines, (fleet, machine) => fleet.killWorker(machine)),
  ],
  [
    2,
    (random, machines) =>
      at('control plane killed', random, machines, (fleet, machine) => fleet.killControlPlane(machine)),
  ],
  [2, machineLost],
  [2, pause],
  [3, cutLink],
  [2, redisGone],
  [2, cutFromRedis],
  [1, cutFromStore],
  [2, storeHangs],
  [2, primarySteps],
  [1, answersLost],
  [1, slowMajority],
  [1, slowLink],
  [1, clockJumps],
  [2, rollingRestart],
];

/** Draws the faults of a run; they begin within the first `withinMs`. */
export function drawFaults(random: Random, machines: number, withinMs: number): Fault[] {
  const count = random.pick([0, 1, 1, 2, 2, 3, 4]);
  const draws = KINDS.flatMap(([weight, draw]) => Array.from({ length: weight }, () => draw));
  return Array.from({ length: count }, () => {
    const fault = random.pick(draws)(random, machines);
    return { ...fault, atMs: random.between(3_000, withinMs) };
  });
}

/** Lets the faults happen; `note` is told of each. */
export function scheduleFaults(
  clock: SimulatedClock,
  fleet: Fleet,
  faults: readonly Fault[],
  note: (what: string) => void,
): void {
  for (const fault of faults)
    clock.after(fault.atMs, () => {
      note(`fault: ${fault.name}, ${(fault.forMs / 1_000).toFixed(1)} s`);
      fault.begin(fleet);
      if (fault.forMs > 0 && fault.end)
        clock.after(fault.forMs, () => {
          note(`over: ${fault.name}`);
          fault.end?.(fleet);
        });
    });
}

function at(
  name: string,
  random: Random,
  machines: number,
  begin: (fleet: Fleet, machine: Machine) => void,
): Omit<Fault, 'atMs'> {
  const index = Math.floor(random.next() * machines);
  return {
    name: `${name} (${index})`,
    forMs: 0,
    begin: (fleet) => begin(fleet, fleet.machines[index] as Machine),
  };
}

function machineLost(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const forMs = random.chance(0.5) ? null : random.between(5_000, 60_000);
  return at('machine without power', random, machines, (fleet, machine) => {
    // One stays, or nobody could do anything.
    if (machine.isOn && fleet.machines.filter(({ isOn }) => isOn).length > 1) fleet.powerOff(machine, forMs);
  });
}

function pause(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const index = Math.floor(random.next() * machines);
  const isWorker = random.chance(0.5);
  const paused: { resume(): void }[] = [];
  return {
    name: `${isWorker ? 'worker' : 'control plane'} paused (${index})`,
    forMs: random.between(500, 30_000),
    begin(fleet) {
      const machine = fleet.machines[index] as Machine;
      const process = (isWorker ? machine.worker : machine.controlPlane)?.process;
      process?.pause();
      if (process) paused.push(process);
    },
    end: () => {
      for (const process of paused) process.resume();
    },
  };
}

/** Cuts paths, one way or both. */
function cutting(
  name: string,
  [from, to]: readonly [string, string],
  random: Random,
  longestMs: number,
): Omit<Fault, 'atMs'> {
  const ways = random.pick([
    [[from, to]],
    [[to, from]],
    [
      [from, to],
      [to, from],
    ],
    [
      [from, to],
      [to, from],
    ],
  ]);
  const all = (network: Network, what: 'cut' | 'mend') => {
    for (const [one, other] of ways as [string, string][]) network[what](one, other);
  };
  return {
    name: `${name} cut ${ways.length === 1 ? 'one way' : 'both ways'} (${(ways[0] as string[]).join('>')})`,
    forMs: random.between(1_000, longestMs),
    begin: ({ network }) => all(network, 'cut'),
    end: ({ network }) => all(network, 'mend'),
  };
}

function cutLink(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const worker = `w${Math.floor(random.next() * machines)}`;
  const controlPlane = `cp${Math.floor(random.next() * machines)}`;
  return cutting('link', [worker, controlPlane], random, 60_000);
}

function cutFromRedis(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const path = [`cp${Math.floor(random.next() * machines)}`, REDIS_HOST] as const;
  return cutting('path to Redis', path, random, 60_000);
}

function cutFromStore(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const path = [`cp${Math.floor(random.next() * machines)}`, STORE_HOST] as const;
  return cutting('path to the store', path, random, 30_000);
}

function redisGone(random: Random): Omit<Fault, 'atMs'> {
  return {
    name: 'Redis gone',
    forMs: random.between(1_000, 90_000),
    begin: ({ bus }) => bus.stop(),
    end: ({ bus }) => bus.start(),
  };
}

function storeHangs(random: Random): Omit<Fault, 'atMs'> {
  return {
    name: 'store hangs',
    forMs: random.between(500, 20_000),
    begin: ({ store }) => store.hang(),
    end: ({ store }) => store.recover(),
  };
}

function primarySteps(random: Random): Omit<Fault, 'atMs'> {
  return {
    name: 'primary steps down',
    forMs: random.between(500, 14_000),
    begin: ({ store }) => store.stepDown(),
    end: ({ store }) => store.elect(),
  };
}

function answersLost(random: Random): Omit<Fault, 'atMs'> {
  return {
    name: 'answers of the store lost',
    forMs: 5_000,
    begin(fleet) {
      for (let ms = 0; ms < 5_000; ms += 100)
        fleet.network.clock.after(ms, () => {
          if (random.chance(0.5)) fleet.store.loseAnswers();
        });
    },
    end: () => undefined,
  };
}

function slowMajority(random: Random): Omit<Fault, 'atMs'> {
  const lagMs = random.between(50, 900);
  return {
    name: `majority ${lagMs.toFixed(0)} ms late`,
    forMs: random.between(5_000, 40_000),
    begin(fleet) {
      fleet.store.majorityLagMs = lagMs;
    },
    end(fleet) {
      fleet.store.majorityLagMs = 0;
    },
  };
}

function slowLink(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const worker = `w${Math.floor(random.next() * machines)}`;
  const lateMs = random.between(50, 900);
  const set = (fleet: Fleet, ms: number) => {
    for (let index = 0; index < machines; index++) {
      fleet.network.delay(worker, `cp${index}`, ms);
      fleet.network.delay(`cp${index}`, worker, ms);
    }
  };
  return {
    name: `link of ${worker} ${lateMs.toFixed(0)} ms late`,
    forMs: random.between(5_000, 40_000),
    begin: (fleet) => set(fleet, lateMs),
    end: (fleet) => set(fleet, 0),
  };
}

function clockJumps(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const ms = random.between(-2_000, 2_000);
  return at('clock jumps', random, machines, (_fleet, { controlPlane, worker }) => {
    controlPlane?.process.jump(ms);
    worker?.process.jump(ms);
  });
}

function rollingRestart(random: Random): Omit<Fault, 'atMs'> {
  const what = random.pick(['restartControlPlane', 'restartWorker'] as const);
  const everyMs = random.between(4_000, 12_000);
  return {
    name: `rolling ${what}`,
    forMs: 0,
    begin(fleet) {
      for (const [order, machine] of fleet.machines.entries())
        fleet.network.clock.after(order * everyMs, () => void fleet[what](machine));
    },
  };
}
