/** The table of all cases. */
import { quantile } from '#caller/statistics.ts';
import { CASES } from './cases.ts';
import type { CaseResult } from './run-case.ts';
import { missesOf } from './verdict.ts';

const COLUMNS = ['Fault', 'Disturbed', 'Dropped', 'Agent’s voice again', 'Limit'];
const BOOKS = ['Settled once', 'Ledger', 'Webhooks', 'Verdict', 'Taken'];
const HEAD = [toRow([...COLUMNS, ...BOOKS]), toRow([...COLUMNS, ...BOOKS].map(() => '---'))];

/** When the results were taken, and on what machine. */
export interface Taken {
  readonly day: string;
  readonly setUp: string;
}

/** The table in Markdown; rows of cases that did not run are taken from an earlier one. */
export function toMarkdown(results: readonly CaseResult[], taken: Taken, earlier = ''): string {
  const rows = CASES.flatMap(({ name, title }) => {
    const result = results.find(({ of }) => of.name === name);
    if (result) return [rowOf(result, taken)];
    return earlier.split('\n').filter((line) => line.startsWith(`| ${title} |`));
  });
  return [...HEAD, ...rows].join('\n');
}

function rowOf(result: CaseResult, { day, setUp }: Taken): string {
  const { of, gapsMs, books } = result;
  const flawed = new Set(books.flaws.flatMap((flaw) => /^session (\S+)/.exec(flaw)?.[1] ?? [])).size;
  const isLedgerRight = !books.flaws.some((flaw) => /wallet|ledger|charged/.test(flaw));
  const reported = books.sessions - books.unreported;
  const cells = [
    of.title,
    `${gapsMs.length} of ${result.phones + result.participants}`,
    String(books.dropped.length),
    gapsMs.length === 0 ? '–' : gapOf(gapsMs),
    of.limitMs === 0 ? 'none disturbed' : `p95 ≤ ${of.limitMs / 1_000} s`,
    `${books.sessions - flawed} of ${books.sessions}`,
    isLedgerRight ? 'right' : 'wrong',
    `${reported} of ${books.sessions}${books.repeated === 0 ? '' : `, ${books.repeated} twice`}`,
    missesOf(result).length === 0 ? 'met' : 'missed',
    `${day}: ${result.phones} phones, ${result.participants} in rooms, ${setUp}`,
  ];
  return toRow(cells);
}

function toRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function gapOf(gapsMs: readonly number[]): string {
  const [p50, p95, worst] = [0.5, 0.95, 1].map((q) => shown(quantile(gapsMs, q)));
  return `p50 ${p50} · p95 ${p95} · worst ${worst}`;
}

function shown(ms: number): string {
  return Number.isFinite(ms) ? `${(ms / 1_000).toFixed(1)} s` : 'never';
}
