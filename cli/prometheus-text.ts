/** Reads the text that Prometheus scrapes: the samples of a part of the product. */

/** One value of one time series. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$/;
/** Sticky: the labels follow one another, so no character is read twice. */
const LABEL = /,?([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/gy;
const ESCAPED: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' };

/** The samples of a scrape. Comments, and lines of any other form, are left out. */
export function readSamples(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const [, name, labels, value] = SAMPLE.exec(line) ?? [];
    if (name !== undefined && value !== undefined)
      samples.push({ name, labels: labelsIn(labels ?? ''), value: numberIn(value) });
  }
  return samples;
}

function labelsIn(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(LABEL))
    labels[name] = value.replace(/\\[n"\\]/g, (escaped) => ESCAPED[escaped] ?? escaped);
  return labels;
}

/** Also `+Inf`, `-Inf` and `NaN`. */
function numberIn(text: string): number {
  return Number(text.replace('Inf', 'Infinity'));
}

/**
 * Increase between two scrapes of one process. Counters and histograms have their earlier value subtracted;
 * other samples stay as they are. A counter that is lower than before was reset by a restart.
 */
export function countedSince(earlier: readonly Sample[], later: readonly Sample[]): Sample[] {
  const before = new Map(earlier.map((sample) => [keyOf(sample), sample.value]));
  return later.map((sample) => {
    if (!/_(?:total|count|sum|bucket)$/.test(sample.name)) return sample;
    const value = sample.value - (before.get(keyOf(sample)) ?? 0);
    return value < 0 ? sample : { ...sample, value };
  });
}

function keyOf({ name, labels }: Sample): string {
  return JSON.stringify([name, labels]);
}

/**
 * The value below which this share of a histogram's observations lies, interpolated in its bucket as
 * Prometheus does; null without observations. `buckets`: counts up to and including each upper bound.
 */
export function quantile(share: number, buckets: ReadonlyMap<number, number>): number | null {
  const sorted = [...buckets].sort(([one], [other]) => one - other);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total === 0) return null;
  const rank = share * total;
  let [from, below] = [0, 0];
  for (const [bound, count] of sorted) {
    if (count >= rank && count > below)
      return Number.isFinite(bound) ? from + ((bound - from) * (rank - below)) / (count - below) : from;
    [from, below] = [bound, count];
  }
  return from;
}
