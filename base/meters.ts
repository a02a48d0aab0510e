/**
 * Metrics for Prometheus. Every label has a set of known values, and any other value becomes `other`: no
 * input from outside can add a time series.
 */
import { createRequire } from 'node:module';
import { cpuUsage } from 'node:process';
import type * as Prometheus from 'prom-client';

const require = createRequire(import.meta.url);
/** Only the parts of the library that are used: the rest loads OpenTelemetry and a client of HTTP. */
const part = (name: string): unknown => require(`prom-client/lib/${name}`);
const Counter = part('counter') as typeof Prometheus.Counter;
const Gauge = part('gauge') as typeof Prometheus.Gauge;
const Histogram = part('histogram') as typeof Prometheus.Histogram;
const Registry = part('registry') as typeof Prometheus.Registry;
/** The library's metrics of a process, but those of CPU time. */
const PROCESS_METRICS = [
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'processResources',
  'processHandles',
  'processRequests',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
  'gc',
];
type ProcessMetric = (registry: Prometheus.Registry, config: object) => void;

/** Known values of each label. */
export type LabelSets<Label extends string> = Readonly<Record<Label, Iterable<string>>>;
type Values<Label extends string> = Readonly<Record<Label, string>>;

/** Takes the place of an unknown value. */
export const OTHER = 'other';
/** A counter of at most so many series has them from the start: `rate` then sees the first event. */
const MOST_COUNTERS_AT_START = 1_024;
/** The same for a histogram, each series of which is a counter for every bucket. */
const MOST_HISTOGRAMS_AT_START = 20;
/** Interval of the samples of the event loop; each wakes the process. A lag contains one interval. */
const LAG_SAMPLE_MS = 50;
/** The mean of a histogram of the event loop that has no samples, as the library prints it. */
const NO_LAG = /^nodejs_eventloop_lag_mean_seconds nan$/im;
/** The values of that histogram. */
const LAG_VALUES = /^nodejs_eventloop_lag_(?:min|max|mean|stddev|p\d+)_seconds .*\n/gm;

/** The common parts of all metrics. */
interface About<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: LabelSets<Label>;
}

/** A metric of the registry, for its page. */
export interface MeterFacts {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: Readonly<Record<string, readonly string[]>>;
}

/** Counts events. */
export interface Count<Label extends string = never> {
  inc(labels: Values<Label>, by?: number): void;
}

/** The distribution of a quantity. What is not a number is left out: measuring never makes work fail. */
export interface Distribution<Label extends string = never> {
  /** `traceId` links the value to its trace. */
  observe(labels: Values<Label>, value: number, traceId?: string | null | undefined): void;
}

/** The values of a gauge at a scrape; null if the value is unknown now. */
type Reading<Label extends string> = readonly { readonly labels: Values<Label>; readonly value: number }[];

/** The answer to a scrape. */
export interface Scrape {
  readonly contentType: string;
  readonly body: string;
}

/** The metrics of one process. */
export class Meters {
  readonly #registry: Prometheus.Registry = new Registry();
  readonly #facts: MeterFacts[] = [];
  #scrapes: Promise<unknown> = Promise.resolve();
  /** The metrics of the process are added by the first scrape: sampling the event loop wakes the process. */
  #isProcessDue = false;

