/** A figure with its budget (design §8) and verdict, and how figures are kept and printed. */
import { z } from 'zod';

const figure = z.object({
  /** What was measured. */
  what: z.string(),
  /** Under which load. */
  load: z.string(),
  value: z.string(),
  budget: z.string(),
  verdict: z.enum(['met', 'missed', 'not measured']),
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

/** Makes a figure of numbers that share a unit; it is met when each of them is. Without samples nothing was measured. */
export function judged(
  about: { readonly what: string; readonly load: string; readonly unit: string; readonly samples: number; readonly digits?: number },
  numbers: readonly Limited[],
): Figure {
  const { what, load, unit, samples, digits = 1 } = about;
  const joined = (values: readonly { readonly name: string; readonly shown: string }[]) =>
    `${values.map(({ name, shown }) => `${name} ${shown}`.trim()).join(' · ')} ${unit}`;
  const isMeasured = samples > 0 && numbers.every(({ value }) => Number.isFinite(value));
  return {
    what,
    load,
    samples,
    value: isMeasured ? joined(numbers.map(({ name, value }) => ({ name, shown: value.toFixed(digits) }))) : '–',
    budget: joined(numbers.map(({ name, limit }) => ({ name, shown: `≤ ${Number(limit.toFixed(1))}` }))),
    verdict: isMeasured ? (numbers.every(({ value, limit }) => value <= limit) ? 'met' : 'missed') : 'not measured',
  };
}

/** The figures as a table of Markdown. */
export function toMarkdown({ at, command, machine, figures }: Results): string {
  const rows = figures.map(
    ({ what, load, value, budget, verdict, samples }) => `| ${what} | ${load} | ${value} | ${budget} | ${verdict} | ${samples} |`,
  );
  return [
    `\`${command}\` on ${machine.cores} × ${machine.cpu}, Node ${machine.node}, ${at.slice(0, 10)}; the callers, the stand-ins and the capture ran on the same cores.`,
    '',
    '| what | load | measured | budget | verdict | samples |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** The figures for a terminal, aligned. */
export function toText(figures: readonly Figure[]): string {
  const cells = figures.map(({ verdict, what, load, value, budget, samples }) => [verdict, what, load, value, budget, `n=${samples}`]);
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n');
}
