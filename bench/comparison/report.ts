/** Generates docs/comparison.md from the results of one run. Pure. */
import { METHOD } from './method.ts';
import type { ComparisonResults, FaultOutcome, SideResults } from './results.ts';
import { COST_ROWS, HEARD_ROWS, type Row, voiceRows } from './rows.ts';
import { findWins, reasonFor } from './wins.ts';

/** If the caller's process runs this late, its timings are unreliable, ms. */
const LATE_MS = 30;
/** Timings are also unreliable if other programs use more than this share of the machine. */
const MAX_OTHERS_SHARE = 0.1;

/** The id of the side that the others are compared with. */
const PARLEY = 'parley';

/** Returns the whole document. */
export function toMarkdown(results: ComparisonResults): string {
  const sides = results.sides.filter(({ missing }) => missing === null);
  const loaded = sides.filter(({ loads }) => loads.length > 0);
  const failing = sides.filter(({ faults }) => faults.length > 0);
  return `${[
    '# Parley beside LiveKit Agents and Pipecat',
    'The same caller plays the same scenes to Parley and to agents of LiveKit’s framework and of Pipecat.\n' +
      'The command below writes this page; every sample is in `bench/comparison/results.json`.',
    provenance(results, sides),
    ...(results.isComplete
      ? []
      : ['**The run was stopped before its end: what has no figure was not reached.**']),
    '## What the caller heard',
    table(sides, HEARD_ROWS),
    '![Cut-offs against wait](images/comparison/cut-offs.svg)',
    '![Answers](images/comparison/replies.svg)',
    '![Interruptions](images/comparison/stops.svg)',
    '![Pauses at sounds that are no interruption](images/comparison/held.svg)',
    'The answers by the voice of the caller, who is the same in every scene of a round (without the scene\n' +
      'with two speakers):',
    table(sides, voiceRows(results.voices)),
    '## Where the others win, and why',
    winsText(sides),
    '## What it costs',
    'Only the sides as documented were measured, each number of calls once.',
    loaded.length > 0 ? table(loaded, COST_ROWS) : 'Not measured in this run.',
    '## When an engine dies',
    'The engine fails at the second question of a call and works again twelve seconds later, when a third\n' +
      'question is asked. Each line is one call.',
    failing.length > 0 ? faultTable(failing) : 'Not measured in this run.',
    METHOD,
  ].join('\n\n')}\n`;
}

function provenance(results: ComparisonResults, sides: readonly SideResults[]): string {
  const { at, command, machine, lossMissing } = results;
  // A side that delays the caller by itself does not say that other programs ran.
  const leastLate = Math.min(...sides.filter(({ rounds }) => rounds.length > 0).map(latenessOf));
  const isLoaded = machine.othersShare > MAX_OTHERS_SHARE || (leastLate > LATE_MS && leastLate < Infinity);
  return [
    `\`${command}\`, ${at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu}),`,
    `Node ${machine.node}. Caller, engines and LiveKit server ran on the same cores.`,
    '',
    '| Side | Version | Waits and thresholds | Machine in use while it played | Caller late |',
    '| --- | --- | --- | --- | --- |',
    ...sides.map(
      (side) => `| ${side.name} | ${side.version} | ${side.setUp} | ${busyOf(side)} | ${lateOf(side)} |`,
    ),
    '',
    `Up to ${results.callsAtOnce} scenes were played at once, to one side at a time.`,
    `Other programs used ${(100 * machine.othersShare).toFixed(0)} % of the machine before the run.`,
    '*Caller late* is how late the caller’s own blocks were (p99 of the worst call).',
    ...results.sides.flatMap(({ name, missing }) =>
      missing === null ? [] : ['', `**${name} was left out: ${missing}**`],
    ),
    ...(lossMissing === null ? [] : ['', `**The scene of packet loss was left out: ${lossMissing}**`]),
    ...(isLoaded
      ? [
          '',
          '**The machine was busy with other work. All sides suffered from it, and the times and the',
          'cut-offs say little. Run the command on a quiet machine.**',
        ]
      : []),
  ].join('\n');
}

/** p99 of the worst call, ms. */
function latenessOf({ rounds }: SideResults): number {
  return Math.max(0, ...rounds.flatMap(({ latenessMs }) => latenessMs));
}

function lateOf(side: SideResults): string {
  return side.rounds.length === 0 ? '–' : `${latenessOf(side).toFixed(0)} ms`;
}

function busyOf({ rounds }: SideResults): string {
  if (rounds.length === 0) return '–';
  return `${(100 * Math.max(...rounds.map(({ busyShare }) => busyShare))).toFixed(0)} %`;
}

function table(sides: readonly SideResults[], rows: readonly Row[]): string {
  return grid([
    ['', ...sides.map(({ name }) => name)],
    ...rows.map(({ title, cell }) => [title, ...sides.map(cell)]),
  ]);
}

function winsText(sides: readonly SideResults[]): string {
  const [first] = sides;
  if (first?.id !== PARLEY) return 'Parley did not take part in this run.';
  const wins = findWins(sides);
  if (wins.length === 0) return 'In this run, no other side was better by more than noise.';
  const rows = grid([
    ['Row', first.name, 'Better', 'Known differences'],
    ...wins.map(({ row, winners }) => [
      row.title,
      row.cell(first),
      winners.map((side) => `${side.name}: ${row.cell(side)}`).join('<br>'),
      reasonFor(row),
    ]),
  ]);
  return `The last column is how the sides are built, not a result of this run.\n\n${rows}`;
}

function faultTable(sides: readonly SideResults[]): string {
  const names = [...new Set(sides.flatMap(({ faults }) => faults.map(({ fault }) => fault)))];
  const rows = names.flatMap((name) => {
    const lists = sides.map(({ faults }) => faults.filter(({ fault }) => fault === name));
    const count = Math.max(...lists.map((list) => list.length));
    return Array.from({ length: count }, (_, index) => [
      index === 0 ? name : '',
      ...lists.map((list) => faultText(list[index])),
    ]);
  });
  return grid([['Fault', ...sides.map(({ name }) => name)], ...rows]);
}

function faultText(outcome: FaultOutcome | undefined): string {
  if (!outcome) return '–';
  const { heardAfterMs, nextAnsweredAfterMs, wasSentAway, ownWords } = outcome;
  const first = heardAfterMs === null ? 'silence' : `heard after ${seconds(heardAfterMs)}`;
  const next =
    nextAnsweredAfterMs === null
      ? 'the next question unanswered'
      : `the next one answered after ${seconds(nextAnsweredAfterMs)}`;
  const own = ownWords.length > 0 ? `; says “${ownWords.join('” “')}”` : '';
  return `${first}; ${next}${wasSentAway ? '; the agent ended the call' : ''}${own}`;
}

function grid([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
