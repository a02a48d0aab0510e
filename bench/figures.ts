/** Figures with their budgets and verdicts, and their storage and output formats. */
import { z } from 'zod';
import { quantile } from '#caller/statistics.ts';
import type { MachineStalls } from './machine-stalls.ts';

const figure = z.object({
  /** Name of the measurement. */
  what: z.string(),
  /** Load during the measurement. */
  load: z.string(),
  value: z.string(),
  /** The same figures from undisturbed samples only, with their number. Empty if stalls were not measured. */
  undisturbed: z.string().default(''),
  budget: z.string(),
  /** `met between stalls`: met by the undisturbed samples, not by all. */
  verdict: z.enum(['met', 'met between stalls', 'missed', 'not measured']),
  samples: z.number().int(),
});

/** One row of the table. */
export type Figure = z.infer<typeof figure>;

/** Contents of `bench/results.json`. */
export const results = z.object({
  at: z.iso.datetime(),
  command: z.string(),
  machine: z.object({ cpu: z.string(), cores: z.number().int(), node: z.string() }),
  figures: z.array(figure),
});
export type Results = z.infer<typeof results>;

/** A quantile or single number, and its limit. */
export interface Measurement {
  /** Such as `p95`; empty for a single number. */
  readonly name: string;
  readonly value: number;
  readonly limit: number;
}

/** Subject of a figure, its unit and its number of samples. */
export interface About {
  readonly what: string;
  readonly load: string;
  readonly unit: string;
  readonly samples: number;
  readonly digits?: number;
}

/** A sample, and when the measured event was due to begin, ms since 1970. */
export interface TimedSample {
  readonly atMs: number;
  readonly value: number;
}

/**
 * Decides which samples a machine stall disturbed. Every sample has a window of the same length: with its own
 * duration as the window, slow samples would be excluded because they are slow.
 */
export interface StallRule {
  /** Null if stalls were not measured. */
  readonly stalls: MachineStalls | null;
  /** Length of a sample's window from its beginning, ms. */
  readonly windowMs: number;
  /** Disturbed time allowed within the window, ms. */
  readonly toleranceMs: number;
}

/** Below this share, the undisturbed samples do not represent the rest. */
const MIN_UNDISTURBED = 1 / 3;

/** The samples that no stall disturbed; all of them if stalls were not measured. */
export function undisturbed(
  samples: readonly TimedSample[],
  { stalls, windowMs, toleranceMs }: StallRule,
): readonly TimedSample[] {
  if (!stalls) return samples;
  return samples.filter(({ atMs }) => stalls.within(atMs, atMs + windowMs) <= toleranceMs);
}

/** Judges timed samples. `limits` are keyed by quantile (`p95`); an empty key means the maximum. */
export function judgeSamples(
  about: Omit<About, 'samples'>,
  samples: readonly TimedSample[],
  limits: Readonly<Record<string, number>>,
  rule: StallRule,
): Figure {
  const numbers = (chosen: readonly TimedSample[]) => {
    const values = chosen.map(({ value }) => value);
    return Object.entries(limits).map(([name, limit]) => ({
      name,
      limit,
      value: quantile(values, name === '' ? 1 : Number(name.slice(1)) / 100),
    }));
  };
  const all = judge({ ...about, samples: samples.length }, numbers(samples));
  if (!rule.stalls || all.verdict === 'not measured') return all;
  const calm = undisturbed(samples, rule);
  if (calm.length === 0) return { ...all, undisturbed: 'n=0' };
  const apart = judge({ ...about, samples: calm.length }, numbers(calm));
  const isMetApart =
    all.verdict === 'missed' && apart.verdict === 'met' && calm.length >= samples.length * MIN_UNDISTURBED;
  return {
    ...all,
    undisturbed: `${apart.value} (n=${calm.length})`,
    verdict: isMetApart ? 'met between stalls' : all.verdict,
  };
}

