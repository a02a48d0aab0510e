/**
 * `npm run scenes:answers`: callers of `catalogue.ts`, `opened.ts`, `unseen.ts` and `fresh.ts` answer in
 * virtual time, and those of `listeners.ts` make sounds while the agent speaks, so that the load of the
 * machine changes nothing. Writes the figures to bench/answers/results.json, the tables into
 * docs/measuring.md, and the plot of cut-offs against waits. With `-- --as-before` it writes the figures of
 * comparison only, and with `-- --listeners-as-before` those of the sounds: run it so on the version to
 * compare with. `--only fresh` runs the sounds and one set, `--only listeners` the sounds alone, and leaves
 * the figures of the others.
 */
import { parseArgs } from 'node:util';
import { type Answered, answer, type Exchange } from './callers.ts';
import { ANSWERS, type Row } from './catalogue.ts';
import { FRESH } from './fresh.ts';
import { listened } from './listeners.ts';
import { OPENED } from './opened.ts';
import {
  type AnswerSet,
  DEFAULT_WAIT_MS,
  type Figures,
  listenersTableOf,
  type Results,
  readResults,
  SETS,
  sumsOfSets,
  tableOf,
  writeReport,
  writeResults,
} from './report.ts';
import { ADDED, hintOf, UNSEEN } from './unseen.ts';

/** Callers for each answer. */
const CALLERS = 100;
/** Of them add something to an answer that looks whole, in the set `adding`. */
const ADDING = 4;
/** Settings of the curve. */
const WAITS_MS = [300, 400, DEFAULT_WAIT_MS, 700, 900, 1_200, 1_600, 2_000];

const { values } = parseArgs({
  options: {
    'as-before': { type: 'boolean', default: false },
    'listeners-as-before': { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});

function rowsOf(set: AnswerSet): Readonly<Record<string, readonly Row[]>> {
  if (set === 'opened') return OPENED;
  if (set === 'fresh') return FRESH;
  if (set !== 'tuning' && set !== 'heldBack') return UNSEEN;
  return Object.fromEntries(Object.entries(ANSWERS).map(([language, answers]) => [language, answers[set]]));
}

function exchangesOf(set: AnswerSet): readonly Exchange[] {
  return Object.entries(rowsOf(set)).flatMap(([language, rows]) =>
    rows.map((row) => ({
      language,
      kind: row[0],
      question: row[1],
      breaths: row[2].split(' | '),
      ...(set === 'hinted' ? { hint: hintOf(row, language) } : {}),
    })),
  );
}

/** The same callers for every setting and version: seeds belong to the answer. */
function answered(set: AnswerSet, waitMs: number): readonly Answered[] {
  return exchangesOf(set).flatMap((exchange, index) =>
    Array.from({ length: CALLERS }, (_, caller) => {
      const isAdding = set === 'adding' && caller < ADDING;
      const added = isAdding ? [ADDED[exchange.language] ?? ''] : [];
      const whole = { ...exchange, breaths: [...exchange.breaths, ...added] };
      return answer(whole, 1 + index * CALLERS + caller, waitMs);
    }),
  );
}

function measured(): Results {
  const known = readResults();
  if (values['listeners-as-before']) return { ...known, listenersBefore: listened() };
  const { only } = values;
  const sets = SETS.filter((set) => only === undefined || set === only);
  const figures: Figures = Object.fromEntries(
    sets.map((set) => [set, WAITS_MS.map((waitMs) => ({ waitMs, answers: answered(set, waitMs) }))]),
  );
  const sums = sumsOfSets(figures);
  return values['as-before']
    ? { ...known, before: { ...known.before, ...sums } }
    : { ...known, after: { ...known.after, ...sums }, listeners: listened() };
}

const results = measured();
writeResults(results);
console.log(`${tableOf(results)}\n\n${listenersTableOf(results)}`);
if (!values['as-before'] && !values['listeners-as-before']) writeReport(results);
