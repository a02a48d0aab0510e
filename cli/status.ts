/** `parley status`: the state of the fleet in a terminal, from the metrics of its parts (docs/metrics.md). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { readSecretFiles } from '#config/secret-files.ts';
import { CommandError, EXIT, unreachable } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { type FleetStatus, fleetStatus, type PartMetrics, percent } from './fleet-status.ts';
import { printFacts, printTable, show } from './output.ts';
import { countedSince, readSamples, type Sample } from './prometheus-text.ts';

const REFRESH_MS = 2_000;
/** A part that takes longer counts as away: a scrape waits 3 s for the database. */
const ANSWER_MS = 5_000;
/** A watch shows what was counted in this time. */
const WINDOW_MS = 5 * 60_000;

interface StatusOptions {
  readonly watch?: boolean;
  readonly part: readonly string[];
}

/** A reading of all parts. */
interface Reading {
  readonly atMs: number;
  readonly parts: readonly PartMetrics[];
}

/** Adds the command. */
export function addStatusCommand(program: Command, common: CommandContext): void {
  program
    .command('status')
    .description(
      'show workers, calls, turn latency, backlogs and failing vendors; exit ' +
        `${EXIT.failed} if something is wrong (METRICS_TOKEN; docs/runbooks.md)`,
    )
    .option(
      '--part <url>',
      'also read a worker, signalling server or other control plane, such as http://10.0.0.7:9090; repeat it',
      (url: string, urls: readonly string[]) => [...urls, url.replace(/(?<!\/)\/+$/, '')],
      [] as readonly string[],
    )
    .option('--watch', 'repeat it until Ctrl-C, with the counts of the last five minutes')
    .action(async (options: StatusOptions) => {
      const urls = [common.url, ...options.part];
      if (options.watch) await watch(common, urls);
      else {
        const { parts } = await readParts(urls);
        report(fleetStatus(parts), common);
      }
    });
}

async function watch(common: CommandContext, urls: readonly string[]): Promise<void> {
  process.once('SIGINT', () => process.exit());
  const readings: Reading[] = [];
  for (;;) {
    const now = await readAgain(urls, readings.length === 0);
    if (now === null) continue;
    readings.push(now);
    // The newest one that is old enough stays: the window is never shorter than it could be.
    while ((readings[1]?.atMs ?? now.atMs) < now.atMs - WINDOW_MS) readings.shift();
    if (process.stdout.isTTY && !common.json) process.stdout.write('\u001b[H\u001b[J');
    report(fleetStatus(partsSince(readings[0] ?? now, now)), common);
    if (!process.stdout.isTTY && !common.json) console.log();
    await sleep(REFRESH_MS);
  }
}

/** Null, after a while, if the product has gone away during a watch. Throws as `readParts` at its start. */
async function readAgain(urls: readonly string[], isFirst: boolean): Promise<Reading | null> {
  try {
    return await readParts(urls);
  } catch (error) {
    if (isFirst || !(error instanceof CommandError)) throw error;
    console.error(`✗ ${error.message}`);
    process.exitCode = error.exitCode;
    await sleep(REFRESH_MS);
    return null;
  }
}

/** In the first reading of a watch, everything since the start of the parts. */
function partsSince(earlier: Reading, now: Reading): readonly PartMetrics[] {
  if (earlier === now) return now.parts;
  return now.parts.map(({ url, samples }, index) => ({
    url,
    samples: samples && countedSince(earlier.parts[index]?.samples ?? [], samples),
  }));
}

/** Reads all parts at once. Throws `CommandError` if the first one, the product, gives no metrics. */
async function readParts(urls: readonly string[]): Promise<Reading> {
  const token = metricsToken(process.env);
  const read = await Promise.allSettled(urls.map((url) => readPart(url, token)));
  const [product] = read;
  if (product?.status === 'rejected') throw product.reason;
  const parts = urls.map((url, index) => {
    const one = read[index];
    return { url, samples: one?.status === 'fulfilled' ? one.value : null };
  });
  return { atMs: performance.now(), parts };
}

async function readPart(url: string, token: string | undefined): Promise<Sample[]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(ANSWER_MS);
  const response = await fetch(`${url}/metrics`, { headers, signal }).catch((error: unknown) => {
    throw unreachable(url, error);
  });
  if (response.status === 401)
    throw new CommandError(
      `${url} gives no metrics: set METRICS_TOKEN as for the product. Without one, it gives them only to ` +
        'programs on its machine',
    );
  const samples = response.ok ? readSamples(await response.text()) : [];
  if (!samples.some(({ name }) => name.startsWith('parley_')))
    throw new CommandError(
      `${url} answers, but not like Parley: give the product’s address with --url or PARLEY_URL`,
    );
  return samples;
}

/** Throws `CommandError` if the token's file cannot be read. */
function metricsToken({ METRICS_TOKEN, METRICS_TOKEN_FILE }: NodeJS.ProcessEnv): string | undefined {
  try {
    return readSecretFiles({ METRICS_TOKEN, METRICS_TOKEN_FILE })['METRICS_TOKEN'];
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}

function report(fleet: FleetStatus, common: CommandContext): void {
  show(fleet, common, () => printFleet(fleet));
  process.exitCode = fleet.problems.length > 0 ? EXIT.failed : EXIT.ok;
}

function printFleet(fleet: FleetStatus): void {
  for (const { alert, text } of fleet.problems)
    console.log(`✗ ${text} (docs/runbooks.md#${alert.toLowerCase()})`);
  if (fleet.problems.length === 0) console.log('✓ nothing is wrong');
  const { workers, turns } = fleet;
  const lateMs = Math.round(workers.loop_lag_seconds * 1_000);
  console.log();
  printFacts({
    Parts: fleet.parts.map(({ url, part }) => `${part ?? 'no answer'} ${url}`).join(', '),
    Database: fleet.database ? 'answers' : 'does not answer',
    Workers:
      `${workers.connected}, ${workers.jobs} jobs, ${workers.free_slots} free slots, ` +
      `event loop ${lateMs} ms late`,
    Sessions: fleet.sessions.map((row) => `${row.count} ${row.status}`).join(', '),
    Turns: turns && `${turns.count}, p50 ${seconds(turns.p50_seconds)}, p95 ${seconds(turns.p95_seconds)}`,
  });
  const tables: readonly [readonly string[], readonly (readonly unknown[])[]][] = [
    [
      ['CALLS', 'CREATED', 'JOINED', 'ENDED', 'BY A FAULT'],
      fleet.calls.map((row) => [row.channel, row.created, row.joined, row.ended, row.faults]),
    ],
    [
      ['QUEUE', 'WAITING', 'OLDEST'],
      fleet.backlogs.map((row) => [row.queue, row.items, seconds(row.oldest_seconds)]),
    ],
    [
      ['FAILING VENDOR', 'FOR', 'REQUESTS', 'ERRORS', 'SHARE', 'FAIL-OVERS'],
      fleet.vendors.map((row) => [
        row.vendor,
        row.service,
        row.requests,
        row.errors,
        percent(row.requests === 0 ? 0 : row.errors / row.requests),
        row.failovers,
      ]),
    ],
  ];
  for (const [titles, rows] of tables)
    if (rows.length > 0) {
      console.log();
      printTable(titles, rows);
    }
}

function seconds(value: number | null): string {
  return value === null ? '–' : `${value.toFixed(value < 10 ? 2 : 0)} s`;
}
