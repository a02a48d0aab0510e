/**
 * Writes the results of a run: the samples, the page, and its plots. Reads those of a run that was stopped.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quantile } from '#caller/statistics.ts';
import { plot, plotCutOffs } from './plot.ts';
import { toMarkdown } from './report.ts';
import type { ComparisonResults, SideResults } from './results.ts';
import { samplesOf, sum } from './rows.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Where a run writes. */
export interface ResultFiles {
  readonly samples: string;
  readonly page: string;
  readonly images: string;
}

/** The repository's own files, or, for a trial, the same in another folder. */
export function resultFiles(folder: string | undefined): ResultFiles {
  return {
    samples: join(folder ?? join(ROOT, 'bench/comparison'), 'results.json'),
    page: join(folder ?? join(ROOT, 'docs'), 'comparison.md'),
    images: join(folder ?? join(ROOT, 'docs'), 'images/comparison'),
  };
}

/** The results of a run that was stopped; null if there are none, or the last run was whole. */
export function readResults({ samples }: ResultFiles): ComparisonResults | null {
  if (!existsSync(samples)) return null;
  const results = JSON.parse(readFileSync(samples, 'utf8')) as Partial<ComparisonResults>;
  return results.isComplete === false ? (results as ComparisonResults) : null;
}

/** Writes everything. A run that is killed meanwhile leaves the samples of before or of now. */
export function writeResults(results: ComparisonResults, { samples, page, images }: ResultFiles): void {
  mkdirSync(images, { recursive: true });
  writeFileSync(`${samples}.part`, `${JSON.stringify(results, null, 1)}\n`);
  renameSync(`${samples}.part`, samples);
  const sides = results.sides.filter(({ missing }) => missing === null);
  const rows = (list: 'replyMs' | 'stopMs' | 'heldMs') =>
    sides.map((side) => ({ id: side.id, name: side.name, values: samplesOf(side, list) }));
  const plots = {
    'replies.svg': plot(
      'From the end of the caller’s speech to the agent’s first sound, ms',
      rows('replyMs'),
    ),
    'stops.svg': plot('From the beginning of an interruption to the agent’s last sound, ms', rows('stopMs')),
    'held.svg': plot('Silence of the agent at a sound that wanted nothing, ms', rows('heldMs')),
    'cut-offs.svg': plotCutOffs(
      'Pauses for thought that the agent cut off, % (of how many), against the median wait for an answer, ms',
      sides.flatMap(cutOffsOf),
    ),
  };
  for (const [name, picture] of Object.entries(plots)) writeFileSync(join(images, name), picture);
  writeFileSync(page, toMarkdown(results));
}

function cutOffsOf(side: SideResults) {
  const pauses = sum(side, 'pauses');
  const waits = samplesOf(side, 'replyMs');
  if (waits.length === 0 || pauses === 0) return [];
  const cutOff = (100 * sum(side, 'premature')) / pauses;
  const name = `${side.name} (${pauses})`;
  return [{ id: side.id, name, waitMs: quantile(waits, 0.5), cutOff }];
}
