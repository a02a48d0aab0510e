/** A figure with its budget and verdict, and how figures are kept and printed. */
import { z } from 'zod';
import { quantile } from '#caller/statistics.ts';
import type { MachineStalls } from './machine-stalls.ts';

const figure = z.object({
  /** What was measured. */
  what: z.string(),
  /** Under which load. */
  load: z.string(),
  value: z.string(),
  /**
   * The same of the samples in whose time the machine ran throughout, with how many these are; empty where
   * nothing is known of that.
   */
  undisturbed: z.string().default(''),
  budget: z.string(),
  /** Met between stalls: by the samples in whose time the machine ran, not by all. */
  verdict: z.enum(['met', 'met between stalls', 'missed', 'not measured']),
  samples: z.number().int(),
});

/** One line of the table. */
export type Figure = z.infer<typeof figure>;

/** What `bench/results.json` holds. */
export const results = z.object({
  at: z.iso.datetime(),
  command: z.string(),
  machine: z.object({ cpu: z.string(), cores: z.number().int(), node: z.string() }),
  figures: z.array(figure),
});
export type Results = z.infer<typeof results>;

/** One quantile or single number and the most it may be. */
export interface Limited {
  /** `p95`, or empty where there is only one number. */
  readonly name: string;
  readonly value: number;
  readonly limit: number;
}

/** What a figure is about, its unit, and how many samples it was made of. */
export interface About {
  readonly what: string;
  readonly load: string;
  readonly unit: string;
  readonly samples: number;
  readonly digits?: number;
}

/** A sample, and when what it measures was due to begin, ms since 1970. */
export interface TimedSample {
  readonly atMs: number;
  readonly value: number;
}

/**
 * Decides which samples a stall of the machine touched. Every sample has a window of the same length: with
 * its own duration as the window, slow samples would be left out because they are slow.
 */
export interface StallRule {
  /** Null where they are not known. */
  readonly stalls: MachineStalls | null;
  /** What happens within this time of a sample's beginning touches it, ms. */
  readonly windowMs: number;
  /** Up to this much of it may be disturbed, ms. */
  readonly toleranceMs: number;
}

/** Fewer than this share of the samples say nothing of the rest. */
const FEWEST_UNDISTURBED = 1 / 3;

/** Judges timed samples: `limits` by quantile (`p95`), or the largest value where the name is empty. */
export function judgedSamples(
  about: Omit<About, 'samples'>,
  samples: readonly TimedSample[],
  limits: Readonly<Record<string, number>>,
  { stalls, windowMs, toleranceMs }: StallRule,
): Figure {
  const numbers = (chosen: readonly TimedSample[]) => {
    const values = chosen.map(({ value }) => value);
    return Object.entries(limits).map(([name, limit]) => ({
      name,
      limit,
      value: quantile(values, name === '' ? 1 : Number(name.slice(1)) / 100),
    }));
  };
  const all = judged({ ...about, samples: samples.length }, numbers(samples));
  if (!stalls || all.verdict === 'not measured') return all;
  const calm = samples.filter(({ atMs }) => stalls.within(atMs, atMs + windowMs) <= toleranceMs);
  if (calm.length === 0) return { ...all, undisturbed: 'n=0' };
  const apart = judged({ ...about, samples: calm.length }, numbers(calm));
  const isMetApart =
    all.verdict === 'missed' && apart.verdict === 'met' && calm.length >= samples.length * FEWEST_UNDISTURBED;
  return {
    ...all,
    undisturbed: `${apart.value} (n=${calm.length})`,
    verdict: isMetApart ? 'met between stalls' : all.verdict,
  };
}

/**
 * Makes a figure of numbers that share a unit; it is met when each of them is. Without samples nothing was
 * measured.
 */
export function judged(about: About, numbers: readonly Limited[]): Figure {
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

/** The figures as a table of Markdown. */
export function toMarkdown({ at, command, machine, figures }: Results): string {
  const rows = figures.map(
    ({ what, load, value, undisturbed, budget, verdict, samples }) =>
      `| ${what} | ${load} | ${value} | ${undisturbed === '' ? '–' : undisturbed} | ${budget} | ${verdict} | ${samples} |`,
  );
  return [
    `\`${command}\` on ${machine.cores} × ${machine.cpu}, Node ${machine.node}, ${at.slice(0, 10)}; the callers, the stand-ins and the capture ran on the same cores. The host sometimes takes CPU time from this machine; the second column leaves out samples taken while that happened.`,
    '',
    '| what | load | measured | while the machine ran | budget | verdict | samples |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** The rows of the table that the README shows, and their titles there. */
const HEADLINES = [
  { what: 'own share of a turn', load: '50 calls', shown: 'What Parley adds to a reply, 50 calls' },
  { what: 'barge-in to silence', load: '50 calls', shown: 'Barge-in to silence, 50 calls' },
  { what: 'INVITE to 200', load: '50 calls', shown: 'INVITE to 200, 50 calls' },
  {
    what: 'worker killed to the agent’s voice again',
    load: '20 × 5 calls',
    shown: 'Worker killed to the agent’s voice again',
  },
  {
    what: 'CPU of all threads per call-minute, phone',
    load: '50 calls',
    shown: 'CPU per call-minute, 50 calls',
  },
] as const;

/** A few of the figures as a table of Markdown. Throws where one of them is missing. */
export function toHeadlines({ at, machine, figures }: Results): string {
  const rows = HEADLINES.map(({ what, load, shown }) => {
    const found = figures.find((each) => each.what === what && each.load === load);
    if (!found) throw new Error(`no figure “${what}” under ${load}`);
    return `| ${shown} | ${found.value} | ${found.budget} | ${found.verdict} |`;
  });
  const head = `${at.slice(0, 10)}, ${machine.cores} × ${machine.cpu}; callers and stand-ins ran on the same cores.`;
  return [head, '', '| Figure | Measured | Budget | Verdict |', '|---|---|---|---|', ...rows].join('\n');
}

/** The figures for a terminal, aligned. */
export function toText(figures: readonly Figure[]): string {
  const cells = figures.map(({ verdict, what, load, value, undisturbed, budget, samples }) => [
    ...[verdict, what, load, value, `n=${samples}`],
    ...[undisturbed === '' ? '' : `machine running: ${undisturbed}`, budget],
  ]);
  const widths = [0, 1, 2, 3, 4, 5, 6].map((column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  return cells
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .join('\n');
}
