/**
 * Formats the scenes' figures as a table, as plots (SVG) and as JSON, and inserts them into
 * docs/measuring.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { quantile } from '#caller/statistics.ts';
import { putBetween } from '#scripts/put-between.ts';
import { escapeXml, svgOf, ticks, titleOf } from '../svg.ts';
import { FIRST_TOKEN_MS, type SceneCase, SPECULATION_PAIR } from './catalogue.ts';
import type { Verdict } from './judge.ts';
import type { JudgedCall } from './play.ts';

const DOCUMENT = 'docs/measuring.md';
const IMAGES = new URL('../../docs/images/scenes/', import.meta.url);
const RESULTS = new URL('./results.json', import.meta.url);
const [BEGIN, END] = ['<!-- scenes: written by npm run scenes -->', '<!-- end of scenes -->'];
const BAR = { height: 16, gap: 6, left: 330, width: 430, axis: 26 };
const TICK_MS = 500;

/** All calls of one scene. */
export interface SceneResult {
  readonly item: SceneCase;
  readonly played: readonly JudgedCall[];
}

type Count = { [K in keyof Verdict]: Verdict[K] extends number ? K : never }[keyof Verdict];
type List = Exclude<keyof Verdict, Count>;

const COUNTS: readonly (readonly [string, Count])[] = [
  ['false interr.', 'falseInterruptions'],
  ['missed interr.', 'missedInterruptions'],
  ['premature', 'premature'],
  ['late', 'late'],
  ['unanswered', 'unanswered'],
  ['words lost', 'wordsCutOff'],
  ['stray turns', 'strayTurns'],
  ['silence > 4 s', 'silencesOver4s'],
  ['unexplained', 'unattributed'],
];

const sum = ({ played }: SceneResult, count: Count) =>
  played.reduce((total, { verdict }) => total + verdict[count], 0);
const all = ({ played }: SceneResult, list: List) => played.flatMap(({ verdict }) => verdict[list]);
const nameOf = ({ item }: SceneResult) => `${item.name}${item.over === 'web' ? ' (web)' : ''}`;

/** Terminal output: scenes with a fault, and the totals. */
export function summaryText(results: readonly SceneResult[]): string {
  const rows = results.map((result) => {
    const faults = COUNTS.filter(([, count]) => sum(result, count) > 0).map(
      ([name, count]) => `${name} ${sum(result, count)}`,
    );
    const times =
      `reply ${formatValues(all(result, 'replyMs'))}, stop ${formatValues(all(result, 'stopMs'))}, ` +
      `needless pause ${formatValues(all(result, 'hesitationMs'))}`;
    return `${nameOf(result).padEnd(52)} ${times}  ${faults.join(', ') || 'ok'}`;
  });
  return [...rows, '', ...totals(results)].join('\n');
}

/** Writes the table, the plots and the JSON file. */
export function writeReport(results: readonly SceneResult[]): void {
  mkdirSync(IMAGES, { recursive: true });
  writeFileSync(
    new URL('replies.svg', IMAGES),
    plot('From the end of a caller’s line to the agent’s first sound, ms', results, 'replyMs'),
  );
  writeFileSync(
    new URL('interruptions.svg', IMAGES),
    plot('From the beginning of an interruption to the agent’s last sound, ms', results, 'stopMs'),
  );
  putBetween(DOCUMENT, BEGIN, END, `\n${toMarkdown(results)}\n`);
  const figures = results.map((result) => ({
    scene: result.item.name,
    over: result.item.over,
    group: result.item.group,
    calls: result.played.map(({ verdict, alignmentMs }) => ({ ...verdict, alignmentMs })),
  }));
  writeFileSync(RESULTS, `${JSON.stringify({ at: new Date().toISOString(), scenes: figures }, null, 1)}\n`);
}

