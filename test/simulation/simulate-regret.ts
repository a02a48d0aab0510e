/**
 * `npm run simulate:regret -- --calls 10000` lets the learner run on simulated calls of every population, and
 * the same calls under fixed settings. Fails if what it has published in the end waits more than a tenth
 * longer than the best fixed setting, if anything it has published breaks its bound on the same calls, or if
 * any stretch of calls does. `--seed 1` has other callers, `--population quick` those of one population.
 */
import { parseArgs } from 'node:util';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import type { Setting } from '#control-plane/operations/learning/candidates.ts';
import {
  bestOf,
  fixedSettings,
  highestRate,
  ratesFor,
  ratesOf,
  type TrueRates,
} from './regret/fixed-settings.ts';
import { FIRST, type Learned, learn, RULES } from './regret/learn.ts';
import { POPULATIONS, type Population } from './regret/regret-callers.ts';
import { type Batch, runBatches, serveBatches } from './run-batches.ts';

/** All settings run on so many calls first; those that may be the best, and those published, on all. */
const FIRST_CALLS = 500;
/** Near the best: waits longer by this factor, and so many more callers cut off in a hundred turns. */
const NEAR_WAIT = 1.12;
const NEAR_CUT_OFFS = 1;
/** The learner's wait may be longer by this factor. */
const MOST_WAIT = 1.1;
/**
 * Calls of a stretch; and how much more than the bound its 3,200 turns may have by chance if the true rate is
 * the bound, of a hundred turns (99.9 %).
 */
const STRETCH = 500;
const CHANCE = 1.3;

interface Row {
  readonly population: Population;
  readonly learned: Omit<Learned, 'calls'> & { readonly highest: number };
  readonly best: TrueRates | null;
  readonly published: readonly TrueRates[];
}

interface Found {
  readonly failures: string[];
  readonly rows: Row[];
}

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '0' },
    threads: { type: 'string' },
    population: { type: 'string' },
  },
});
/** Threads have no arguments. */
if (isMainThread) {
  setEnvironmentData('calls', Number(values.calls));
  setEnvironmentData('seed', Number(values.seed));
}
const CALLS = Number(getEnvironmentData('calls'));
const SEED = Number(getEnvironmentData('seed'));
const NAMES = Object.keys(POPULATIONS) as Population[];

if (isMainThread) await main();
else serveBatches(runBatch);

async function main(): Promise<void> {
  const rows: Row[] = [];
  const { seconds } = await runBatches<Found>(
    values.population === undefined
      ? { from: 0, runs: NAMES.length }
      : { from: NAMES.indexOf(values.population as Population), runs: 1 },
    {
      file: import.meta.url,
      batch: 1,
      progress: 1,
      noun: 'populations',
      threads: values.threads === undefined ? undefined : Number(values.threads),
      onFound: (found) => {
        rows.push(...found.rows);
        for (const { population, learned } of found.rows)
          for (const line of learned.history) console.log(`${population}: call ${line}`);
        for (const row of found.rows) console.log(lineOf(row));
      },
    },
  );
  rows.sort((a, b) => NAMES.indexOf(a.population) - NAMES.indexOf(b.population));
  const broken = rows.flatMap(brokenIn);
  console.log(`\n${CALLS} calls of each population in ${seconds} s; begun with ${nameOf(FIRST)}\n`);
  console.log('| Callers | Learned | Needless wait | Best fixed setting | Its wait | Cut off | Highest |');
  console.log('|---|---|---|---|---|---|---|');
  for (const row of rows) console.log(lineOf(row));
  console.log(broken.length === 0 ? '\nevery bound was kept' : `\n${broken.join('\n')}`);
  if (broken.length > 0) process.exitCode = 1;
}

async function runBatch({ from }: Batch): Promise<Found> {
  const population = NAMES[from] as Population;
  const { calls, ...learned } = learn(population, CALLS, { seed: SEED });
  const highest = highestRate({ ...learned, calls }, STRETCH);
  const first = fixedSettings().map((setting) =>
    ratesOf(population, Math.min(FIRST_CALLS, CALLS), setting, SEED),
  );
  const best = bestOf(first);
  const near = first.filter(
    ({ waitMs, cutOffs }) =>
      best === null || (waitMs <= best.waitMs * NEAR_WAIT && cutOffs <= RULES.cut_off_bound + NEAR_CUT_OFFS),
  );
  const whole = near.map(({ setting }) => ratesOf(population, CALLS, setting, SEED));
  const published = learned.published.map(
    ({ setting }) => ratesFor(whole, setting) ?? ratesOf(population, CALLS, setting, SEED),
  );
  const row = { population, learned: { ...learned, highest }, best: bestOf(whole), published };
  return { failures: [], rows: [row] };
}

/** Names the bounds that were broken; empty if none was. Callers who change are no population to compare. */
function brokenIn({ population, learned, best, published }: Row): string[] {
  if (population === 'drifting') return [];
  const last = published.at(-1);
  const bound = RULES.cut_off_bound;
  const ratio = best && last ? last.waitMs / best.waitMs : Number.POSITIVE_INFINITY;
  return [
    ...(ratio > MOST_WAIT ? [`${population}: waits ${ratio.toFixed(3)} times as long as the best`] : []),
    ...published
      .filter(({ cutOffs }) => cutOffs > bound)
      .map(
        ({ setting, cutOffs }) => `${population}: ${nameOf(setting)} cuts off ${cutOffs.toFixed(2)} in 100`,
      ),
    ...(learned.highest > bound + CHANCE
      ? [`${population}: ${learned.highest.toFixed(2)} cut off in 100 in a stretch of ${STRETCH} calls`]
      : []),
  ];
}

function lineOf({ population, learned, best, published }: Row): string {
  const last = published.at(-1);
  const cells = [
    population,
    last ? nameOf(last.setting) : '–',
    last && best ? `${Math.round(last.waitMs)} ms (+${percent(last.waitMs / best.waitMs - 1)})` : '–',
    best ? nameOf(best.setting) : '–',
    best ? `${Math.round(best.waitMs)} ms` : '–',
    last && best ? `${last.cutOffs.toFixed(1)}, best ${best.cutOffs.toFixed(1)}` : '–',
    learned.highest.toFixed(1),
  ];
  return `| ${cells.join(' | ')} |`;
}

function nameOf({ eagerness, response_wait_ms: waitMs }: Setting): string {
  return `${waitMs} ms, ${eagerness}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
