/** `npm run check:arch`: the import rules of `.dependency-cruiser.cjs`, and proof that they were applied to the whole program (a cruise of nothing is a failure). */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

interface Cruise {
  readonly summary: {
    readonly error: number;
    readonly totalCruised: number;
    readonly violations: readonly {
      readonly rule: { readonly name: string; readonly severity: string };
      readonly from: string;
      readonly to: string;
    }[];
  };
}

const FOLDERS = ['config', 'media', 'telephony', 'runtime', 'control-plane', 'processes', 'caller', 'cli', 'main.ts'];
const FEWEST_MODULES = 60;
const binary = join(import.meta.dirname, '../node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
const run = spawnSync(process.execPath, [binary, ...FOLDERS, '-T', 'json'], { encoding: 'utf8', maxBuffer: 1 << 28 });
const { summary } = JSON.parse(run.stdout) as Cruise;
for (const violation of summary.violations) {
  if (violation.rule.severity === 'error') console.log(`${violation.rule.name}: ${violation.from} → ${violation.to}`);
}
console.log(`${summary.totalCruised} modules, ${summary.error} violations`);
process.exit(summary.error > 0 || summary.totalCruised < FEWEST_MODULES ? 1 : 0);
