/**
 * `npm run bench:fleet`: one control plane with 2,000 scripted calls over real worker links, with recordings
 * to a bucket and webhooks, but without media. Prints how late its event loop is, and what a call costs in
 * commands to the store, CPU, and objects in the bucket. `-- --calls 200` makes fewer calls, `--call-seconds
 * 30` shorter ones, and `--seconds 20` measures for less time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '#base/clock.ts';
import { setSessionPriority } from '#base/platform.ts';
import { quantile } from '#caller/statistics.ts';
import { Parts } from '#test/journeys/parts.ts';
import { cpuSeconds, type Process, processTree, residentBytes } from '#test/journeys/process-tree.ts';
import { judge, judgeSamples, type TimedSample, toText } from '../figures.ts';
import { type MachineStalls, watchStalls } from '../machine-stalls.ts';
import { Part } from '../part.ts';
import { storeCommands } from '../store-commands.ts';
import type { Received } from './receivers-process.ts';
import type { FleetCounts, FleetJob } from './workers-process.ts';

const NUMBER = '+15550100079';
const TOKEN = 'bench-worker-token-0123456789abcdef';
const WORKERS = 10;
/** Interval of the requests that show how late the event loop is. */
const PROBE_MS = 20;
/** Beyond the duration of a call, until as many end as begin. */
const SETTLED_MS = 5_000;
const LIMITS = { loopLagP95Ms: 30, commands: 60 };
/** Machine stall, within a sample's limit, that the sample tolerates. */
const TOLERATED_STALL_MS = 5;
const READS = ['find', 'aggregate', 'count', 'distinct'];
const MIB = 1_048_576;

/** Counters of the control plane, of its receivers and of the workers. */
interface Reading extends Received {
  readonly cpuMs: number;
  /** Commands to the store, by kind. */
  readonly commands: ReadonlyMap<string, number>;
  readonly counts: FleetCounts;
}

