/**
 * `node bench/readme-table.ts`: puts the figures of `bench/results.json` into the README, between its
 * markers.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { results, toMarkdown } from './figures.ts';

const BEGIN = '<!-- bench:begin -->';
const END = '<!-- bench:end -->';
const readme = new URL('../README.md', import.meta.url);
const text = readFileSync(readme, 'utf8');
const begin = text.indexOf(BEGIN);
const end = text.indexOf(END);
if (begin === -1 || end < begin) throw new Error(`README.md has no ${BEGIN} … ${END}`);
const measured = results.parse(JSON.parse(readFileSync(new URL('results.json', import.meta.url), 'utf8')));
writeFileSync(readme, `${text.slice(0, begin + BEGIN.length)}\n${toMarkdown(measured)}\n${text.slice(end)}`);
