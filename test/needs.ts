/**
 * Requirements of a test beyond Node: `itNeeds(['sipp'])('…', …)` skips the test, with the program's name, if
 * it is missing. With `CI=true` the test fails instead, because `.ci/run` installs every program.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { describe, it } from 'vitest';

/** True if every program is on the PATH, or exists at its absolute path. */
export function has(programs: readonly string[]): boolean {
  return missing(programs).length === 0;
}

/** `it`, or a skipped `it` whose name lists the missing programs. */
export function itNeeds(programs: readonly string[]): typeof it | typeof it.skip {
  return gate(programs) ? it : it.skip;
}

/** `describe`, or a skipped `describe` whose tests are counted as skipped. */
export function describeNeeds(programs: readonly string[]): typeof describe | typeof describe.skip {
  return gate(programs) ? describe : describe.skip;
}

/**
 * `describeNeeds` for programs that not every system packages: skipped by name if one is missing, in CI too.
 */
export function describeWhereThere(programs: readonly string[]): typeof describe | typeof describe.skip {
  const absent = missing(programs);
  if (absent.length > 0) console.warn(`skipped, not on this machine: ${absent.join(', ')}`);
  return absent.length === 0 ? describe : describe.skip;
}

/** `describe`, or a skipped `describe` if `obstacle` says why this machine cannot run it; in CI too. */
export function describePossible(obstacle: string | null): typeof describe | typeof describe.skip {
  if (obstacle !== null) console.warn(`skipped: ${obstacle}`);
  return obstacle === null ? describe : describe.skip;
}

/**
 * `describe` for requirements that are not programs: `isThere` says whether the requirement is installed,
 * `name` names it.
 */
export function describeInstalled(isThere: boolean, name: string): typeof describe | typeof describe.skip {
  return pass(isThere ? [] : [name]) ? describe : describe.skip;
}

function gate(programs: readonly string[]): boolean {
  return pass(missing(programs));
}

function pass(absent: readonly string[]): boolean {
  if (absent.length === 0) return true;
  if (process.env['CI'] === 'true') throw new Error(`CI must install: ${absent.join(', ')}`);
  console.warn(`skipped, not on this machine: ${absent.join(', ')}`);
  return false;
}

function missing(programs: readonly string[]): string[] {
  const places = (program: string) =>
    isAbsolute(program) ? [''] : (process.env['PATH'] ?? '').split(delimiter);
  return programs.filter(
    (program) => !places(program).some((directory) => isExecutable(join(directory, program))),
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