  constructor() {
    setType(this.#registry, Registry.OPENMETRICS_CONTENT_TYPE);
  }

  /** Adds the metrics of the process and of its event loop (`process_…`, `nodejs_…`). */
  addProcess(): this {
    this.#isProcessDue = true;
    return this;
  }

  counter<Label extends string = never>(about: About<Label>): Count<Label> {
    const bounded = this.#add('counter', about);
    const counter = new Counter({ ...promOf(about), registers: [this.#registry] });
    for (const labels of startOf(about, MOST_COUNTERS_AT_START)) counter.inc(labels, 0);
    return { inc: (labels, by = 1) => counter.inc(bounded(labels), by) };
  }

  /** Calls `read` at each scrape: a total that something else counts. */
  total(about: About<never> & { readonly read: () => number }): void {
    const { read } = about;
    this.#add('counter', about);
    new Counter({
      ...promOf(about),
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  /** `buckets`: upper bounds, rising. `hasExemplars`: values may come with a trace. */
  histogram<Label extends string = never>(
    about: About<Label> & { readonly buckets: readonly number[]; readonly hasExemplars?: boolean },
  ): Distribution<Label> {
    const bounded = this.#add('histogram', about);
    const histogram = new Histogram({
      ...promOf(about),
      buckets: [...about.buckets],
      enableExemplars: about.hasExemplars === true,
      registers: [this.#registry],
    });
    for (const labels of startOf(about, MOST_HISTOGRAMS_AT_START)) histogram.zero(labels);
    if (about.hasExemplars !== true)
      return {
        observe(labels, value) {
          if (Number.isFinite(value)) histogram.observe(bounded(labels), value);
        },
      };
    return {
      observe(labels, value, traceId = null) {
        if (!Number.isFinite(value)) return;
        const exemplarLabels = traceId === null ? {} : { trace_id: traceId };
        histogram.observe({ labels: bounded(labels), value, exemplarLabels });
      },
    };
  }

  /** Calls `read` at each scrape. A value that is not known has no sample. */
  gauge(about: About<never> & { readonly read: () => number | null | Promise<number | null> }): void {
    const { read } = about;
    this.gauges({
      ...about,
      read: async () => {
        const value = await read();
        return value === null ? [] : [{ labels: {}, value }];
      },
    });
  }

  /** A gauge with labels. Calls `read` at each scrape. */
  gauges<Label extends string>(
    about: About<Label> & { readonly read: () => Reading<Label> | Promise<Reading<Label>> },
  ): void {
    const { read } = about;
    const bounded = this.#add('gauge', about);
    new Gauge({
      ...promOf(about),
      registers: [this.#registry],
      async collect() {
        const samples = await read();
        this.reset();
        // A gauge without labels is 0 after a reset.
        if (samples.length === 0 && about.labels === undefined) this.remove();
        for (const { labels, value } of samples) this.set(bounded(labels), value);
      },
    });
  }

  /** Every metric but those of the process. */
  describe(): readonly MeterFacts[] {
    return this.#facts;
  }

  /** Text for Prometheus. With OpenMetrics, if the client accepts it, exemplars are part of it. */
  scrape(accept = ''): Promise<Scrape> {
    const isOpen = accept.includes('application/openmetrics-text');
    // One after the other: the registry has one type for all.
    const scrape = this.#scrapes.then(() => this.#text(isOpen));
    this.#scrapes = scrape.catch(() => undefined);
    return scrape;
  }

  async #text(isOpen: boolean): Promise<Scrape> {
    const registry = this.#registry;
    if (this.#isProcessDue) {
      this.#isProcessDue = false;
      addProcessorTime(registry);
      for (const name of PROCESS_METRICS)
        (part(`metrics/${name}`) as ProcessMetric)(registry, { eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
    }
    setType(registry, isOpen ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE);
    // For OpenMetrics the registry takes `_total` off the names of counters, and leaves it so.
    const counters = registry
      .getMetricsAsArray()
      .flatMap((metric) =>
        (metric as { type?: unknown }).type === 'counter' ? [[metric, metric.name] as const] : [],
      );
    try {
      const body = await registry.metrics();
      // Its samples begin with the first scrape. A value that is not known has no sample.
      const known = NO_LAG.test(body) ? body.replace(LAG_VALUES, '') : body;
      return { contentType: registry.contentType, body: known };
    } finally {
      for (const [metric, name] of counters) metric.name = name;
      // Only to such a registry can metrics with exemplars be added.
      setType(registry, Registry.OPENMETRICS_CONTENT_TYPE);
    }
  }

  /** Notes the metric; returns what replaces unknown values of its labels. */
  #add<Label extends string>(
    type: MeterFacts['type'],
    { name, help, labels }: About<Label>,
  ): (values: Values<Label>) => Record<Label, string> {
    const sets = Object.entries<Iterable<string>>(labels ?? {}).map(
      ([label, values]) => [label as Label, values instanceof Set ? values : new Set(values)] as const,
    );
    this.#facts.push({
      name,
      type,
      help,
      get labels() {
        return Object.fromEntries(sets.map(([label, values]) => [label, [...values]]));
      },
    });
    return (values) => {
      const bounded = {} as Record<Label, string>;
      for (const [label, known] of sets) bounded[label] = known.has(values[label]) ? values[label] : OTHER;
      return bounded;
    };
  }
}

/** Its type says that a registry has one type for ever; the library changes it at any time. */
function setType(registry: Prometheus.Registry, type: string): void {
  registry.setContentType(type as Parameters<Prometheus.Registry['setContentType']>[0]);
}

function addProcessorTime(registry: Prometheus.Registry): void {
  const add = (name: string, kind: string, read: (usage: NodeJS.CpuUsage) => number) =>
    new Counter({
      name,
      help: `Total ${kind} CPU time spent in seconds.`,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read(cpuUsage()) / 1e6);
      },
    });
  add('process_cpu_user_seconds_total', 'user', ({ user }) => user);
  add('process_cpu_system_seconds_total', 'system', ({ system }) => system);
  add('process_cpu_seconds_total', 'user and system', ({ user, system }) => user + system);
}

function promOf<Label extends string>({ name, help, labels }: About<Label>) {
  return { name, help, labelNames: Object.keys(labels ?? {}) };
}

/** All combinations of label values, unless they are more than `most`. */
function startOf({ labels = {} }: About<string>, most: number): Record<string, string>[] {
  let series: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    series = [...values].flatMap((value) => series.map((labelled) => ({ ...labelled, [label]: value })));
    if (series.length > most) return [];
  }
  return Object.keys(labels).length === 0 ? [] : series;
}
