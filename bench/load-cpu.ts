/**
 * Measures the CPU that each part uses during a load of calls: the product, the callers, the vendors'
 * stand-ins, the capture and the probes. All of them run on one machine.
 */
import { basename } from 'node:path';
import { cpuSeconds, type Process, processTree, threadUses } from '#test/journeys/process-tree.ts';

/** Average number of cores used by each part. */
export type CoresTaken = Readonly<Record<'product' | 'callers' | 'stand-ins' | 'capture' | 'probes', number>>;

/** Starts watching; call the returned function to stop. All processes must run for the whole time. */
export function watchCores(product: readonly Process[]): () => CoresTaken {
  const tree = processTree(process.pid);
  const named = (part: string) => tree.filter(({ commandLine }) => commandLine.includes(part));
  const parties = {
    product,
    callers: tree.filter(({ pid }) => pid === process.pid),
    'stand-ins': named('stand-ins-process'),
    capture: named('tcpdump'),
    probes: named('stall-probe-process'),
  };
  const before = { atMs: performance.now(), seconds: mapValues(parties, cpuSeconds) };
  return () => {
    const seconds = (performance.now() - before.atMs) / 1_000;
    const after = mapValues(parties, cpuSeconds);
    return mapValues(after, (used, party) => (used - before.seconds[party]) / seconds);
  };
}

/** CPU of the threads of one name in one process. */
export interface ThreadShare {
  readonly name: string;
  /** Average number of cores. */
  readonly cores: number;
  /** Of these, in the kernel: sockets, files and waking other threads. */
  readonly kernelCores: number;
  readonly wakeUpsPerSecond: number;
}

/** Starts watching the product's threads; call the returned function to stop. The busiest come first. */
export function watchThreads(product: readonly Process[]): () => ThreadShare[] {
  const before = new Map(threadUses(product).map((use) => [`${use.pid}/${use.id}`, use]));
  const startedMs = performance.now();
  return () => {
    const seconds = (performance.now() - startedMs) / 1_000;
    const names = new Map(product.map(({ pid, commandLine }) => [pid, roleOf(commandLine)]));
    const groups = Map.groupBy(threadUses(product), ({ pid, name }) => `${names.get(pid)}: ${name}`);
    return [...groups]
      .map(([name, uses]): ThreadShare => {
        const used = (of: 'seconds' | 'kernelSeconds' | 'wakeUps') =>
          uses.reduce((sum, use) => sum + use[of] - (before.get(`${use.pid}/${use.id}`)?.[of] ?? 0), 0) /
          seconds;
        return {
          name,
          cores: used('seconds'),
          kernelCores: used('kernelSeconds'),
          wakeUpsPerSecond: used('wakeUps'),
        };
      })
      .sort((one, other) => other.cores - one.cores);
  };
}

/** The threads that take at least a hundredth of the product's CPU, a line each. */
export function threadsText(threads: readonly ThreadShare[]): string {
  const all = threads.reduce((sum, { cores }) => sum + cores, 0);
  return threads
    .filter(({ cores }) => cores >= all / 100)
    .map(
      ({ name, cores, kernelCores, wakeUpsPerSecond }) =>
        `    ${cores.toFixed(3)} (${kernelCores.toFixed(3)})  ${name}, ` +
        `${wakeUpsPerSecond.toFixed(0)} wake-ups a second`,
    )
    .join('\n');
}

/** The role of a process, or its program. */
export function roleOf(commandLine: string): string {
  return basename(commandLine.split(' ').at(-1) ?? '', '-entry.ts');
}

function mapValues<Key extends string, From, To>(
  record: Readonly<Record<Key, From>>,
  change: (value: From, key: Key) => To,
): Record<Key, To> {
  return Object.fromEntries(
    Object.entries<From>(record).map(([key, value]) => [key, change(value, key as Key)]),
  ) as Record<Key, To>;
}
