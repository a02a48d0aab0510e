/**
 * `node bench/readme-table.ts`: inserts the figures of `bench/results.json` into docs/measuring.md, and a
 * selection into the README, each between its markers.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { results, toHeadlines, toMarkdown } from './figures.ts';

const BEGIN = '<!-- bench:begin -->';
const END = '<!-- bench:end -->';

const measured = results.parse(JSON.parse(readFileSync(new URL('results.json', import.meta.url), 'utf8')));
// Generate both pages before writing either.
for (const [page, figures] of [
  ['docs/measuring.md', toMarkdown(measured)],
  ['README.md', toHeadlines(measured)],
] as const)
  put(page, figures);

function put(page: string, figures: string): void {
  const file = new URL(`../${page}`, import.meta.url);
  const text = readFileSync(file, 'utf8');
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`${page} has no ${BEGIN} … ${END}`);
  writeFileSync(file, `${text.slice(0, begin + BEGIN.length)}\n${figures}\n${text.slice(end)}`);
}
