/**
 * `npm run bench:sessions`: creates sessions at 200 a second, alone and then beside analytics queries. Prints
 * how long they took, in how many waits the slow ones were, and what a session costs in commands to the store
 * and in CPU of each thread; beside the queries, theirs are included. `-- --profile` adds the kinds of work
 * (`perf`, as root), `-- --seconds 30` takes more samples.
 */
import { parseArgs } from 'node:util';
import { quantile } from '#caller/statistics.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { AMPLE, ANALYTICS_PATH, type ApiLoadResult, askRepeatedly, runApiLoad } from './api-load.ts';
import { type CpuProfile, PROFILED, profileCpu, profileText } from './cpu-profile.ts';
import { fdatasyncP50Ms } from './disk.ts';
import type { TimedSample } from './figures.ts';
import { type ThreadShare, watchThreads } from './load-cpu.ts';
import { startStandIns } from './stand-ins.ts';
import { storeCommands } from './store-commands.ts';

const PER_SECOND = 200;
/** Slower ones are counted. */
const SLOW_MS = 10;
/** Less of a session, in commands or ms, is not printed. */
const LEAST_SHOWN = 0.02;

const { values } = parseArgs({
  options: { profile: { type: 'boolean', default: false }, seconds: { type: 'string', default: '10' } },
});
const seconds = Number(values.seconds);
if (!(seconds >= 1 && seconds <= 600)) throw new Error('name how many seconds, 1 to 600');
const standIns = await startStandIns();
try {
  const product = await startProduct({
    environment: { ...standIns.environment, ...AMPLE, ...(values.profile && PROFILED) },
  });
  try {
    const { agent_id: agentId } = await product.ask('POST', '/v1/agent/agents', { name: 'Measured' });
    await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
    console.log(`fdatasync p50 ${fdatasyncP50Ms().toFixed(2)} ms`);
    await measure('alone', product, agentId);
    const analytics = askRepeatedly(product, ANALYTICS_PATH);
    await measure('beside analytics queries', product, agentId);
    console.log(`${await analytics.stop()} analytics queries`);
  } finally {
    await product.close();
  }
} finally {
  await standIns.close();
}

async function measure(name: string, product: Product, agentId: string): Promise<void> {
  const before = await storeCommands(product.url);
  let stop: () => ThreadShare[] = () => [];
  let profiling: Promise<CpuProfile> | null = null;
  const onMeasured = () => {
    const processes = product.processes();
    stop = watchThreads(processes);
    if (!values.profile) return;
    profiling = profileCpu(processes, 1_000 * seconds);
    // It is reported below, once the load has ended.
    profiling.catch(() => undefined);
  };
  const result = await runApiLoad(product, agentId, { perSecond: PER_SECOND, seconds, onMeasured });
  const threads = stop();
  const after = await storeCommands(product.url);
  console.log(`\n${name}: ${latenciesOf(result)}`);
  const created = result.latencies.length + result.warmedUp;
  const commands = [...after]
    .map(([kind, times]) => [kind, (times - (before.get(kind) ?? 0)) / created] as const)
    .filter(([, times]) => times >= LEAST_SHOWN)
    .map(([kind, times]) => `${kind} ${times.toFixed(2)}`);
  console.log(`  commands to the store for each: ${commands.join(', ')}`);
  const costs = threads.map(({ name, cores, wakeUpsPerSecond }) => ({
    name,
    ms: (1_000 * cores) / PER_SECOND,
    wakeUps: wakeUpsPerSecond / PER_SECOND,
  }));
  const all = costs.reduce((sum, { ms }) => sum + ms, 0);
  console.log(`  CPU for each: ${all.toFixed(2)} ms`);
  for (const { name, ms, wakeUps } of costs)
    if (ms >= LEAST_SHOWN) console.log(`    ${ms.toFixed(2)} ms  ${name}, ${wakeUps.toFixed(1)} wake-ups`);
  const profile = await (profiling as Promise<CpuProfile> | null);
  if (profile) console.log(profileText(profile, PER_SECOND, 'of a session'));
}

function latenciesOf({ latencies, failed, stalls }: ApiLoadResult): string {
  const allMs = latencies.map(({ value }) => value);
  const at = (share: number) => quantile(allMs, share).toFixed(1);
  const slow = latencies.filter(({ value }) => value > SLOW_MS);
  const stalled = slow.filter(({ atMs, value }) => (stalls?.within(atMs, atMs + value) ?? 0) > 0);
  return (
    `p50 ${at(0.5)} · p95 ${at(0.95)} · p99 ${at(0.99)} · longest ${at(1)} ms, ` +
    `${slow.length} of ${latencies.length} slower than ${SLOW_MS} ms in ${waitsOf(slow)} waits, ` +
    `${stalled.length} of them during a stall of the machine, ${failed} refused`
  );
}

/** How many stretches of time these overlap to. */
function waitsOf(samples: readonly TimedSample[]): number {
  let waits = 0;
  let untilMs = 0;
  for (const { atMs, value } of [...samples].sort((one, other) => one.atMs - other.atMs)) {
    if (atMs > untilMs) waits += 1;
    untilMs = Math.max(untilMs, atMs + value);
  }
  return waits;
}
