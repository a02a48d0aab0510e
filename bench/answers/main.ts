/**
 * `npm run scenes:answers`: callers of `catalogue.ts` answer in virtual time, so that the load of the machine
 * changes nothing. Writes the figures to bench/answers/results.json, the table into docs/measuring.md, and
 * the plot of cut-offs against waits. With `-- --as-before` it writes the figures of comparison only: run it
 * so on the version to compare with.
 */
import { parseArgs } from 'node:util';
import { type Answered, answer, type Exchange } from './callers.ts';
import { ANSWERS } from './catalogue.ts';
import {
  type AnswerSet,
  type Figures,
  readResults,
  SETS,
  tableOf,
  writeReport,
  writeResults,
} from './report.ts';

/** Callers for each answer. */
const CALLERS = 100;
const DEFAULT_WAIT_MS = 550;
/** Settings of the curve. */
const WAITS_MS = [300, 400, DEFAULT_WAIT_MS, 700, 900, 1_200, 1_600, 2_000];

const { values } = parseArgs({ options: { 'as-before': { type: 'boolean', default: false } } });

function exchangesOf(set: AnswerSet): readonly Exchange[] {
  return Object.entries(ANSWERS).flatMap(([language, answers]) =>
    answers[set].map(([kind, question, text]) => ({ language, kind, question, breaths: text.split(' | ') })),
  );
}

/** The same callers for every setting and version: seeds belong to the answer. */
function answered(set: AnswerSet, waitMs: number): readonly Answered[] {
  return exchangesOf(set).flatMap((exchange, index) =>
    Array.from({ length: CALLERS }, (_, caller) => answer(exchange, 1 + index * CALLERS + caller, waitMs)),
  );
}

const figures = Object.fromEntries(
  SETS.map((set) => [set, WAITS_MS.map((waitMs) => ({ waitMs, answers: answered(set, waitMs) }))]),
) as unknown as Figures;
const results = readResults();
const written = writeResults(
  values['as-before'] ? { ...results, before: figures } : { ...results, after: figures },
);
console.log(tableOf(written, DEFAULT_WAIT_MS));
if (!values['as-before']) writeReport(written, DEFAULT_WAIT_MS);
