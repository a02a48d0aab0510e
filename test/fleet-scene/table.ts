/** The verdict on a case, and the table of all of them. */
import { quantile } from '#caller/statistics.ts';
import { CASES } from './cases.ts';
import type { CaseResult } from './run-case.ts';

const COLUMNS = ['Fault', 'Disturbed', 'Dropped', 'Agent’s voice again', 'Limit'];
const BOOKS = ['Settled once', 'Ledger', 'Webhooks', 'Verdict'];
const HEAD = [toRow([...COLUMNS, ...BOOKS]), toRow([...COLUMNS, ...BOOKS].map(() => '---'))];

/** What was missed; empty if nothing was. */
export function missesOf({ of, phones, participants, heard, gapsMs, books, problems }: CaseResult): string[] {
  const calls = phones + participants;
  const { limitMs } = of;
  const worst = quantile(gapsMs, 0.95);
  return [
    ...(books.sessions === calls ? [] : [`${calls} calls became ${books.sessions} sessions`]),
    ...(heard === phones ? [] : [`${heard} of ${phones} phones heard the agent`]),
    ...books.dropped.map((session) => `dropped ${session}`),
    ...(limitMs === 0 && gapsMs.length > 0 ? [`${gapsMs.length} calls were disturbed`] : []),
    ...(limitMs > 0 && worst > limitMs ? [`p95 of the gap was ${shown(worst)}`] : []),
    ...(books.unreported === 0 ? [] : [`${books.unreported} calls were not reported`]),
    ...books.flaws,
    ...problems,
  ];
}

/** The table in Markdown; the rows of other cases are taken from an earlier one. */
export function toMarkdown(results: readonly CaseResult[], earlier = ''): string {
  const rows = CASES.flatMap(({ name, title }) => {
    const result = results.find(({ of }) => of.name === name);
    if (result) return [rowOf(result)];
    return earlier.split('\n').filter((line) => line.startsWith(`| ${title} |`));
  });
  return [...HEAD, ...rows].join('\n');
}

function rowOf(result: CaseResult): string {
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
