/**
 * `npm run check:arch`: applies the import rules of `.dependency-cruiser.cjs`, proves that they covered the
 * whole program (a cruise of nothing is a failure), and prints figures of the tree: rooms, floors, arrows,
 * arrows up and circles of control-plane, media, runtime and the turn machine.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { figuresOf, type Import } from './rooms.ts';

interface Cruise {
  readonly modules: readonly {
    readonly source: string;
    readonly dependencies: readonly { readonly resolved: string }[];
  }[];
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

const FOLDERS = [
  'base',
  'config',
  'protocol',
  'media',
  'telephony',
  'runtime',
  'control-plane',
  'processes',
  'caller',
  'cli',
  'main.ts',
];
const FEWEST_MODULES = 60;
/** Folders whose subfolders are rooms. */
const HOUSES = ['control-plane', 'control-plane/calls', 'media', 'runtime', 'runtime/turn/machine'];
const binary = join(import.meta.dirname, '../node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
const run = spawnSync(process.execPath, [binary, ...FOLDERS, '-T', 'json'], {
  encoding: 'utf8',
  maxBuffer: 1 << 28,
});
const { modules, summary } = JSON.parse(run.stdout) as Cruise;
for (const violation of summary.violations) {
  if (violation.rule.severity === 'error')
    console.log(`${violation.rule.name}: ${violation.from} → ${violation.to}`);
}
console.log(`${summary.totalCruised} modules, ${summary.error} violations`);
const imports: Import[] = modules.flatMap(({ source, dependencies }) =>
  dependencies.map(({ resolved }) => ({ from: source, to: resolved })),
);
let circles = 0;
for (const house of HOUSES) {
  const figures = figuresOf(house, imports);
  circles += figures.circles.length;
  console.log(
    `${house}: ${figures.rooms.length} rooms on ${figures.floors} floors, ${figures.arrows} arrows, ` +
      `${figures.circles.length} circles`,
  );
  for (const circle of figures.circles) console.log(`  circle: ${circle.join(' ↔ ')}`);
}
process.exit(summary.error > 0 || circles > 0 || summary.totalCruised < FEWEST_MODULES ? 1 : 0);