interface Measured {
  readonly before: Reading;
  readonly after: Reading;
  /** Times of answers, ms. */
  readonly lags: readonly TimedSample[];
  readonly stalls: MachineStalls | null;
  /** Resident, bytes. */
  readonly memory: number;
}

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '60' },
    'call-seconds': { type: 'string', default: '100' },
  },
});
const calls = Number(values.calls);
const callMs = 1_000 * Number(values['call-seconds']);
// The times of answers must not contain waits of this process for a processor.
await setSessionPriority(process.pid, constants.priority.PRIORITY_HIGH);
const folder = mkdtempSync(join(tmpdir(), 'parley-bench-fleet-'));
const receivers = new Part(new URL('./receivers-process.ts', import.meta.url));
const workers = new Part(new URL('./workers-process.ts', import.meta.url));
const receiversUrl = await receivers.ask<string>({});
const parts = await Parts.open({
  WORKER_TOKEN: TOKEN,
  STARTING_CREDIT: '1000000.00',
  LOG_LEVEL: 'warn',
  BLOBS_URL: `s3://calls?endpoint=${receiversUrl}`,
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
});
try {
  process.exitCode = (await measure()) ? 0 : 1;
} finally {
  await parts.close();
  for (const part of [workers, receivers]) part.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measure(): Promise<boolean> {
  const program = await parts.start('control-plane', 'control-plane');
  await setUp();
  const job: FleetJob = {
    url: parts.url,
    token: TOKEN,
    number: NUMBER,
    spoolRoot: join(folder, 'spool'),
    workers: WORKERS,
    calls,
    callMs,
  };
  await workers.ask(job);
  const rate = ((1_000 * calls) / callMs).toFixed(1);
  console.log(`${WORKERS} workers are connected; ${calls} calls are placed, ${rate} a second …`);
  await rampUp();
  const watch = await watchStalls();
  const processes = processTree(program.pid ?? 0);
  const before = await read(processes);
  const lags = await probe(1_000 * Number(values.seconds));
  const after = await read(processes);
  return report({ before, after, lags, stalls: await watch.stop(), memory: residentBytes(processes) });
}

/** Prints the figures; returns whether they are met. */
function report({ before, after, lags, stalls, memory }: Measured): boolean {
  const { live, troubles, admissionMs } = after.counts;
  const ended = after.counts.ended - before.counts.ended;
  // Not as many end as begin when a loaded machine makes calls longer: both ends of a call cost commands.
  const counted = (ended + after.counts.begun - before.counts.begun) / 2;
  const load = `${live} calls, ${(ended / Number(values.seconds)).toFixed(1)} end a second`;
  const perCall = (read: (reading: Reading) => number) => (read(after) - read(before)) / counted;
  const commands = (names?: readonly string[]) =>
    perCall((reading) =>
      sum(names?.map((name) => reading.commands.get(name) ?? 0) ?? reading.commands.values()),
    );
  const figures = [
    judgeSamples(
      { what: 'answer to a request without work', load, unit: 'ms' },
      lags,
      { p95: LIMITS.loopLagP95Ms },
      { stalls, windowMs: LIMITS.loopLagP95Ms, toleranceMs: TOLERATED_STALL_MS },
    ),
    judge({ what: 'commands to the store per call', load, unit: '', samples: ended, digits: 1 }, [
      { name: '', value: commands(), limit: LIMITS.commands },
    ]),
  ];
  console.log(`\n${toText(figures)}\n`);
  console.log(
    `a call: ${commands(READS).toFixed(1)} of the commands are reads; ` +
      `${perCall(({ cpuMs }) => cpuMs).toFixed(0)} ms of CPU in the control plane; ` +
      `${perCall(({ puts }) => puts).toFixed(1)} objects and ` +
      `${perCall(({ bytes }) => bytes / MIB).toFixed(2)} MiB in the bucket`,
  );
  const kinds = [...after.commands.keys()].map((kind) => [kind, commands([kind])] as const);
  const shown = kinds.sort(([, a], [, b]) => b - a).map(([kind, times]) => `${kind} ${times.toFixed(1)}`);
  console.log(`its commands: ${shown.join(', ')}`);
  const [p50, p95] = [0.5, 0.95].map((share) => quantile(admissionMs, share).toFixed(0));
  console.log(`admission p50 ${p50} · p95 ${p95} ms; memory ${(memory / MIB).toFixed(0)} MiB`);
  for (const [trouble, times] of troubles) console.log(`  ${times} × ${trouble}`);
  return figures.every(({ verdict }) => verdict.startsWith('met')) && troubles.length === 0;
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}

async function setUp(): Promise<void> {
  const { agent_id: agentId } = await parts.ask('POST', '/v1/agent/agents', {
    name: 'Scripted',
    config: { webhooks: { post_call: [{ url: `${receiversUrl}/webhooks` }] } },
  });
  await parts.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
  await parts.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: NUMBER,
    agent_id: agentId,
  });
}

/** Waits until as many calls end as begin. */
async function rampUp(): Promise<void> {
  const endMs = performance.now() + callMs + SETTLED_MS;
  while (performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, endMs - performance.now())));
    const { live, ended } = await workers.ask<FleetCounts>({});
    console.log(`  ${live} calls, ${ended} have ended`);
  }
}

/** Times of the answers to a request that needs nothing but the event loop. */
async function probe(forMs: number): Promise<TimedSample[]> {
  const samples: Promise<TimedSample>[] = [];
  const failed = Promise.withResolvers<never>();
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    const sample = answerTime();
    sample.catch(failed.reject);
    samples.push(sample);
    await Promise.race([systemClock.sleep(PROBE_MS), failed.promise]);
  }
  return Promise.all(samples);
}

async function answerTime(): Promise<TimedSample> {
  const [atMs, startMs] = [Date.now(), performance.now()];
  const answer = await fetch(`${parts.url}/healthz`);
  await answer.text();
  if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`);
  return { atMs, value: performance.now() - startMs };
}

async function read(processes: readonly Process[]): Promise<Reading> {
  const counts = await workers.ask<FleetCounts>({});
  const [stored, commands] = await Promise.all([receivers.ask<Received>({}), storeCommands(parts.url)]);
  return { ...stored, cpuMs: 1_000 * cpuSeconds(processes), commands, counts };
}
