/**
 * What a test needs from the machine beyond Node: `itNeeds(['sipp'])('…', …)` skips by name where a program
 * is missing, and fails instead when `CI=true`, because `.ci/run` installs every one of them.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { describe, it } from 'vitest';

/** True when every program is on the PATH, or where its absolute path says. */
export function has(programs: readonly string[]): boolean {
  return missing(programs).length === 0;
}

/** `it`, or a skipped `it` whose name says what is missing. */
export function itNeeds(programs: readonly string[]): typeof it | typeof it.skip {
  return gate(programs) ? it : it.skip;
}

/** `describe`, or a skipped `describe` whose tests are counted as skipped. */
export function describeNeeds(programs: readonly string[]): typeof describe | typeof describe.skip {
  return gate(programs) ? describe : describe.skip;
}

/**
 * `describeNeeds` for programs that not every system has a package of: skipped by name where one is missing,
 * in CI too.
 */
export function describeWhereThere(programs: readonly string[]): typeof describe | typeof describe.skip {
  const absent = missing(programs);
  if (absent.length > 0) console.warn(`skipped, not on this machine: ${absent.join(', ')}`);
  return absent.length === 0 ? describe : describe.skip;
}

/**
 * `describe` for what is installed otherwise than as a program: `isThere` says whether it is, `name` what it
 * is.
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
