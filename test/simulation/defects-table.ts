/**
 * `npm run defects` inserts every seeded defect into the turn loop, one at a time, and prints what caught it:
 * first the simulated calls, then, for defects they miss, the tests of the loop, in a copy of the tree. `--
 * --calls 500` sets the number of calls per defect, `-- --only <name>,<name>` selects defects. Fails when a
 * defect survives.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DEFECTS, type Defect, placeOf } from './defects.ts';
import { caughtInSimulation } from './run-defect.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'base',
  'config',
  'protocol',
  'media',
  'telephony',
  'caller',
  'runtime',
  'control-plane',
  'bench',
  'docs',
  'test',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];
const LOOP_TESTS = [
  'test/runtime/turn',
  'test/runtime/calls/call',
  'test/runtime/tools',
  'test/simulation/orderings.test.ts',
];

const { values } = parseArgs({
  options: { calls: { type: 'string', default: '600' }, only: { type: 'string' } },
});
const all = DEFECTS.filter(({ name }) => values.only === undefined || values.only.split(',').includes(name));
const waiting = [...all];
const survivors: string[] = [];
let tried = 0;
let unbroken: Promise<string | null> | null = null;

await Promise.all(Array.from({ length: availableParallelism() }, work));
console.log(survivors.length === 0 ? 'every defect is caught' : `survived: ${survivors.join(', ')}`);
process.exitCode = survivors.length === 0 ? 0 : 1;

async function work(): Promise<void> {
  for (let defect = waiting.shift(); defect; defect = waiting.shift()) {
    const caught =
      (await caughtInSimulation(defect, Number(values.calls))) ?? (await caughtByLoopTests(defect));
    if (caught === null) survivors.push(defect.name);
    tried += 1;
    console.log(
      `${tried}/${all.length} | ${defect.name} | ${defect.breaks} | ` +
        `${caught === null ? 'SURVIVED' : caught.slice(0, 160)}`,
    );
  }
}

/** The first test that fails with the defect. Throws if one fails without it: it would catch everything. */
async function caughtByLoopTests(defect: Defect): Promise<string | null> {
  unbroken ??= failedTest(null);
  const failed = await unbroken;
  if (failed !== null) throw new Error(`without any defect, this fails: ${failed}`);
  return failedTest(defect);
}

/** The first test that fails in a copy of the tree, with the defect if there is one. */
async function failedTest(defect: Defect | null): Promise<string | null> {
  const copy = await mkdtemp(join(tmpdir(), 'defect-'));
  try {
    for (const path of COPIED) await cp(join(ROOT, path), join(copy, path), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    if (defect) {
      const path = join(copy, 'runtime', defect.file);
      const source = await readFile(path, 'utf8');
      await writeFile(
        path,
        source.replace(placeOf(defect), () => defect.replace),
      );
    }
    const output = await failedRun(copy);
    return output === null ? null : (/FAIL\s+(.*)/.exec(output)?.[1] ?? 'the tests of the loop');
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Output of the tests when one fails; null when all pass. */
function failedRun(cwd: string): Promise<string | null> {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [vitest, 'run', '--bail', '1', ...LOOP_TESTS],
      { cwd, env: { ...process.env, NO_COLOR: '1' } },
      (error, stdout, stderr) => resolve(error ? `${stdout}${stderr}` : null),
    );
  });
}
