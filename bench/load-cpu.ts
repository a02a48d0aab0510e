/**
 * Measures the CPU that each part uses during a load of calls: the product, the callers, the vendors'
 * stand-ins, the capture and the probes. All of them run on one machine.
 */
import { cpuSeconds, type Process, processTree } from '#test/journeys/process-tree.ts';

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

function mapValues<Key extends string, From, To>(
  record: Readonly<Record<Key, From>>,
  change: (value: From, key: Key) => To,
): Record<Key, To> {
  return Object.fromEntries(
    Object.entries<From>(record).map(([key, value]) => [key, change(value, key as Key)]),
  ) as Record<Key, To>;
}
