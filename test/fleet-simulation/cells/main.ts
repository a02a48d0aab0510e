/**
 * `npm run simulate:cells` runs ten cells of 10,000 calls in virtual time, one of which is lost meanwhile,
 * and prints what they counted. `-- --cells 3 --calls 300 --call-seconds 60 --seed 2` runs fewer; with
 * `--write` the table and its plot go into docs/scale.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { putBetween } from '#scripts/put-between.ts';
import { plotOf, reportOf } from './report.ts';
import { simulateCells } from './simulate-cells.ts';
import { READY_MS, type TierPlan } from './tier.ts';

const PAGE = 'docs/scale.md';
const IMAGE = 'docs/images/scale/cells.svg';
const [BEGIN, END] = [
  '<!-- cells: written by npm run simulate:cells -- --write -->',
  '<!-- end of cells -->',
];
/** A lost cell is back after this time, ms. */
const LOST_MS = 120_000;
const PROGRESS_MS = 20_000;

const { values } = parseArgs({
  options: {
    cells: { type: 'string', default: '10' },
    calls: { type: 'string', default: '10000' },
    'call-seconds': { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
});
const plan = planOf();
const startedMs = performance.now();
console.log(`${plan.cells} cells, each for ${plan.callsPerCell} calls of ${plan.callMs / 1_000} s`);
const run = await simulateCells(plan, (nowMs) => {
  if (nowMs % PROGRESS_MS === 0)
    console.log(`${nowMs / 1_000} s of virtual time in ${seconds(performance.now() - startedMs)} s`);
});
const report = reportOf(plan, run, Math.round((performance.now() - startedMs) / 60_000));
console.log(`\n${report}`);
for (const violation of run.violations) console.log(violation);
if (run.violations.length > 0) process.exitCode = 1;
else if (values.write) {
  mkdirSync(IMAGE.slice(0, IMAGE.lastIndexOf('/')), { recursive: true });
  writeFileSync(IMAGE, plotOf(plan, run));
  putBetween(PAGE, BEGIN, END, report);
}

function planOf(): TierPlan {
  const callMs = Number(values['call-seconds']) * 1_000;
  const cells = Number(values.cells);
  // Most of the calls are there by then.
  const fromMs = READY_MS + callMs * 0.6;
  return {
    seed: Number(values.seed),
    cells,
    callsPerCell: Number(values.calls),
    callMs,
    accountsPerCell: 10,
    loss: cells === 1 ? null : { cell: cells - 1, fromMs, untilMs: fromMs + LOST_MS },
  };
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(0);
}