/**
 * Builds a figure from numbers of one unit. It is met when all of them are within their limits, and `not
 * measured` without samples.
 */
export function judge(about: About, numbers: readonly Measurement[]): Figure {
  const { what, load, unit, samples, digits = 1 } = about;
  const joined = (values: readonly { readonly name: string; readonly shown: string }[]) =>
    `${values.map(({ name, shown }) => `${name} ${shown}`.trim()).join(' · ')} ${unit}`;
  const isMeasured = samples > 0 && numbers.every(({ value }) => Number.isFinite(value));
  return {
    what,
    load,
    samples,
    value: isMeasured
      ? joined(numbers.map(({ name, value }) => ({ name, shown: value.toFixed(digits) })))
      : '–',
    undisturbed: '',
    budget: joined(numbers.map(({ name, limit }) => ({ name, shown: `≤ ${Number(limit.toFixed(1))}` }))),
    verdict: isMeasured
      ? numbers.every(({ value, limit }) => value <= limit)
        ? 'met'
        : 'missed'
      : 'not measured',
  };
}

/** Formats the figures as a Markdown table. */
export function toMarkdown({ at, command, machine, figures }: Results): string {
  const rows = figures.map(
    ({ what, load, value, undisturbed, budget, verdict, samples }) =>
      `| ${what} | ${load} | ${value} | ${undisturbed === '' ? '–' : undisturbed} | ${budget} | ` +
      `${verdict} | ${samples} |`,
  );
  return [
    `\`${command}\` on ${at.slice(0, 10)}: ${machine.cores} cores (${machine.cpu}), Node ${machine.node}.`,
    'The callers, the stand-ins and the capture ran on the same cores.',
    'The host sometimes takes CPU time from this machine. *Without stalls* leaves out samples taken during',
    'such a stall.',
    '',
    '| what | load | measured | without stalls | budget | verdict | samples |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** Rows of the table in the README, with their titles there. A figure without a load has only one. */
const HEADLINES = [
  { what: 'Parley’s share of a turn', load: '50 calls', shown: 'What Parley adds to a reply, 50 calls' },
  { what: 'barge-in to silence', load: '50 calls', shown: 'Barge-in to silence, 50 calls' },
  { what: 'INVITE to 200', load: '50 calls', shown: 'INVITE to 200, 50 calls' },
  {
    what: 'worker killed until the agent is heard again',
    load: null,
    shown: 'Worker killed until the agent is heard again',
  },
  {
    what: 'CPU of all threads per call-minute, phone',
    load: '50 calls',
    shown: 'CPU per call-minute, 50 calls',
  },
] as const;

/** Formats selected figures as a Markdown table. Throws if one of them is missing. */
export function toHeadlines({ at, machine, figures }: Results): string {
  const rows = HEADLINES.map(({ what, load, shown }) => {
    const found = figures.find((each) => each.what === what && (load === null || each.load === load));
    if (!found) throw new Error(`no figure “${what}”${load === null ? '' : ` under ${load}`}`);
    return `| ${shown} | ${found.value} | ${found.budget} | ${found.verdict} |`;
  });
  const head =
    `${at.slice(0, 10)}, on ${machine.cores} cores (${machine.cpu}), shared with the callers and the ` +
    'stand-ins.';
  return [head, '', '| Figure | Measured | Budget | Verdict |', '|---|---|---|---|', ...rows].join('\n');
}

/** Formats the figures for a terminal, in aligned columns. */
export function toText(figures: readonly Figure[]): string {
  const cells = figures.map(({ verdict, what, load, value, undisturbed, budget, samples }) => [
    ...[verdict, what, load, value, `n=${samples}`],
    ...[undisturbed === '' ? '' : `without stalls: ${undisturbed}`, budget],
  ]);
  const widths = [0, 1, 2, 3, 4, 5, 6].map((column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  return cells
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .join('\n');
}
