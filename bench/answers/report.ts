/** Sums up the answers as figures, as a table in docs/measuring.md, and as a plot. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { quantile } from '#caller/statistics.ts';
import { putBetween } from '#scripts/put-between.ts';
import type { Answered } from './callers.ts';
import type { Listened } from './listeners.ts';
import { plotOf } from './plot.ts';

const DOCUMENT = 'docs/measuring.md';
const IMAGES = new URL('../../docs/images/answers/', import.meta.url);
const RESULTS = new URL('./results.json', import.meta.url);
const [BEGIN, END] = ['<!-- answers: written by npm run scenes:answers -->', '<!-- end of answers -->'];

/**
 * Answers that rules were written against, and those that were held back. `hinted`: with the model's hints;
 * `adding`: some callers add something to an answer that looks whole.
 */
export const SETS = ['tuning', 'heldBack', 'opened', 'unseen', 'hinted', 'adding'] as const;
export type AnswerSet = (typeof SETS)[number];
const TITLES: Readonly<Record<AnswerSet, string>> = {
  tuning: 'tuning',
  heldBack: 'held back',
  opened: 'opened',
  unseen: 'unseen',
  hinted: 'unseen with hints',
  adding: 'unseen, some add',
};
/** Lines of the plot. */
const DRAWN = [
  ['before', 'unseen'],
  ['after', 'unseen'],
  ['after', 'hinted'],
] as const satisfies readonly (readonly ['before' | 'after', AnswerSet])[];

/** `response_wait_ms` of the tables. */
export const DEFAULT_WAIT_MS = 550;

/** All answers of a set, by `response_wait_ms`. */
export type Figures = Readonly<
  Record<AnswerSet, readonly { readonly waitMs: number; readonly answers: readonly Answered[] }[]>
>;

/** Sums of some answers. Waits in ms, from the end of the answer to the first sound. */
export interface Sums {
  readonly turns: number;
  readonly cutOffPer100: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** The sums of one setting. */
export interface Point extends Sums {
  readonly waitMs: number;
}

/** The sums of a set: of all answers by setting, and of each language and kind at the default setting. */
export interface SetSums {
  readonly points: readonly Point[];
  readonly languages: Readonly<Record<string, Sums>>;
  readonly kinds: Readonly<Record<string, Sums>>;
}

type SumsOfSets = Readonly<Record<AnswerSet, SetSums>>;

/** By set; `before` are those of the version to compare with. */
export interface Results {
  readonly before?: SumsOfSets;
  readonly after?: SumsOfSets;
  /** By language. */
  readonly listeners?: Readonly<Record<string, Listened>>;
}

/** The figures of the last run, if there was one. */
export function readResults(): Results {
  return existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results) : {};
}

/** Writes the results. */
export function writeResults(results: Results): void {
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 1)}\n`);
}

/** The sums of all answers. */
export function sumsOfSets(figures: Figures): SumsOfSets {
  return Object.fromEntries(SETS.map((set) => [set, sumsOfSet(figures[set])])) as unknown as SumsOfSets;
}

function sumsOfSet(settings: Figures[AnswerSet]): SetSums {
  const usual = settings.find(({ waitMs }) => waitMs === DEFAULT_WAIT_MS)?.answers ?? [];
  const by = (key: 'language' | 'kind') =>
    Object.fromEntries(
      [...Map.groupBy(usual, (answer) => answer[key])].map(([value, answers]) => [value, sumsOf(answers)]),
    );
  return {
    points: settings.map(({ answers, waitMs }) => ({ waitMs, ...sumsOf(answers) })),
    languages: by('language'),
    kinds: by('kind'),
  };
}

function sumsOf(answers: readonly Answered[]): Sums {
  const waits = answers.flatMap(({ waitMs }) => (waitMs === null ? [] : [waitMs]));
  const cut = answers.filter(({ isCutOff }) => isCutOff).length;
  return {
    turns: answers.length,
    cutOffPer100: Math.round((1_000 * cut) / answers.length) / 10,
    p50Ms: Math.round(quantile(waits, 0.5)),
    p95Ms: Math.round(quantile(waits, 0.95)),
  };
}

/** Rows of all languages and kinds at the default setting, before and after. */
export function tableOf({ after, before }: Results): string {
  const rows = SETS.flatMap((set) => {
    const [was, is] = [before?.[set], after?.[set]];
    const shown = is ?? was;
    if (shown === undefined) return [];
    const row = (name: string, of: (sums: SetSums) => Sums | undefined) => [
      `${name}, ${TITLES[set]}`,
      ...[was, is].flatMap((sums) => cellsOf(sums && of(sums))),
    ];
    return [
      row('all', ({ points }) => points.find(({ waitMs }) => waitMs === DEFAULT_WAIT_MS)),
      ...Object.keys(shown.languages).map((name) => row(`\`${name}\``, ({ languages }) => languages[name])),
      ...Object.keys(shown.kinds).map((name) => row(name, ({ kinds }) => kinds[name])),
    ];
  });
  const head = ['Answers', 'cut off before', 'p50 before', 'p95 before', 'cut off', 'p50', 'p95'];
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** Rows of the languages: replies over which a caller makes a sound. */
export function listenersTableOf({ listeners = {} }: Results): string {
  const head = ['Language', 'replies', 'cut off by a listener', 'of unseen words', 'interruptions missed'];
  const rows = Object.entries(listeners).map(
    ([language, { falsePer100, missedPer100, replies, unseenPer100 }]) =>
      line([`\`${language}\``, ...[replies, falsePer100, unseenPer100, missedPer100].map(String)]),
  );
  return [line(head), line(head.map(() => '---')), ...rows].join('\n');
}

function cellsOf(sums: Sums | undefined): readonly string[] {
  return sums === undefined
    ? ['', '', '']
    : [String(sums.cutOffPer100), String(sums.p50Ms), String(sums.p95Ms)];
}

/** Writes the table and the plot. */
export function writeReport(results: Results): void {
  mkdirSync(IMAGES, { recursive: true });
  const lines = DRAWN.map(([version, set]) => ({
    name: `${version}, ${TITLES[set]}`,
    isAfter: version === 'after',
    isDashed: version === 'after' && set === 'unseen',
    points: (results[version]?.[set].points ?? []).map(({ cutOffPer100, p50Ms }) => ({
      x: p50Ms,
      y: cutOffPer100,
    })),
  }));
  const title = 'Callers cut off, of 100 answers, against the median wait for the agent’s first sound, ms';
  writeFileSync(new URL('cut-offs.svg', IMAGES), plotOf(title, lines));
  const text = [
    tableOf(results),
    '![Cut-offs against waits](images/answers/cut-offs.svg)',
    listenersTableOf(results),
  ].join('\n\n');
  putBetween(DOCUMENT, BEGIN, END, `\n${text}\n`);
}
