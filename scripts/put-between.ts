/** Writes generated text into a page, between two markers that stay. */
import { readFileSync, writeFileSync } from 'node:fs';

/** `page` is a path from the root of the repository. Throws if it does not have the markers. */
export function putBetween(page: string, begin: string, end: string, text: string): void {
  const file = new URL(`../${page}`, import.meta.url);
  const [before, rest] = readFileSync(file, 'utf8').split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no ${begin} … ${end}`);
  writeFileSync(file, `${before}${begin}\n${text}\n${end}${after}`);
}
