/**
 * `npm run check:arch`: applies the import rules of `.dependency-cruiser.cjs`, checks that they covered the
 * whole program (a run over no files is a failure), and prints figures of the rooms of
 * control-plane, media, runtime and the turn machine: their number, floors, arrows, arrows up and circles.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import roomOrder from './room-order.json' with { type: 'json' };
import { figuresOf, type Import, type RoomOrder } from './rooms.ts';

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
  'web/call-file',
  'web/client',
  'web/console/src',
  'web/widget',
  'libraries/typescript/src',
  'main.ts',
];
const MIN_MODULES = 60;
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
let violations = summary.error;
for (const [folder, order] of Object.entries<RoomOrder>(roomOrder)) {
  const { rooms, floors, arrows, up, circles } = figuresOf(folder, order, imports);
  violations += up.length + circles.length;
  console.log(
    `${folder}: ${rooms.length} rooms on ${floors} floors, ${arrows} arrows, ${up.length} up, ` +
      `${circles.length} circles`,
  );
  for (const { from, to } of up) console.log(`  up: ${from} → ${to}`);
  for (const circle of circles) console.log(`  circle: ${circle.join(' ↔ ')}`);
}
process.exit(violations > 0 || summary.totalCruised < MIN_MODULES ? 1 : 0);
