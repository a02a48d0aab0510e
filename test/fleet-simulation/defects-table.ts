/**
 * Tries every seeded defect of the fleet and makes the table of the documentation: what each breaks, which
 * seed finds it, and by what.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { putBetween } from '#scripts/put-between.ts';
import { type FoundDefect, findDefect } from './find-defect.ts';
import { FLEET_DEFECTS } from './fleet-defects.ts';

const PAGE = 'docs/measuring.md';
const BEGIN = '<!-- fleets: written by npm run simulate:fleet -- --write -->';
const END = '<!-- end of fleets -->';

/**
 * Tries the defects with at most `runs` fleets each, the documented one first if `known`. Returns the table's
 * rows, and the names not found.
 */
export async function tryDefects(
  runs: number,
  { known }: { readonly known: boolean },
): Promise<{ rows: string[]; survivors: string[] }> {
  const waiting = [...FLEET_DEFECTS];
  const page = known ? readFileSync(PAGE, 'utf8') : '';
  const rows = new Map<string, string>();
  const survivors: string[] = [];
  const work = async () => {
    for (let defect = waiting.shift(); defect; defect = waiting.shift()) {
      const startedMs = performance.now();
      const documented = documentedSeed(page, defect.name);
      const found = await findDefect(defect, runs, documented);
      if (!found) survivors.push(defect.name);
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
      const seed = found?.seed ?? `not in ${runs}`;
      const row = `| ${defect.name} | ${defect.breaks} | ${seed} | ${wordsOf(found)} |`;
      rows.set(defect.name, row);
      console.log(`${rows.size}/${FLEET_DEFECTS.length} (${seconds} s) ${row}`);
      // The search took as long as it did without a documented fleet: `--write` finds the new one.
      if (documented !== null && documented !== found?.seed)
        console.log(`${defect.name}: fleet ${documented} of ${PAGE} does not find it any more`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return { rows: FLEET_DEFECTS.map(({ name }) => rows.get(name) ?? ''), survivors };
}

/** Replaces the report in the documentation. */
export function writeReport(summary: string, rows: readonly string[]): void {
  const head = '| Defect | What it breaks | Found by seed | Violation |\n|---|---|---|---|';
  putBetween(PAGE, BEGIN, END, `${summary}\n\n${head}\n${rows.join('\n')}`);
}

function documentedSeed(page: string, name: string): number | null {
  const row = page.split('\n').find((line) => line.startsWith(`| ${name} |`));
  const seed = Number(row?.split('|')[3]);
  return Number.isInteger(seed) && seed > 0 ? seed : null;
}

function wordsOf(found: FoundDefect | null): string {
  return found === null ? '–' : found.violation.replaceAll('|', '/');
}
