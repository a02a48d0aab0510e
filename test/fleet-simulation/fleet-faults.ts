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
  [3, machineLost],
  [1, siteLost],
  [2, pause],
  [3, cutLink],
  [2, redisGone],
  [2, workerIsolated],
  [4, machineIsolated],
  [4, infrastructureCut],
  [1, signallingCut],
  [2, endpointFails],
  [
    2,
    (random, machines) =>
      at('signalling killed', random, machines, (fleet, machine) => fleet.killSignalling(machine)),
  ],
  [5, uplinkCut],
  [2, storeHangs],
  [2, primarySteps],
  [3, answersLost],
  [1, slowMajority],
  [1, slowLink],
  [1, clockJumps],
  [2, rollingRestart],
];

/** The first calls are there by then. */
const FIRST_MS = 10_000;

/** Draws the faults of a run; they begin within the first `withinMs`. */
export function drawFaults(random: Random, machines: number, withinMs: number): Fault[] {
  const count = random.pick([0, 1, 1, 2, 2, 3, 4]);
  const draws = KINDS.flatMap(([weight, draw]) => Array.from({ length: weight }, () => draw));
  return Array.from({ length: count }, () => {
    const fault = random.pick(draws)(random, machines);
    return { ...fault, atMs: random.between(FIRST_MS, withinMs) };
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
    // One stays or comes back, or nobody could do anything.
    const isLast = fleet.machines.filter(({ isOn }) => isOn).length === 1;
    if (machine.isOn && !(isLast && forMs === null)) fleet.powerOff(machine, forMs);
  });
}

/** All machines lose their power, and get it back at the same time. */
function siteLost(random: Random): Omit<Fault, 'atMs'> {
  const forMs = random.between(5_000, 60_000);
  return {
    name: 'every machine without power',
    forMs,
    begin(fleet) {
      for (const machine of fleet.machines) if (machine.isOn) fleet.powerOff(machine, forMs);
    },
  };
}

function pause(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const index = Math.floor(random.next() * machines);
  const part = random.pick(['worker', 'worker', 'controlPlane', 'controlPlane', 'signalling'] as const);
  const paused: { resume(): void }[] = [];
  return {
    name: `${part} paused (${index})`,
    forMs: random.between(500, 30_000),
    begin(fleet) {
      const process = fleet.machines[index]?.[part]?.process;
      process?.pause();
      if (process) paused.push(process);
    },
    end: () => {
      for (const process of paused) process.resume();
    },
  };
}

/** Cuts these paths, one way or both. */
function cutting(
  name: string,
  paths: readonly (readonly [string, string])[],
  random: Random,
): Omit<Fault, 'atMs'> {
  const ways = random.pick(['out', 'in', 'both', 'both']);
  const all = (network: Network, what: 'cut' | 'mend') => {
    for (const [from, to] of paths) {
      if (ways !== 'in') network[what](from, to);
      if (ways !== 'out') network[what](to, from);
    }
  };
  return {
    name: `${name} (${ways})`,
    forMs: random.between(1_000, 60_000),
    begin: ({ network }) => all(network, 'cut'),
    end: ({ network }) => all(network, 'mend'),
  };
}

function cutLink(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const worker = `w${Math.floor(random.next() * machines)}`;
  const controlPlane = `cp${Math.floor(random.next() * machines)}`;
  return cutting(`link from ${worker} to ${controlPlane} cut`, [[worker, controlPlane]], random);
}

/** A control plane loses Redis, the database, or both, and keeps its workers. */
function uplinkCut(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const controlPlane = `cp${Math.floor(random.next() * machines)}`;
  const lost = random.pick([[REDIS_HOST], [STORE_HOST], [REDIS_HOST, STORE_HOST]]);
  const paths = lost.map((host) => [controlPlane, host] as const);
  return cutting(`${controlPlane} cut from ${lost.join(' and ')}`, paths, random);
}

function workerIsolated(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const worker = `w${Math.floor(random.next() * machines)}`;
  return cutting(`${worker} cut from every control plane`, pathsTo('cp', worker, machines), random);
}

function machineIsolated(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const worker = `w${Math.floor(random.next() * machines)}`;
  const paths = [...pathsTo('cp', worker, machines), ...pathsTo('s', worker, machines)];
  return cutting(`${worker} cut from every control plane and signalling`, paths, random);
}

function signallingCut(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const worker = `w${Math.floor(random.next() * machines)}`;
  const paths = random.chance(0.5) ? pathsTo('s', worker, machines) : pathsTo('s', worker, 1);
  return cutting(`${worker} cut from signalling`, paths, random);
}

/**
 * A machine loses its path to the hosts of signalling and Redis, and perhaps to the other machines, and keeps
 * that to the database.
 */
function infrastructureCut(random: Random, machines: number): Omit<Fault, 'atMs'> {
  const index = Math.floor(random.next() * machines);
  const others = pathsTo('cp', `w${index}`, machines).filter((_, other) => other !== index);
  const paths = [
    ...pathsTo('s', `w${index}`, machines),
    [`cp${index}`, REDIS_HOST] as const,
    ...(random.chance(0.5) ? others : []),
  ];
  return cutting(`machine ${index} cut from signalling and Redis`, paths, random);
}

/** The paths from a machine to the processes of this kind on the first machines. */
function pathsTo(kind: 'cp' | 's', from: string, machines: number): (readonly [string, string])[] {
  return Array.from({ length: machines }, (_, index) => [from, `${kind}${index}`] as const);
}

function endpointFails(random: Random): Omit<Fault, 'atMs'> {
  const mood = random.pick(['refusing', 'mute'] as const);
  return {
    name: `webhooks find a server that is ${mood}`,
    forMs: random.between(1_000, 30_000),
    begin({ endpoint }) {
      endpoint.mood = mood;
    },
    end({ endpoint }) {
      endpoint.mood = 'well';
    },
  };
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
  const share = random.between(0.1, 0.6);
  return {
    name: `${(share * 100).toFixed(0)} % of the store's answers lost`,
    forMs: random.between(5_000, 40_000),
    begin(fleet) {
      fleet.store.lostShare = share;
    },
    end(fleet) {
      fleet.store.lostShare = 0;
    },
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
