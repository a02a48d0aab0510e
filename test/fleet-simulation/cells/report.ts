/** The counts of cells, as a table for docs/scale.md and as a plot. */
import { axesOf, SIDE_COLOURS, svgOf, titleOf } from '#bench/svg.ts';
import type { CellFigures } from './cell.ts';
import type { CellsRun } from './simulate-cells.ts';
import type { TierPlan } from './tier.ts';

const AREA = { left: 56, top: 40, width: 640, height: 260 };
const [OTHERS, LOST] = SIDE_COLOURS;
const X_STEP = 60;
const Y_STEPS = 5;

/** A table and a sentence about the run. */
export function reportOf(plan: TierPlan, run: CellsRun, minutes: number): string {
  const all = run.cells.map(({ figures }) => figures);
  const lost = plan.loss && all[plan.loss.cell];
  const others = all.filter((figures) => figures !== lost);
  const row = (what: string, of: (figures: CellFigures) => number, digits = 0) =>
    `| ${what} | ${rangeOf(others.map(of), digits)} | ${lost ? number(of(lost), digits) : '–'} |`;
  const calls = all.reduce((sum, figures) => sum + figures.calls, 0);
  const connected = all.reduce((sum, figures) => sum + figures.connected, 0);
  const outcome =
    run.violations.length === 0 ? 'Every invariant held' : `${run.violations.length} invariants were broken`;
  return [
    `${run.cells.length} cells, each for ${number(plan.callsPerCell)} calls of ${plan.callMs / 1_000} s:`,
    '',
    '| What | Each other cell | The lost cell |',
    '|---|---|---|',
    row('calls that arrived', ({ calls: arrived }) => arrived),
    row('of these, from numbers of the lost cell', ({ ofLost }) => ofLost),
    row('calls that reached an agent', ({ connected: reached }) => reached),
    row('calls at the same time, the most', ({ series }) => Math.max(0, ...series)),
    row('workers of 200 calls', ({ workers }) => workers),
    row('control planes', ({ controlPlanes }) => controlPlanes),
    row('commands to the store per call', (each) => each.commands / Math.max(1, each.calls), 1),
    row('commands to the store in a second, the most', ({ commandsASecond }) => commandsASecond),
    row('entries in ledgers per call', (each) => each.entries / Math.max(1, each.connected), 2),
    row('entries for allotments', ({ tierEntries }) => tierEntries),
    row('webhooks delivered', ({ webhooks }) => webhooks),
    '',
    `${outcome}: ${number(calls)} calls, of which ${number(connected)} reached an agent, in ` +
      `${(run.lastedMs / 1_000).toFixed(0)} s of virtual time, ${minutes} minutes on the clock. ` +
      `${number(run.messages)} messages passed between cells.`,
  ].join('\n');
}

/** Calls at the same time in each cell, over time. */
export function plotOf(plan: TierPlan, { cells }: CellsRun): string {
  const series = cells.map(({ figures }) => figures.series);
  const busy = Math.max(...series.map((each) => each.findLastIndex((calls) => calls > 0))) + 10;
  const most = Math.max(1, ...series.flat());
  const step = niceStep(most / Y_STEPS);
  const { grid, path } = axesOf(AREA, { most: busy, step: X_STEP }, { most, step });
  const shapes = [
    titleOf('Calls at the same time in each cell, by seconds'),
    ...grid,
    ...series.map((each, index) => {
      const isLost = plan.loss?.cell === index;
      const line = path(each.slice(0, busy).map((calls, second) => ({ x: second, y: calls })));
      const colour = isLost ? LOST : OTHERS;
      return `<path d="${line}" fill="none" stroke="${colour}" stroke-width="${isLost ? 2.5 : 1}"/>`;
    }),
    ...legend(),
  ];
  return svgOf({ width: AREA.left + AREA.width + 20, height: AREA.top + AREA.height + 28 }, shapes);
}

function legend(): string[] {
  const right = AREA.left + AREA.width;
  return [
    ['the lost cell', LOST],
    ['other cells', OTHERS],
  ].map(
    ([name, colour], index) =>
      `<path d="M${right - 130} ${AREA.top + 10 + 18 * index}h26" stroke="${colour}" stroke-width="2"/>` +
      `<text x="${right - 98}" y="${AREA.top + 14 + 18 * index}">${name}</text>`,
  );
}

function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power;
}

function rangeOf(values: readonly number[], digits: number): string {
  const [low, high] = [number(Math.min(...values), digits), number(Math.max(...values), digits)];
  return low === high ? low : `${low} to ${high}`;
}

function number(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
