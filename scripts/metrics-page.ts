/**
 * `npm run docs:metrics`: generates the tables of docs/metrics.md from the metrics that the parts register,
 * so that the page is never out of date.
 */
import { systemClock } from '#base/clock.ts';
import { type MeterFacts, Meters } from '#base/meters.ts';
import { addHeldMetrics } from '#control-plane/calls/recordings/store-silent.ts';
import { addWorkerMetrics } from '#control-plane/calls/workers/worker-metrics.ts';
import { addArchiveMetrics } from '#control-plane/operations/archive/archive-sessions.ts';
import { addStateMetrics } from '#control-plane/operations/health/state-metrics.ts';
import { addRetentionMetrics } from '#control-plane/operations/privacy/retention.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { createMetrics } from '#control-plane/platform/metrics.ts';
import { healthOfSignalling } from '#processes/signalling-health.ts';
import { healthOf, type WorkerParts } from '#processes/worker-health.ts';
import { createWorkerMetrics } from '#runtime/worker/worker-metrics.ts';
import { putBetween } from './put-between.ts';

/** The page, and what its tables stand between. */
export const METRICS_PAGE = ['docs/metrics.md', '<!-- metrics:begin -->', '<!-- metrics:end -->'] as const;

const PARTS = { 'Control plane': ofControlPlane, Worker: ofWorker, Signalling: ofSignalling } as const;
/** Sets of values that are too long for a table, by metric and label. */
const LONG: Readonly<Record<string, string>> = {
  'parley_http_request_seconds/route': 'pattern of the route',
  'parley_refusals_total/reason': '[code](errors.md) of the fault',
};

/** The tables' text. */
export function metricsTables(): string {
  const sets = new Map<string, Set<string>>();
  const tables = Object.entries(PARTS).map(([part, metricsOf]) => {
    const rows = metricsOf().map((metric) => {
      for (const [label, values] of Object.entries(metric.labels)) {
        const text = LONG[`${metric.name}/${label}`] ?? values.map((value) => `\`${value}\``).join(' ');
        const key = `\`${label}\` | ${text}`;
        sets.set(key, (sets.get(key) ?? new Set()).add(`\`${metric.name}\``));
      }
      const names = Object.keys(metric.labels).map((label) => `\`${label}\``);
      const columns = [`\`${metric.name}\``, metric.type, names.join(' '), unitOf(metric), metric.help];
      return `| ${columns.join(' | ')} |`;
    });
    return [
      `## ${part}`,
      '',
      '| Name | Type | Labels | Unit | Meaning |',
      '|---|---|---|---|---|',
      ...rows,
      '',
    ];
  });
  const values = [...sets].map(([key, names]) => `| ${key} | ${[...names].join(' ')} |`);
  return [
    '',
    ...tables.flat(),
    '## Values of labels',
    '',
    'Any other value is `other`.',
    '',
    '| Label | Values | Metrics |',
    '|---|---|---|',
    ...values,
    '',
  ].join('\n');
}

function unitOf({ name, type }: MeterFacts): string {
  const [, unit] = /_(seconds|bytes|dollars|ratio)(?:_total)?$/.exec(name) ?? [];
  if (unit !== undefined) return unit;
  if (name.endsWith('_mos')) return 'MOS';
  return type === 'counter' ? 'events' : '1';
}

/** Nothing of a part is read here: no process runs. */
const absent = <Part>() => ({}) as Part;

function ofControlPlane(): readonly MeterFacts[] {
  const metrics = createMetrics();
  addWorkerMetrics(metrics.meters, { describe: () => [], isStopping: false });
  addStateMetrics({ ...absent<Context>(), metrics });
  addRetentionMetrics(metrics.meters, () => 0);
  addArchiveMetrics(metrics.meters);
  addHeldMetrics(metrics.meters, () => 0);
  return metrics.meters.describe();
}

function ofWorker(): readonly MeterFacts[] {
  const { meters } = createWorkerMetrics();
  const worker = { ...absent<WorkerParts['worker']>(), kinds: ['web'] } as const;
  healthOf({ meters, worker, uploads: absent(), leftBytes: () => 0, clock: systemClock });
  return meters.describe();
}

function ofSignalling(): readonly MeterFacts[] {
  const meters = new Meters();
  healthOfSignalling(absent(), absent(), meters);
  return meters.describe();
}

if (import.meta.main) putBetween(...METRICS_PAGE, metricsTables());
