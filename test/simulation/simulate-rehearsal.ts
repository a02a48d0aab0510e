/**
 * `npm run simulate:rehearsal -- --calls 10000 [--from 1]` rehearses simulated calls under drafts and really
 * runs them under the same drafts, in the same environment. Prints how far the rehearsal was off, with the
 * bounds it must keep, and what it takes of time and memory.
 */
import { parseArgs } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import {
  BOUNDS,
  beyondBounds,
  errorOf,
  intervalOf,
  type RehearsalError,
  tallyOf,
} from './rehearsal-error.ts';
import { DRAFTS, type RehearsedTwice, rehearseTwice } from './rehearse-twice.ts';
import { type Batch, runBatches, serveBatches } from './run-batches.ts';

/** Calls a thread gets at a time, and between progress messages. */
const BATCH = 100;
const PROGRESS = 1_000;

interface Found {
  readonly failures: string[];
  readonly calls: RehearsedTwice[];
}

if (isMainThread) await main();
else serveBatches(runBatch);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { calls: { type: 'string', default: '10000' }, from: { type: 'string', default: '1' } },
  });
  const calls: RehearsedTwice[] = [];
  const { done, seconds } = await runBatches<Found>(
    { from: Number(values.from), runs: Number(values.calls) },
    {
      file: import.meta.url,
      batch: BATCH,
      progress: PROGRESS,
      noun: 'calls',
      onFound: (found) => void calls.push(...found.calls),
    },
  );
  console.log(`${done} calls rehearsed and run again in ${seconds} s`);
  const groups = [
    ...DRAFTS.map(({ name }) => ({ name, of: calls.filter(({ draft }) => draft === name) })),
    { name: 'all', of: calls },
  ];
  const beyond = groups.flatMap(({ name, of }) => {
    const error = errorOf(of);
    printError(name, error);
    return beyondBounds(error).map((broken) => `${name}: ${broken}`);
  });
  const { low, high } = intervalOf(calls);
  console.log(`interval of the share that differs: ${percent(low)} to ${percent(high)}`);
  printCost(calls);
  console.log(`bounds: ${JSON.stringify(BOUNDS)}`);
  console.log(beyond.length === 0 ? 'every bound was kept' : beyond.join('\n'));
  if (beyond.length > 0) process.exitCode = 1;
}

async function runBatch({ from, runs }: Batch): Promise<Found> {
  const calls: RehearsedTwice[] = [];
  for (let seed = from; seed < from + runs; seed++) calls.push(await rehearseTwice(seed));
  return { failures: [], calls };
}

function printError(name: string, error: RehearsalError): void {
  console.log(
    `${name.padEnd(16)} ${error.calls} calls: differ ${percent(error.predictedShare)}, really ` +
      `${percent(error.actualShare)}; said wrongly of ${percent(error.wronglyShare)}; same moment ` +
      `${percent(error.sameMomentShare)}, same kind ${percent(error.sameKindShare)}; in the ` +
      `${percent(error.samePauseShare)} of pauses that both have: cut off of 100 ` +
      `${both(error.sameCutOffs)} (and ${error.unknownCutOffs.toFixed(1)} unknown), saved ` +
      `in a turn ${both(error.savedMs)} ms; of 100 of all pauses cut off ${both(error.allCutOffs)}`,
  );
}

function printCost(calls: readonly RehearsedTwice[]): void {
  const tookMs = calls.reduce((sum, call) => sum + call.tookMs, 0);
  const bytes = calls.reduce((sum, { logBytes }) => sum + logBytes, 0);
  const kept = JSON.stringify(tallyOf(calls)).length;
  const peak = process.resourceUsage().maxRSS / 1_024;
  console.log(
    `rehearsing took ${(tookMs / calls.length).toFixed(1)} ms of a core for a call, ` +
      `${(tookMs / 1_000).toFixed(1)} s for all; ${(bytes / 1_048_576).toFixed(0)} MiB of logs; kept ` +
      `between calls: ${(kept / 1_024).toFixed(1)} KiB; peak with all threads ${peak.toFixed(0)} MiB`,
  );
}

function both({ predicted, actual }: { readonly predicted: number; readonly actual: number }): string {
  return `${predicted.toFixed(1)}, really ${actual.toFixed(1)}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}
