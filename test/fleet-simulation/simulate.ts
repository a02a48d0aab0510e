/**
 * `npm run simulate:fleet -- --runs 2000 [--from 1] [--threads 1]` runs simulated fleets, on every processor
 * unless told otherwise, and prints those that violate an invariant, and what the runs contained.
 * `npm run simulate:fleet -- --seed 17` shows one fleet as a timeline: its faults, and every change of its
 * calls. With `--defects 300` every seeded defect is tried as well, with at most so many fleets each, and
 * first with the fleet that the documentation says finds it. With `--write` all start with the first fleet,
 * and the report replaces that of the documentation.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import { type Batch, runBatches, serveBatches } from '../simulation/run-batches.ts';
import { tryDefects, writeReport } from './defects-table.ts';
import { type FleetFigures, NO_FIGURES, simulateFleet, sumOf } from './simulate-fleet.ts';

/** Runs a thread gets at a time. */
const BATCH = 10;
/** Runs between progress messages. */
const PROGRESS = 100;

/** The result of a batch. */
interface Found {
  readonly failures: readonly string[];
  readonly figures: FleetFigures;
}

if (isMainThread) await main();
else serveBatches(runBatch);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '2000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      defects: { type: 'string' },
      threads: { type: 'string', default: String(availableParallelism()) },
      write: { type: 'boolean', default: false },
    },
  });
  if (values.seed !== undefined) {
    await show(Number(values.seed));
    return;
  }
  const batch = { from: Number(values.from), runs: Number(values.runs) };
  const summary = await runAll(batch, Number(values.threads));
  console.log(summary);
  if (values.defects === undefined) return;
  const { rows, survivors } = await tryDefects(Number(values.defects), { known: !values.write });
  console.log(survivors.length === 0 ? 'every defect is found' : `survived: ${survivors.join(', ')}`);
  if (survivors.length > 0) process.exitCode = 1;
  if (values.write) writeReport(summary, rows);
}

async function runBatch({ from, runs }: Batch): Promise<Found> {
  const failures: string[] = [];
  let figures = NO_FIGURES;
  for (let seed = from; seed < from + runs; seed++) {
    const run = await simulateFleet(seed);
    for (const violation of run.violations)
      failures.push(`${violation}\n    npm run simulate:fleet -- --seed ${seed}`);
    figures = sumOf(figures, run.figures);
  }
  return { failures, figures };
}

/** Runs these fleets and returns what they contained. */
async function runAll(batch: Batch, threads: number): Promise<string> {
  let figures = NO_FIGURES;
  const { done, seconds, failures } = await runBatches<Found>(batch, {
    file: import.meta.url,
    batch: BATCH,
    progress: PROGRESS,
    noun: 'fleets',
    threads,
    onFound: (found) => {
      for (const failure of found.failures) console.log(failure);
      figures = sumOf(figures, found.figures);
    },
  });
  const { calls, connected, commands, doubted, faults, lastedMs, lost, takenOver } = figures;
  const outcome =
    failures.length === 0 ? 'Every invariant held' : `${failures.length} invariants were broken`;
  return (
    `${outcome} in ${done} fleets, made in ${seconds} s on ${threads} cores: ` +
    `${faults} faults and ${calls} calls in ${(lastedMs / 3_600_000).toFixed(0)} hours of virtual time.\n` +
    `${connected} callers reached an agent. ${lost} calls lost their worker, ${takenOver} were taken over. ` +
    `${doubted} sessions were doubted. The store received ${commands} commands.`
  );
}

async function show(seed: number): Promise<void> {
  const { notes, violations } = await simulateFleet(seed);
  for (const note of notes) console.log(note);
  console.log(violations.length === 0 ? 'every invariant held' : violations.join('\n'));
  process.exitCode = violations.length === 0 ? 0 : 1;
}