/** The table, with the totals below it. */
export function toMarkdown(results: readonly SceneResult[]): string {
  const head = [
    'Scene',
    'calls',
    ...COUNTS.map(([name]) => name),
    'reply p50 / worst',
    'stop p50 / worst',
    'needless pause p50 / worst',
  ];
  const rows = results.map((result) => [
    nameOf(result),
    String(result.played.length),
    ...COUNTS.map(([, count]) => (sum(result, count) === 0 ? '·' : String(sum(result, count)))),
    ...(['replyMs', 'stopMs', 'hesitationMs'] as const).map((list) => formatValues(all(result, list))),
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const plots = [
    '![Replies](images/scenes/replies.svg)',
    '![Interruptions](images/scenes/interruptions.svg)',
  ];
  return [
    line(head),
    line(head.map(() => '---')),
    ...rows.map(line),
    '',
    ...totals(results).map((text) => `- ${text}`),
    '',
    ...plots,
  ].join('\n');
}

function totals(results: readonly SceneResult[]): string[] {
  const calls = results.reduce((total, { played }) => total + played.length, 0);
  const total = (count: Count) => results.reduce((before, result) => before + sum(result, count), 0);
  const list = (name: List) => results.flatMap((result) => all(result, name));
  const alignment = results.flatMap(({ played }) =>
    played.flatMap(({ alignmentMs }) => (alignmentMs === null ? [] : [Math.abs(alignmentMs)])),
  );
  const off = list('heardWordsOff');
  const faults = COUNTS.filter(([, count]) => total(count) > 0).map(
    ([name, count]) => `${name} ${total(count)}`,
  );
  const load = loadavg()[1] ?? 0;
  return [
    `${new Date().toISOString().slice(0, 10)}, on ${cpus().length} cores with a load average of ` +
      `${load.toFixed(1)}. Above one per core, other programs distort the times.`,
    `${calls} calls, ${total('wordsSaid')} words said.`,
    `Faults: ${faults.length === 0 ? 'none' : faults.join(', ')}.`,
    `Replies p50 / p95: ${quantiles(list('replyMs'))} ms. Interruption to silence p50 / p95: ` +
      `${quantiles(list('stopMs'))} ms.`,
    ...speculationSaves(results),
    `Transcript of a cut reply against the voice's own word times: p95 ${quantile(off, 0.95)} words off ` +
      `(${off.length} replies).`,
    `Recording tracks against the wire: at most ${Math.max(0, ...alignment).toFixed(1)} ms apart, p95 ` +
      `${quantile(alignment, 0.95).toFixed(1)} ms (${alignment.length} recordings).`,
  ];
}

/** Time saved by speculation: the same telephone question with and without it. */
function speculationSaves(results: readonly SceneResult[]): string[] {
  const [early, late] = SPECULATION_PAIR.map((name) => {
    const result = results.find(({ item }) => item.name === name && item.over === 'phone');
    return quantile(result ? all(result, 'replyMs') : [], 0.5);
  });
  const savedMs = Number(late) - Number(early);
  if (Number.isNaN(savedMs)) return [];
  return [
    `Speculation: the same question is answered ${savedMs.toFixed(0)} ms sooner (medians); the model ` +
      `takes ${FIRST_TOKEN_MS} ms to produce its first token.`,
  ];
}

function formatValues(values: readonly number[]): string {
  return values.length === 0 ? '' : `${quantile(values, 0.5).toFixed(0)} / ${Math.max(...values).toFixed(0)}`;
}

function quantiles(values: readonly number[]): string {
  return `${quantile(values, 0.5).toFixed(0)} / ${quantile(values, 0.95).toFixed(0)}`;
}

/** One row per scene: a bar from the fastest to the slowest, with a mark at the median. */
function plot(title: string, results: readonly SceneResult[], list: 'replyMs' | 'stopMs'): string {
  const rows = results
    .map((result) => ({ title: nameOf(result), values: all(result, list) }))
    .filter(({ values }) => values.length > 0);
  const most = Math.max(1_000, ...rows.flatMap(({ values }) => values));
  const x = (ms: number) => BAR.left + (Math.max(0, ms) / most) * BAR.width;
  const y = (row: number) => BAR.axis + 12 + row * (BAR.height + BAR.gap);
  const height = y(rows.length) + 24;
  const shapes = [
    titleOf(title),
    ...ticks(most, TICK_MS).map(
      (ms) =>
        `<path d="M${x(ms)} ${BAR.axis}V${height - 20}" stroke="#ccc"/><text x="${x(ms)}" ` +
        `y="${height - 6}" text-anchor="middle" fill="#666">${ms}</text>`,
    ),
    ...rows.map(({ title: name, values }, row) => {
      const [from, to] = [x(Math.min(...values)), x(Math.max(...values))];
      const middle = y(row) + BAR.height / 2;
      return [
        `<text x="${BAR.left - 8}" y="${middle + 4}" text-anchor="end" fill="#333">${escapeXml(name)}</text>`,
        `<rect x="${from - 2}" y="${y(row) + 4}" width="${Math.max(4, to - from + 4)}" ` +
          `height="${BAR.height - 8}" rx="4" fill="#9db8e8"/>`,
        `<circle cx="${x(quantile(values, 0.5))}" cy="${middle}" r="5" fill="#2f5bb7"/>`,
      ].join('');
    }),
  ];
  return svgOf({ width: BAR.left + BAR.width + 30, height }, shapes);
}
