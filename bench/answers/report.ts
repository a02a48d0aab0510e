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
export const SETS = ['tuning', 'heldBack', 'opened', 'unseen', 'hinted', 'adding', 'fresh'] as const;
export type AnswerSet = (typeof SETS)[number];
const TITLES: Readonly<Record<AnswerSet, string>> = {
  tuning: 'tuning',
  heldBack: 'held back',
  opened: 'opened',
  unseen: 'unseen',
  hinted: 'unseen with hints',
  adding: 'unseen, some add',
  fresh: 'fresh',
};
/** Lines of the plot. */
const DRAWN = [
  ['before', 'unseen'],
  ['after', 'unseen'],
  ['after', 'hinted'],
] as const satisfies readonly (readonly ['before' | 'after', AnswerSet])[];

/** `response_wait_ms` of the tables. */
export const DEFAULT_WAIT_MS = 550;

/** The answers of one setting. */
interface AnsweredAt {
  readonly waitMs: number;
  readonly answers: readonly Answered[];
}

/** All answers of the sets that were run, by `response_wait_ms`. */
export type Figures = Readonly<Partial<Record<AnswerSet, readonly AnsweredAt[]>>>;

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

/** Those of the sets that were run. */
type SumsOfSets = Readonly<Partial<Record<AnswerSet, SetSums>>>;

/** By set; `before` are those of the version to compare with. */
export interface Results {
  readonly before?: SumsOfSets;
  readonly after?: SumsOfSets;
  /** By language; `listenersBefore` are those of the version to compare with. */
  readonly listeners?: Readonly<Record<string, Listened>>;
  readonly listenersBefore?: Readonly<Record<string, Listened>>;
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
  return Object.fromEntries(Object.entries(figures).map(([set, settings]) => [set, sumsOfSet(settings)]));
}

function sumsOfSet(settings: readonly AnsweredAt[]): SetSums {
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

/** Columns of the listeners' table, each with its figure before and now. */
const LISTENED: readonly (readonly [title: string, of: (listened: Listened) => number])[] = [
  ['cut off by a listener', ({ falsePer100 }) => falsePer100],
  ['by words held back', ({ heldBackPer100 }) => heldBackPer100],
  ['interruptions missed', ({ missedPer100 }) => missedPer100],
  ['silent after, p50', ({ silentP50Ms }) => silentP50Ms],
  ['p95', ({ silentP95Ms }) => silentP95Ms],
  ['yes ignored', ({ unansweredPer100 }) => unansweredPer100],
];

/** Rows of the languages: replies over which a caller makes a sound. */
export function listenersTableOf({ listeners = {}, listenersBefore = {} }: Results): string {
  const head = ['Language', 'replies', ...LISTENED.flatMap(([title]) => [`${title}, before`, 'now'])];
  const rows = Object.entries(listeners).map(([language, now]) => {
    const before = listenersBefore[language];
    const figures = LISTENED.flatMap(([, of]) => [before === undefined ? '' : of(before), of(now)]);
    return line([`\`${language}\``, ...[now.replies, ...figures].map(String)]);
  });
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
    points: (results[version]?.[set]?.points ?? []).map(({ cutOffPer100, p50Ms }) => ({
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
