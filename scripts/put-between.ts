/** Generated text in a page, between two markers that stay. */
import { readFileSync, writeFileSync } from 'node:fs';

/** `page` is a path from the root of the repository. Throws if it does not have the markers. */
export function putBetween(page: string, begin: string, end: string, text: string): void {
  const { before, after } = partsOf(page, begin, end);
  writeFileSync(fileOf(page), `${before}${begin}\n${text}\n${end}${after}`);
}

/** The text between the markers. */
export function textBetween(page: string, begin: string, end: string): string {
  return partsOf(page, begin, end).between;
}

function partsOf(page: string, begin: string, end: string) {
  const [before, rest] = readFileSync(fileOf(page), 'utf8').split(begin);
  const [between, after] = rest?.split(end) ?? [];
  if (before === undefined || between === undefined || after === undefined)
    throw new Error(`${page} has no ${begin} … ${end}`);
  return { before, between, after };
}

function fileOf(page: string): URL {
  return new URL(`../${page}`, import.meta.url);
}
