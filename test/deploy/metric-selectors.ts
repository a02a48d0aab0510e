/**
 * Which metrics, labels and values an expression of Prometheus names that the product does not have. No
 * parser: quoted texts and lists of labels are cut out, and every other word must be known.
 */
import { listFaults } from '#config/errors.ts';
import { createMetrics } from '#control-plane/platform/metrics.ts';
import { createWorkerMetrics } from '#runtime/worker/worker-metrics.ts';

/** Labels with their values; null: any value. */
type Known = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string> | null>>;

const SCRAPED = new Map([
  ['job', null],
  ['instance', null],
]);
const ALERTS = new Map([
  ['alertname', null],
  ['severity', new Set(['critical', 'warning'])],
  ['alertstate', new Set(['pending', 'firing'])],
]);
const WORDS = new Set(['and', 'or', 'unless', 'by', 'without', 'on', 'ignoring', 'bool']);

/** The metrics of docs/metrics.md and their series. */
export function documentedMetrics(page: string): Known {
  const known = new Map<string, Map<string, Set<string> | null>>();
  const rows = page
    .split('\n')
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
  for (const [name, type = '', labels] of rows)
    if (/^(?:counter|gauge|histogram)$/.test(type))
      addMetric(known, { name: quoted(name)[0] ?? '', type, labels: quoted(labels) });
  for (const [label, values = '', metrics] of rows)
    for (const series of quoted(metrics).flatMap(seriesOf)) {
      const set = known.get(series)?.get(quoted(label)[0] ?? '');
      for (const value of valuesIn(values)) set?.add(value);
    }
  for (const [, name = ''] of page.matchAll(/`((?:nodejs|process)_\w+)`/g)) known.set(name, new Map(SCRAPED));
  return known.set('up', new Map(SCRAPED)).set('ALERTS', new Map<string, Set<string> | null>(ALERTS));
}

/** Workers and control planes may have a metric of the same name. */
function addMetric(
  known: Map<string, Map<string, Set<string> | null>>,
  {
    name,
    type,
    labels,
  }: { readonly name: string; readonly type: string; readonly labels: readonly string[] },
): void {
  for (const series of type === 'histogram' ? seriesOf(name) : [name]) {
    const own = known.get(series) ?? new Map<string, Set<string> | null>(SCRAPED);
    for (const label of labels) own.set(label, own.get(label) ?? new Set());
    if (series.endsWith('_bucket')) own.set('le', null);
    known.set(series, own);
  }
}

/** The series that a metric has if it is a histogram. */
function seriesOf(name: string): string[] {
  return [name, `${name}_count`, `${name}_sum`, `${name}_bucket`];
}

function valuesIn(cell: string): readonly string[] {
  return cell.includes('(errors.md)') ? listFaults().map(({ code }) => code) : quoted(cell);
}

function quoted(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
}

/** What is unknown in an expression. `recorded`: the names of recording rules. */
export async function problemsOf(
  expression: string,
  known: Known,
  recorded: ReadonlySet<string>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [, name = '', matchers = ''] of expression.matchAll(/([\w:]+)\{([^}]*)\}/g))
    for (const [, label = '', operator = '', text = ''] of matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)) {
      const values = known.get(name)?.get(label);
      if (values === undefined) problems.push(`${name} has no label ${label}`);
      else if (label === 'le') problems.push(...(await bucketProblems(name, text)));
      else problems.push(...unknownValues(values, operator.includes('~') ? text.split('|') : [text]));
    }
  return [...problems, ...unknownNames(expression, (name) => known.has(name) || recorded.has(name))];
}

function unknownValues(values: ReadonlySet<string> | null, used: readonly string[]): string[] {
  return used.filter((value) => values?.has(value) === false).map((value) => `no label has ${value}`);
}

function unknownNames(expression: string, isKnown: (name: string) => boolean): string[] {
  const bare = expression
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/"[^"]*"/g, '')
    .replace(/\b(?:by|on|without|ignoring) \([^)]*\)/g, '');
  return [...bare.matchAll(/(?<![\w.:])([a-zA-Z_:][\w:]*)(?![\w:]| *\()/g)]
    .map(([, name = '']) => name)
    .filter((name) => !isKnown(name) && !WORDS.has(name))
    .map((name) => `there is no ${name}`);
}

let scrapes: Promise<readonly string[]> | null = null;

/** The text is one bound as this product writes it, or also as Prometheus 3 stores whole ones: `3|3.0`. */
async function bucketProblems(name: string, text: string): Promise<string[]> {
  scrapes ??= scrapeHistograms();
  const bodies = await scrapes;
  const [bound = ''] = text.split('|');
  const isBothWays = text === (bound.includes('.') ? bound : `${bound}|${bound}.0`);
  const series = new RegExp(`^${name}\\{(?:.*,)?le="${bound}"`, 'm');
  return isBothWays && bodies.some((body) => series.test(body)) ? [] : [`${name} has no bucket ${text}`];
}

/** A histogram with labels has no series before its first value. */
async function scrapeHistograms(): Promise<readonly string[]> {
  const [plane, worker] = [createMetrics(), createWorkerMetrics()];
  plane.turns.observe({ channel: 'web_voice' }, 1);
  plane.silences.observe({ cause: 'model', ended_by: 'agent' }, 1);
  return Promise.all([plane, worker].map(async ({ meters }) => (await meters.scrape()).body));
}
