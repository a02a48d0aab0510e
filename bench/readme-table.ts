/**
 * `node bench/readme-table.ts`: inserts the figures of `bench/results.json` into docs/measuring.md, and a
 * selection into the README, each between its markers.
 */
import { readFileSync } from 'node:fs';
import { putBetween } from '#scripts/put-between.ts';
import { results, toHeadlines, toMarkdown } from './figures.ts';

const BEGIN = '<!-- bench:begin -->';
const END = '<!-- bench:end -->';

const measured = results.parse(JSON.parse(readFileSync(new URL('results.json', import.meta.url), 'utf8')));
// Generate both pages before writing either.
for (const [page, figures] of [
  ['docs/measuring.md', toMarkdown(measured)],
  ['README.md', toHeadlines(measured)],
] as const)
  putBetween(page, BEGIN, END, figures);
