/** The version of the program, from its package. */
import { readFileSync } from 'node:fs';

/** Reads the version, such as `0.1.0`. */
export function programVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
